"""`permanode load` of a static archive, a folder or a URL: the new store has the same rows and the same archive."""

from contextlib import suppress
from pathlib import Path

import pytest

from etl.static_archive import names
from etl.static_archive.download import local_sources
from etl.static_archive.folder import named_files
from etl.static_archive.names import read_manifest
from tests.etl.conftest import Stores, oracle_ledger
from tests.etl.static_archive.conftest import Case, on_both
from tests.etl.static_archive.file_host import FileHost

LAST = 50


def genesis_of(case: Case, folder: Path) -> Path | None:
    ledger = "chrysalis from genesis" if case.network == "permatest-1" else "stardust from genesis"
    return oracle_ledger(ledger, folder / "ledger")[2]


@pytest.mark.thorough
@on_both
def test_a_store_from_an_archive_has_the_same_rows_and_publishes_the_same_files(
    case: Case, stores: Stores, tmp_path: Path
) -> None:
    loading = stores((7, 3), case.network)
    report = loading.load(case.archive, genesis=genesis_of(case, tmp_path))
    assert (report.complete, report.rejects) == (LAST, 0)
    expected, found = case.loading.rows(), loading.rows()
    assert found["messages"] == expected["messages"]
    assert found["outputs"] == expected["outputs"]
    balances = (
        {(row["address"], row["milestone_index"]): row["balance"] for row in of["address_balances"]}
        for of in (expected, found)
    )
    assert next(balances) == next(balances)
    again = tmp_path / "again"
    Case(loading, again).publish(again)
    assert read_manifest(again) == read_manifest(case.archive)


@pytest.fixture
def in_files(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive with files of 1 to 19, 20 to 39 and 40 to 50."""
    monkeypatch.setattr(names, "SMALLEST", 20)
    monkeypatch.setattr(names, "LARGEST", 20)
    folder = tmp_path / "files"
    case.publish(folder)
    manifest = read_manifest(folder)
    assert manifest is not None
    assert [(each["first"], each["last"]) for each in manifest["messages"]] == [(1, 19), (20, 39), (40, 50)]
    return folder


def message_files(folder: Path) -> list[Path]:
    return sorted((folder / "messages").iterdir(), key=lambda path: int(path.name.partition("-")[0]))


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["a flipped bit", "a missing file"])
def test_a_damaged_file_is_a_reject_with_its_name_and_the_others_are_loaded(
    case: Case, in_files: Path, stores: Stores, tmp_path: Path, damage: str
) -> None:
    _, damaged, _ = message_files(in_files)
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 4
    damaged.unlink() if damage == "a missing file" else damaged.write_bytes(data)
    loading = stores((100_000, 100_000), case.network)
    report = loading.load(in_files, genesis=genesis_of(case, tmp_path))
    assert report.exit_code == 3
    assert {row["file"] for row in loading.rows()["rejects"]} == {str(damaged)}
    whole = {row["milestone_index"] for row in loading.rows()["milestones"]}
    assert {*range(1, 20), *range(40, 51)} <= whole
    assert len(whole) < LAST


@pytest.mark.thorough
def test_files_of_a_url_are_copied_and_deleted_after_the_load(in_files: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    with FileHost(in_files) as host:
        with local_sources([host.url, "other.jsonl"], copies, None, None) as sources:
            assert [path.read_bytes() for path in sources.files[:-1]] == [
                path.read_bytes() for path in message_files(in_files)
            ]
            assert sources.files[-1] == Path("other.jsonl")
        assert not copies.exists()
        with local_sources([host.url], copies, 25, 30) as sources:
            assert [path.name for path in sources.files] == [message_files(in_files)[1].name]


def test_an_interrupted_copy_continues(in_files: Path, tmp_path: Path) -> None:
    copies, source = tmp_path / "copies", message_files(in_files)
    with FileHost(in_files) as host:
        with suppress(KeyboardInterrupt), local_sources([host.url], copies, None, None) as sources:
            first, second, third = sources.files
            data = second.read_bytes()
            second.unlink()
            second.with_name(second.name + ".part").write_bytes(data[:1000])
            third.write_bytes(bytes(third.stat().st_size))
            raise KeyboardInterrupt
        host.counted()
        with local_sources([host.url], copies, None, None) as sources:
            _, size = host.counted()
            assert [path.read_bytes() for path in sources.files] == [path.read_bytes() for path in source]
            manifest = (in_files / "manifest.json").stat().st_size
            assert size == manifest + len(data) - 1000 + source[2].stat().st_size
    assert first.name == source[0].name


def test_what_a_server_does_not_have_or_has_damaged_is_left_to_the_load(in_files: Path, tmp_path: Path) -> None:
    one, other, _ = message_files(in_files)
    one.unlink()
    other.write_bytes(bytes(other.stat().st_size))
    with FileHost(in_files) as host, local_sources([host.url], tmp_path / "copies", None, None) as sources:
        assert [path.exists() for path in sources.files] == [False, True, True]
        assert sources.files[1].read_bytes() == other.read_bytes()


def test_a_url_without_an_archive_is_an_error(tmp_path: Path) -> None:
    with (
        FileHost(tmp_path) as host,
        pytest.raises(OSError, match=r"manifest\.json: 404"),
        local_sources([host.url], tmp_path / "copies", None, None),
    ):
        pass


def test_named_files_are_those_in_the_folder(case: Case) -> None:
    manifest = read_manifest(case.archive)
    assert manifest is not None
    found = {str(path.relative_to(case.archive)): path.stat().st_size for path in case.archive.glob("*/*")}
    assert dict(named_files(manifest)) == found
