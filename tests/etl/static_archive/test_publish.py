"""`permanode publish`: increments, crashes, checks. The ranges are small, so that 50 milestones fill several files."""

import errno
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from cli.main import app
from etl.static_archive import names
from etl.static_archive.check import Fault, check
from etl.static_archive.folder import ArchiveInUse, named_files
from etl.static_client import open_archive
from tests.etl.static_archive.conftest import Case, on_both
from tests.etl.static_archive.file_host import FileHost
from tests.etl.static_archive.test_queries import MOST_OVERHEAD, MOST_REQUESTS, check_answers, every_id, in_python

LAST = 50


@pytest.fixture
def short_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "SMALLEST", 2)
    monkeypatch.setattr(names, "FACTOR", 3)
    monkeypatch.setattr(names, "LARGEST", 18)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifest_of(folder: Path) -> dict[str, object]:
    manifest: dict[str, object] = json.loads((folder / "manifest.json").read_text())
    return manifest


def faults_of(folder: Path) -> list[Fault]:
    return [*check(folder)]


@pytest.mark.thorough
@on_both
def test_an_archive_has_no_faults(case: Case) -> None:
    assert faults_of(case.archive) == []


def test_a_second_run_writes_nothing(case: Case, tmp_path: Path) -> None:
    before = files_of(case.archive)
    assert case.publish(case.archive).written == []
    assert files_of(case.archive) == before


@pytest.mark.thorough
@pytest.mark.usefixtures("short_ranges")
def test_increments_of_any_size_give_the_same_folder(case: Case, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    case.publish(whole)
    assert len(manifest_of(whole)["messages"]) > 3
    assert len(manifest_of(whole)["indexes"]) == 2
    numbers = random.Random(28)
    for name in ("a", "b"):
        folder, last = tmp_path / name, 1
        while last <= LAST:
            last = min(LAST + 1, last + numbers.randrange(1, 12))
            case.publish(folder, last=last)
            assert faults_of(folder) == []
            named = {each for each, _ in named_files(manifest_of(folder))}
            assert named < files_of(folder).keys()
        assert manifest_of(folder) == manifest_of(whole)
        assert case.publish(folder, prune=True).deleted > 3
        assert files_of(folder) == files_of(whole)


@pytest.mark.thorough
@pytest.mark.usefixtures("short_ranges")
def test_ids_in_two_indexes_are_found_with_three_requests(case: Case, tmp_path: Path) -> None:
    case.publish(tmp_path)
    ids = every_id(case)
    check_answers(case, ids, [*in_python(str(tmp_path), ids)])
    with FileHost(tmp_path) as host:
        archive = open_archive(host.url)
        host.counted()
        for each in ids[::10]:
            found = archive.find(bytes.fromhex(each))
            assert found is not None
            requests, size = host.counted()
            assert requests <= MOST_REQUESTS
            assert size - len(found.record.data) <= MOST_OVERHEAD


class Killed(BaseException):
    """Ends a run at once."""


def kill_after(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Ends runs that make more than that many files durable."""
    sync, count = os.fsync, 0

    def killing(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count > limit:
            raise Killed
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", killing)


@pytest.mark.thorough
@pytest.mark.usefixtures("short_ranges")
def test_a_run_that_was_killed_continues(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole"
    case.publish(whole)
    for limit in range(0, 200, 14):
        folder = tmp_path / f"killed-{limit}"
        with monkeypatch.context() as patch:
            kill_after(patch, limit)
            try:
                case.publish(folder, last=LAST - 7)
                case.publish(folder)
            except Killed:
                pass
            else:
                assert limit > 20
                return
        assert case.publish(folder, prune=True).last == LAST
        assert files_of(folder) == files_of(whole)
    pytest.fail("the run was killed each time")


@pytest.mark.usefixtures("short_ranges")
def test_a_reader_with_the_old_manifest_still_finds_its_messages(case: Case, tmp_path: Path) -> None:
    case.publish(tmp_path, last=30)
    before = open_archive(str(tmp_path))
    case.publish(tmp_path)
    rows = [row for row in case.loading.rows()["messages"] if row["milestone_index"] < 30]
    for row in rows[::5]:
        found = before.find(bytes.fromhex(row["message_id"]))
        assert found is not None
        assert found.record.data == row["message"]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[random.Random(path.stat().st_size).randrange(len(data))] ^= 1
    path.write_bytes(data)


DAMAGE: list[Callable[[Path], object]] = [truncate, flip, Path.unlink]


@pytest.mark.thorough
@pytest.mark.usefixtures("short_ranges")
def test_each_damaged_file_is_named(case: Case, tmp_path: Path) -> None:
    case.publish(tmp_path)
    named = [name for name, _ in named_files(manifest_of(tmp_path))]
    for name in named:
        path = tmp_path / name
        data = path.read_bytes()
        for damage in DAMAGE:
            damage(path)
            assert [each.file for each in faults_of(tmp_path)] == [name], damage
            path.write_bytes(data)
    assert faults_of(tmp_path) == []


@pytest.mark.usefixtures("short_ranges")
def test_swapped_files_are_named(case: Case, tmp_path: Path) -> None:
    case.publish(tmp_path)
    one, other = (tmp_path / each["name"] for each in manifest_of(tmp_path)["messages"][:2])
    data = one.read_bytes(), other.read_bytes()
    one.write_bytes(data[1])
    other.write_bytes(data[0])
    assert {each.file for each in faults_of(tmp_path)} == {str(each.relative_to(tmp_path)) for each in (one, other)}


@pytest.mark.thorough
def test_tables_that_differ_from_the_messages_are_named(case: Case, tmp_path: Path) -> None:
    """Files with another value, a row less or a row twice, whose names and sizes are right."""
    case.publish(tmp_path)
    text = (tmp_path / "manifest.json").read_text()
    for table, columns in {
        "messages": ("message_id",),
        "outputs": ("output_id", "address", "amount", "kind", "milestone_index", "message_id"),
        "spends": ("output_id", "milestone_index", "message_id"),
    }.items():
        manifest = json.loads(text)
        (file,) = manifest["tables"][table]
        rows = pq.read_table(tmp_path / file["name"])
        middle = rows.num_rows // 2
        changes = [
            pa.concat_tables([rows.slice(0, middle), rows.slice(middle + 1)]),
            pa.concat_tables([rows.slice(0, middle), rows.slice(middle - 1)]),
            *(with_value_of_another_row(rows, column, middle) for column in columns),
        ]
        for changed in changes:
            written = tmp_path / "tables" / "written"
            pq.write_table(changed, written)
            checksum = names.sha256_of(written)
            file |= {
                "name": f"tables/{file['first']}-{file['last']}-{checksum}.{table}.parquet",
                "size": written.stat().st_size,
                "rows": changed.num_rows,
            }
            written.rename(tmp_path / file["name"])
            (tmp_path / "manifest.json").write_text(json.dumps(manifest))
            assert [each.file for each in faults_of(tmp_path)] == [file["name"]], (table, changed.num_rows)
    (tmp_path / "manifest.json").write_text(text)
    assert faults_of(tmp_path) == []


def with_value_of_another_row(rows: pa.Table, column: str, at: int) -> pa.Table:
    values = rows[column].to_pylist()
    values[at] = next(
        each for each in [*values, values[at] + 1 if isinstance(values[at], int) else b""] if each != values[at]
    )
    index = rows.column_names.index(column)
    return rows.set_column(index, rows.field(index), pa.array(values, rows.schema.field(index).type))


def changed_manifests(manifest: dict[str, object]) -> Iterator[str]:
    """A manifest with each of its values changed."""
    text = json.dumps(manifest)

    def values(value: object, at: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
        if isinstance(value, dict | list):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for name, each in pairs:
                yield from values(each, (*at, name))
        elif value is not None:
            yield at

    for *place, name in values(manifest, ()):
        copy = json.loads(text)
        inner = copy
        for each in place:
            inner = inner[each]
        value = inner[name]
        inner[name] = value + 1 if isinstance(value, int) else ("f" if value[0] != "f" else "e") + value[1:]
        yield json.dumps(copy)


@pytest.mark.thorough
@pytest.mark.usefixtures("short_ranges")
def test_each_changed_value_of_the_manifest_is_a_fault(case: Case, tmp_path: Path) -> None:
    case.publish(tmp_path)
    tried = 0
    for text in [*changed_manifests(manifest_of(tmp_path))][::6]:
        (tmp_path / "manifest.json").write_text(text)
        assert faults_of(tmp_path), text
        tried += 1
    assert tried > 20


def test_an_archive_of_another_network_is_rejected(case: Case, tmp_path: Path) -> None:
    case.publish(tmp_path)
    manifest = manifest_of(tmp_path) | {"network": "another"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=f"an archive of {case.network} expected, found one of another"):
        case.publish(tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("held", [(1, LAST + 1), (0, LAST), (5, LAST + 1)])
@pytest.mark.usefixtures("short_ranges")
def test_published_milestones_are_not_withdrawn(case: Case, tmp_path: Path, held: tuple[int, int]) -> None:
    case.publish(tmp_path)
    before = files_of(tmp_path)
    manifest = manifest_of(tmp_path) | {"first": held[0], "last": held[1]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    reason = f"the archive has milestones {held[0]} to {held[1]}, and the lake has 1 to {LAST} before its first gap"
    with pytest.raises(ValueError, match=reason):
        case.publish(tmp_path, prune=True)
    assert files_of(tmp_path).keys() == before.keys()


def test_two_runs_cannot_write_one_archive(case: Case, tmp_path: Path) -> None:
    import fcntl

    lock = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        with pytest.raises(ArchiveInUse, match="another run writes this archive"):
            case.publish(tmp_path)
    finally:
        os.close(lock)


def test_a_full_disk_is_one_line_with_the_file(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(names.HashingFile, "write", full)
    with pytest.raises(OSError, match="No space left on device") as error:
        case.publish(tmp_path)
    assert str(error.value.filename).startswith(str(tmp_path / "messages"))
    assert not (tmp_path / "manifest.json").exists()


def test_the_commands_print_what_they_did(case: Case, tmp_path: Path) -> None:
    run = CliRunner()
    store = ["--store", case.loading.store.url, "--network", case.network]
    lake = ["--lake", case.lake]
    done = run.invoke(app, [*store, *lake, "publish", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["last"] == manifest_of(tmp_path)["last"]
    checked = run.invoke(app, ["publish", str(tmp_path), "--check"])
    assert (checked.exit_code, checked.stdout) == (0, "0 faults\n")
    name = manifest_of(tmp_path)["messages"][0]["name"]
    flip(tmp_path / name)
    checked = run.invoke(app, ["publish", str(tmp_path), "--check"])
    assert (checked.exit_code, checked.stdout) == (
        3,
        f"{name}: its bytes differ from the checksum in its name\n1 faults\n",
    )


@on_both
def test_the_command_finds_an_output(case: Case) -> None:
    rows = case.loading.rows()["outputs"]
    late = [row for row in rows if row["created_message_id"] and row["created_milestone_index"] > 1]
    identity = late[0]["output_id"]
    done = CliRunner().invoke(app, ["archive", "get", identity, "--archive", str(case.archive)])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    index = int.from_bytes(bytes.fromhex(identity[64:]), "little")
    message = document.get("message") or document["block"]
    assert document["output"] == message["payload"]["essence"]["outputs"][index]
