"""`permanode fsck` of a log: each damaged file and row is named, and what it prints repairs them."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from db import schema
from db.connect import StoreSettings
from db.queries.log import key_of
from etl.transparency.log_check import check_log_files, check_log_rows
from etl.transparency.log_files import LogFiles
from ledger.transparency.positions import size_after
from ledger.transparency.tiles import Place, places_of, right_edge
from tests.etl.transparency.logs import NETWORK, append, files_of, made_store, opened
from tests.etl.transparency.test_append import rows_of

LAST = 600

PLACES = [*places_of(size_after(1, LAST))]
"""Three bundles, three tiles of level 0, one above them."""


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lake of a store with a signed log, which commands use."""
    made = made_store(tmp_path / "store")
    append(made, tmp_path / "store" / "lake", LAST)
    monkeypatch.setenv("PERMANODE_STORE", made.url)
    monkeypatch.setenv("PERMANODE_NETWORK", NETWORK)
    return tmp_path / "store" / "lake"


@pytest.fixture
def settings(lake: Path, tmp_path: Path) -> StoreSettings:
    return StoreSettings(f"sqlite:///{tmp_path / 'store'}", NETWORK)


def fsck(only: str) -> tuple[int, list[str]]:
    done = CliRunner().invoke(app, ["fsck", "--only", only])
    return done.exit_code, done.stdout.splitlines()


def test_a_log_without_damage(lake: Path) -> None:
    assert len(PLACES) == 7
    for only in ("lake", "store"):
        assert fsck(only) == (0, [f"no damage in {only}"])


def test_each_damaged_file_is_named_and_written_again_from_the_store(lake: Path, settings: StoreSettings) -> None:
    whole, folder = files_of(lake), lake / "log" / NETWORK
    for name in sorted({each.path for each in PLACES} | {"head", "checkpoint"}):
        data = whole[name]
        # The last byte of a head or checkpoint is the end of its line.
        (folder / name).write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
        named = "head" if name in (each.path for each in right_edge(size_after(1, LAST))) else name
        found = [*check_log_files(LogFiles(str(lake), NETWORK), lambda *_: None)]
        assert [(each.table, each.place) for each in found] == [("log", f"log/{NETWORK}/{named}")]
        (folder / name).write_bytes(data)
    (folder / PLACES[0].path).unlink()
    _, lines = fsck("lake")
    assert lines == [
        f"lake log, log/{NETWORK}/tile/entries/000: its hashes or records: expected a file {folder}/tile/entries/000",
        "to repair the lake, restore its damaged files from a backup, or load their milestones again:",
        "  move the folder `log` out of the lake: the next load writes it again from the store's copy",
    ]
    shutil.move(lake / "log", lake / "old")
    append(settings, lake, LAST)
    # Partial tiles of smaller sizes are not written again.
    assert files_of(lake) == whole
    assert fsck("lake")[0] == 0


def test_each_damaged_row_is_named_and_written_again_from_the_lake(lake: Path, settings: StoreSettings) -> None:
    rows = rows_of(settings)
    edge = [*right_edge(size_after(1, LAST))]
    with opened(settings, lake) as log:
        for place in PLACES:
            data = log._row(place)
            with log._store.batch() as batch:
                row = (*key_of(place), place.width, data[:-1] + bytes([data[-1] ^ 1]))
                batch.upsert(schema.log_tiles, schema.log_tiles.names, [row])
            found = [*check_log_rows(log._reads, lambda *_: None)]
            named = ("log_heads", "head") if place in edge else ("log_tiles", place.path)
            assert [(each.table, each.rows) for each in found] == [named]
            log.open(again=True)
        assert rows_of(settings) == rows
        with log._store.batch() as batch:
            batch.delete(schema.log_tiles, key_of(Place(0, 1)))
    assert fsck("store") == (
        3,
        [
            "store log_tiles, log_tiles: tile/0/001: expected tile/0/001 in the store",
            "to repair the store:",
            "  permanode rebuild",
        ],
    )
