"""Damaged stores are repaired by the commands that `permanode fsck` prints. The expected rows are those before."""

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import main as cli
from db.connect import open_adapter
from db.schema import BY_NAME
from db.sqlite.checksums import connect
from db.sqlite.stored_form import rows_table
from tests.db.stores import changing, flip, generation_of
from tests.etl.conftest import ON_SAIL, Loading, Stores, Templates
from tests.etl.store_rows import ANALYTICS, by_key

pytestmark = pytest.mark.loads

PAGE_BITS = 16_384 * 8
SAIL = {"PERMANODE_ETL_ENGINE": "sail"}


@pytest.fixture(scope="module")
def loaded(templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """The Chrysalis ledger with its ledger state and analytics."""
    return Stores(tmp_path_factory.mktemp("rewrite"), templates, settings=ON_SAIL).loaded(
        "chrysalis from genesis", analytics=True
    )[0]


@pytest.fixture
def loading(loaded: Loading, tmp_path: Path) -> Loading:
    """A copy, which a test may damage."""
    shutil.copytree(loaded.folder, tmp_path / "store")
    return replace(
        loaded, folder=tmp_path / "store", store=replace(loaded.store, url=f"sqlite:///{tmp_path / 'store'}")
    )


def given(loading: Loading) -> list[str]:
    """The options of the store."""
    return ["--store", loading.store.url, "--network", loading.store.network]


def run(loading: Loading, *arguments: str, exit_code: int = 0) -> str:
    """Runs a command on the store, and returns its output."""
    result = CliRunner().invoke(cli.app, [*given(loading), *arguments], env=SAIL)
    assert result.exit_code == exit_code, (result.output, result.exception)
    return result.stdout


def rows_of(loading: Loading) -> dict[str, Any]:
    analytics = {}
    with closing(open_adapter(loading.store, writable=False)) as store:
        analytics = {table.name: by_key(table, store.read_all(table)) for table in ANALYTICS}
    return loading.rows() | analytics


def damage_page(loading: Loading, table: str, position: int = PAGE_BITS - 1) -> int:
    """Inverts a bit of one of the table's pages with rows. Returns the number of rows on it. The default position is in
    the checksum, so that the rows are right.
    """
    generation = generation_of(loading.folder)
    with closing(connect(generation)) as connection:
        pages = connection.execute(
            "SELECT pageno, ncell FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path",
            (rows_table(BY_NAME[table]),),
        ).fetchall()
    page, cells = pages[len(pages) // 2]
    flip(generation, (int(page) - 1) * PAGE_BITS + position)
    return int(cells)


def number_in(rows: str) -> int:
    """The number of rows in a description: "31 rows from … to …", or the key of one row."""
    return int(rows.partition(" ")[0]) if " rows from " in rows else 1


@pytest.mark.parametrize("table", ["messages", "outputs", "unspent_outputs", "addresses_hints", "ms_analytics"])
def test_the_printed_ranges_repair_a_damaged_page(loading: Loading, table: str) -> None:
    before = rows_of(loading)
    number = damage_page(loading, table)
    report = json.loads(run(loading, "fsck", "--json", exit_code=3))
    assert report["lake"] == []
    assert {each["table"] for each in report["store"]} == {table}
    assert sum(number_in(each["rows"]) for each in report["store"]) >= number
    (command,) = report["repair"]["commands"]
    assert command.startswith("permanode rebuild --range ")
    text = run(loading, "fsck", "--only", "store", exit_code=3)
    assert f"to repair the store:\n  {command}\n" in text
    run(loading, *command.split()[1:], "--json")
    assert run(loading, "fsck") == "no damage in store and lake\n"
    assert rows_of(loading) == before


def test_damage_whose_rows_are_unknown_is_repaired_by_a_whole_rebuild(loading: Loading) -> None:
    """The pointers to the rows of a page are wrong, and the list of rows ends early."""
    before = rows_of(loading)
    damage_page(loading, "parents", 12 * 8)
    report = json.loads(run(loading, "fsck", "--only", "store", "--json", exit_code=3))
    assert {each["table"] for each in report["store"]} == {"parents"}
    assert any("unknown" in each["rows"] for each in report["store"])
    assert report["repair"]["commands"] == ["permanode rebuild"]
    result = CliRunner().invoke(cli.app, [*given(loading), "rebuild", "--range", "1:51"], env=SAIL)
    assert result.exit_code == 1
    assert "damaged rows of parents may still be missing" in str(result.exception)
    run(loading, "rebuild")
    assert run(loading, "fsck", "--only", "store") == "no damage in store\n"
    assert rows_of(loading) == before


def test_damage_of_no_milestone_is_repaired_by_a_whole_rebuild(loading: Loading) -> None:
    before = rows_of(loading)
    damage_page(loading, "tails")
    damage_page(loading, "sync")
    report = json.loads(run(loading, "fsck", "--json", exit_code=3))
    assert report["repair"]["commands"] == ["permanode rebuild"]
    run(loading, "rebuild")
    assert run(loading, "fsck", "--only", "store") == "no damage in store\n"
    assert rows_of(loading) == before


def test_a_range_is_written_again_and_nothing_else(loading: Loading) -> None:
    before = rows_of(loading)
    assert {row["inclusion_state"] for row in before["messages"]} == {0, 1, 2}
    with changing(generation_of(loading.folder)) as connection:
        connection.execute("UPDATE messages SET inclusion_state = 7 WHERE milestone_index IN (5, 30, 31)")
        connection.execute("DELETE FROM parents_rows WHERE milestone_index IN (5, 30)")
    run(loading, "rebuild", "--range", "5:6", "--range", "31")
    after = rows_of(loading)
    for name, rows in before.items():
        if name == "messages":
            rows = [row | {"inclusion_state": 7} if row["milestone_index"] == 30 else row for row in rows]
        elif name == "parents":
            rows = [row for row in rows if row["milestone_index"] != 30]
        assert after[name] == rows, name


def test_a_range_without_milestones_in_the_lake_is_rejected(loading: Loading) -> None:
    result = CliRunner().invoke(cli.app, [*given(loading), "rebuild", "--range", "900:901"], env=SAIL)
    assert result.exit_code == 1
    assert str(result.exception) == "--range: the lake contains none of these milestones"
