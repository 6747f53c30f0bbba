"""Commits to Delta tables, without an engine: which rows they replace, conflicts, killed writers, compaction.

The rows are written with pyarrow and read from the log and the files alone (tests/etl/lake_files.py), or with the Delta
reader of delta-rs.
"""

import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from cli import main as cli
from etl.engine.delta_compaction import merge_files
from etl.engine.delta_files import RowsOutside, writing_folder
from etl.engine.delta_log import CHECKPOINT_COMMITS, CommitConflict, DeltaLog, Layout
from etl.engine.delta_tables import append_table, commit_files
from etl.engine.row_selection import Selection
from etl.lake import maintenance
from etl.lake.delta import TABLES
from etl.lake.paths import literal_path
from etl.report import quiet
from tests.etl.lake_files import live_files

RANGE = 100
LAYOUT = Layout("number INT, lake_range INT, place INT, name STRING", ("lake_range",), ("number", "place"), "number")
INFO = {"engine": "none", "run": "of a test"}
SCHEMA = pa.schema({"number": pa.int32(), "place": pa.int32(), "name": pa.string()})
Row = tuple[int | None, int, str]
REJECT = {"milestone_index": [1], "file": ["a"], "line": [1], "item": ["b"], "reason": ["c"]}


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(str(tmp_path / "a lake, 100% of us" / "numbers"), LAYOUT)


def writer(*files: list[Row]) -> Callable[[str], None]:
    """What an engine writes: each list of rows is a file in the directory of its partition."""

    def write(folder: str) -> None:
        for at, rows in enumerate(files):
            place = Path(folder) / f"lake_range={(rows[0][0] or 0) // RANGE}"
            place.mkdir(parents=True, exist_ok=True)
            table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)
            pq.write_table(table, place / f"{at}.parquet")

    return write


def rows_of(*numbers: int, name: str = "first") -> list[Row]:
    return [(number, place, name) for number in numbers for place in range(2)]


def put(log: DeltaLog, *files: list[Row], replaced: list[tuple[int, int]]) -> None:
    commit_files(log, writer(*files), Selection("number", replaced), INFO)


def found(log: DeltaLog) -> list[tuple[int, int, str]]:
    return sorted(row for file in stored(log) for row in file)


def stored(log: DeltaLog) -> list[list[tuple[Any, ...]]]:
    """The rows of each live file, in order."""
    tables = [pq.ParquetFile(path).read() for path in live_files(Path(log.root))]
    return [[tuple(row.values()) for row in table.select(SCHEMA.names).to_pylist()] for table in tables]


def read(log: DeltaLog) -> list[tuple[Any, ...]]:
    """All rows, as the reader of delta-rs finds the files: the log may begin with a checkpoint."""
    paths = [unquote(urlsplit(uri).path) for uri in DeltaTable(log.root).file_uris()]
    return sorted(tuple(row.values()) for path in paths for row in pq.ParquetFile(path).read(SCHEMA.names).to_pylist())


def on_disk(log: DeltaLog) -> set[Path]:
    return {path for path in Path(log.root).rglob("*") if path.is_file() and "_delta_log" not in path.parts}


def test_a_commit_replaces_the_rows_of_its_intervals_and_no_others(log: DeltaLog) -> None:
    put(log, rows_of(1, 2, 3, 4), rows_of(150, 151), replaced=[(0, 999)])
    before = {each.path for each in log.files()}
    put(log, rows_of(2, name="second"), rows_of(160, name="second"), replaced=[(2, 3), (160, 170)])
    assert found(log) == sorted(rows_of(1, 4, 150, 151) + rows_of(2, 160, name="second"))
    # The file of 150 and 151 has no replaced row.
    assert len(before & {each.path for each in log.files()}) == 1
    assert [file for file in stored(log) if file == rows_of(1, 4)]
    ends = {(each.least, each.greatest) for each in log.files()}
    assert ends == {(1, 4), (150, 151), (2, 2), (160, 160)}
    (info, *_) = DeltaTable(log.root).history(1)
    assert (info["engine"], info["run"]) == ("none", "of a test")


def test_a_commit_without_rows_deletes(log: DeltaLog) -> None:
    put(log, rows_of(1, 2), replaced=[(1, 2)])
    put(log, replaced=[(2, 2)])
    assert found(log) == rows_of(1)
    put(log, replaced=[(1, 2)])
    assert log.files() == []
    assert log.exists()


@pytest.mark.parametrize("outside", [(4, 0, "x"), (None, 0, "x")], ids=["other", "null"])
def test_rows_outside_the_replaced_intervals_are_rejected(log: DeltaLog, outside: Row) -> None:
    put(log, rows_of(1, 2, 3), replaced=[(1, 3)])
    held, files, entries = found(log), on_disk(log), [*Path(log.root, "_delta_log").iterdir()]
    with pytest.raises(RowsOutside, match=f"numbers: .* number .{'None' if outside[0] is None else 4} is not"):
        put(log, [*rows_of(2, name="second"), outside], replaced=[(1, 3)])
    assert found(log) == held
    assert on_disk(log) == files
    assert [*Path(log.root, "_delta_log").iterdir()] == entries


def test_rows_without_statistics_are_checked_one_by_one(log: DeltaLog) -> None:
    def write(folder: str) -> None:
        writer(rows_of(1, 7))(folder)
        for path in Path(folder).rglob("*.parquet"):
            pq.write_table(pq.ParquetFile(path).read(), path, write_statistics=False)

    with pytest.raises(RowsOutside):
        commit_files(log, write, Selection("number", [(1, 6)]), INFO)
    commit_files(log, write, Selection("number", [(1, 1), (7, 7)]), INFO)
    assert found(log) == rows_of(1, 7)


def test_a_second_selection_is_by_text(log: DeltaLog) -> None:
    put(log, [(5, 0, "a"), (5, 1, "b"), (6, 0, "a")], replaced=[(0, 9)])
    commit_files(log, writer([(5, 9, "a")]), Selection("number", [], (5, "name", frozenset({"a", "c"}))), INFO)
    assert found(log) == [(5, 1, "b"), (5, 9, "a"), (6, 0, "a")]


def test_a_mask_is_what_comparing_each_row_gives() -> None:
    chance = random.Random(7)
    values = [chance.choice([None, *range(-2, 30)]) for _ in range(500)]
    names = [chance.choice([None, "a", "b"]) for _ in values]
    rows = pa.record_batch({"n": pa.array(values, pa.int32()), "t": pa.array(names, pa.string())})
    intervals = [(20, 22), (0, 3), (9, 9)]
    expected = [
        value is not None
        and (any(first <= value <= last for first, last in intervals) or (value == -1 and name == "b"))
        for value, name in zip(values, names, strict=True)
    ]
    assert Selection("n", intervals, (-1, "t", frozenset({"b"}))).mask(rows).to_pylist() == expected
    assert not any(Selection("n", []).mask(rows).to_pylist())


def test_of_two_writers_the_second_fails_and_changes_nothing(log: DeltaLog) -> None:
    put(log, rows_of(1, 2), replaced=[(1, 2)])
    other = DeltaLog(log.root, LAYOUT)
    first = set[Path]()

    def write(folder: str) -> None:
        writer(rows_of(2, name="second"))(folder)
        put(other, rows_of(7, name="other"), replaced=[(7, 7)])
        first.update(on_disk(other) - {*Path(folder).rglob("*")})

    with pytest.raises(CommitConflict, match=r"numbers: another process wrote to this table; nothing was committed"):
        commit_files(log, write, Selection("number", [(2, 2)]), INFO)
    assert found(log) == rows_of(1, 2) + rows_of(7, name="other")
    assert on_disk(log) == {path for path in first if path.name != ".lock"}
    put(log, rows_of(2, name="third"), replaced=[(2, 2)])
    assert found(log) == sorted(rows_of(1) + rows_of(2, name="third") + rows_of(7, name="other"))


def test_of_two_writers_who_create_a_table_the_second_fails(log: DeltaLog) -> None:
    def write(folder: str) -> None:
        writer(rows_of(1))(folder)
        put(DeltaLog(log.root, LAYOUT), rows_of(2), replaced=[(2, 2)])

    with pytest.raises(CommitConflict):
        commit_files(log, write, Selection("number", [(1, 1)]), INFO)
    assert found(log) == rows_of(2)


def test_a_table_is_neither_read_nor_written_under_another_name(log: DeltaLog) -> None:
    ours, theirs = (DeltaLog(log.root, LAYOUT, name) for name in ("ours", "theirs"))
    theirs.refresh()
    put(ours, rows_of(1), replaced=[(1, 1)])
    for _ in range(2):
        with pytest.raises(
            CommitConflict, match="numbers: this table is of ours, not of theirs; nothing was committed"
        ):
            put(theirs, rows_of(2), replaced=[(2, 2)])
        with pytest.raises(CommitConflict):
            theirs.files()
    put(log, rows_of(3), replaced=[(3, 3)])
    assert found(log) == rows_of(1, 3)
    assert log.stored_name() == "ours"
    assert not [*Path(log.root).glob("_writing-*")]


def test_what_a_killed_writer_left_is_deleted_by_the_next_and_that_of_a_living_one_is_not(log: DeltaLog) -> None:
    put(log, rows_of(1), replaced=[(1, 1)])
    dead = Path(log.root, "_writing-dead")
    (dead / "rows").mkdir(parents=True)
    for name in (".lock", "rows/part-0.parquet"):
        (dead / name).write_bytes(b"")
    with writing_folder(log.root) as living:
        put(log, rows_of(2), replaced=[(2, 2)])
        assert not dead.exists()
        assert Path(log.root, living).exists()
    assert {path.parent.name for path in on_disk(log)} == {"lake_range=0"}


def test_commits_that_killed_writers_did_not_finish_are_ignored(log: DeltaLog) -> None:
    """Killed before the commit had its name."""
    folder = Path(log.root, "_delta_log")
    folder.mkdir(parents=True)
    for version in range(2):
        Path(folder, f"{version:020}.json#1").write_bytes(b"")
    put(log, rows_of(1), replaced=[(1, 1)])
    put(log, rows_of(2), replaced=[(2, 2)])
    assert read(DeltaLog(log.root, LAYOUT)) == rows_of(1, 2)


def test_a_commit_and_before_it_its_files_are_on_disk(log: DeltaLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty commits lead to a checkpoint."""
    sync, newest = os.fsync, dict[int, int]()

    def noted(descriptor: int) -> None:
        sync(descriptor)
        newest[os.fstat(descriptor).st_ino] = len([*Path(log.root).glob("_delta_log/*.json")])

    monkeypatch.setattr(os, "fsync", noted)
    for number in range(CHECKPOINT_COMMITS):
        put(log, rows_of(number), replaced=[(number, number)])
        commit = Path(log.root, "_delta_log", f"{number:020}.json")
        (file,) = (Path(log.root, each.path) for each in log.files() if each.least == number)
        assert [newest[each.stat().st_ino] for each in (file, file.parent)] == [number] * 2
        assert [newest[each.stat().st_ino] for each in (commit, commit.parent)] == [number + 1] * 2
    (checkpoint,) = Path(log.root).glob("_delta_log/*.checkpoint.parquet")
    assert {each.stat().st_ino for each in (checkpoint, checkpoint.with_name("_last_checkpoint"))} <= newest.keys()


def test_files_that_were_moved_and_not_committed_are_deleted_by_a_compaction(
    log: DeltaLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(log, rows_of(1), replaced=[(1, 1)])

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLog, "commit", killed)
        with pytest.raises(KeyboardInterrupt):
            put(log, rows_of(2), replaced=[(2, 2)])
    live = {*live_files(Path(log.root))}
    (orphan,) = on_disk(log) - live
    assert found(log) == rows_of(1)
    log.delete_unused(24)
    assert orphan.exists()
    os.utime(orphan, (0, 0))
    log.delete_unused(24)
    assert on_disk(log) == live


def names_of_log(log: DeltaLog) -> set[str]:
    return {path.name for path in Path(log.root, "_delta_log").iterdir() if path.suffix in (".json", ".parquet")}


def age(log: DeltaLog) -> None:
    """Makes all log entries older than the log keeps them."""
    for path in Path(log.root, "_delta_log").iterdir():
        os.utime(path, (0, 0))


@pytest.mark.thorough
def test_200_commits_leave_a_bounded_number_of_files_and_log_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "TABLES", {"numbers": LAYOUT})
    log = DeltaLog(str(tmp_path / "numbers"), LAYOUT)
    most = 0
    for number in range(200):
        put(log, rows_of(number), replaced=[(number, number)])
        if number % 100 == 99:
            age(log)
            maintenance.maintain(str(tmp_path), retain_hours=0)
            log.refresh()
        most = max(most, len(log.files()))
    assert most <= 100 + 4
    assert len(log.files()) <= 4
    assert len(on_disk(log)) <= 4
    assert len(names_of_log(log)) < 120
    assert read(log) == rows_of(*range(200))


def test_a_writer_whose_version_left_the_log_fails_and_changes_nothing(log: DeltaLog) -> None:
    put(log, rows_of(1), replaced=[(1, 1)])
    late = DeltaLog(log.root, LAYOUT)

    def write(folder: str) -> None:
        writer(rows_of(9, name="late"))(folder)
        put(log, rows_of(2), replaced=[(2, 2)])
        put(log, rows_of(3), replaced=[(3, 3)])
        age(log)
        log.checkpoint()

    with pytest.raises(CommitConflict):
        commit_files(late, write, Selection("number", [(9, 9)]), INFO)
    assert f"{0:020}.json" not in names_of_log(log)
    assert read(log) == rows_of(1, 2, 3)
    put(log, rows_of(4), replaced=[(4, 4)])
    assert read(log) == rows_of(1, 2, 3, 4)


def test_each_commit_carries_the_checksum_of_its_state(log: DeltaLog) -> None:
    """Also one that adds columns or changes properties, which `files` compares."""
    put(log, rows_of(1), replaced=[(1, 1)])
    DeltaTable(log.root).alter.set_table_properties({"delta.checkpointInterval": "7"})
    for _ in range(2):
        log.refresh()
        log.checkpoint()
        assert [each.rows for each in log.files()] == [2]
    wider = DeltaLog(log.root, replace(LAYOUT, ddl=f"{LAYOUT.ddl}, more STRING"))
    put(wider, rows_of(2), replaced=[(2, 2)])
    infos = {each["version"]: each for each in DeltaTable(log.root).history()}
    assert [infos[at].get("stateChecksum") is None for at in sorted(infos)] == [False, True, False, True, False]
    # The properties are again those of version 0.
    assert infos[0]["stateChecksum"] == infos[2]["stateChecksum"] != infos[4]["stateChecksum"]
    assert found(DeltaLog(log.root, LAYOUT)) == rows_of(1, 2)
    assert {*json.loads(infos[2]["previousChecksums"])} == {f"{1:020}.json"}
    assert {*json.loads(infos[4]["previousChecksums"])} == {f"{3:020}.json", f"{2:020}.checkpoint.parquet"}
    commit = Path(log.root, f"_delta_log/{3:020}.json")
    assert json.loads(infos[4]["previousChecksums"])[commit.name] == sha256(commit.read_bytes()).hexdigest()


def test_merged_files_are_sorted_and_milestones_stay_whole(log: DeltaLog) -> None:
    put(log, rows_of(5, 6), replaced=[(5, 6)])
    put(log, rows_of(1, 2, 3, 9), replaced=[(1, 3), (9, 9)])
    put(log, rows_of(2, 4, name="second"), replaced=[(2, 2), (4, 4)])
    put(log, rows_of(120), replaced=[(120, 120)])
    expected = found(log)
    assert merge_files(log, INFO, below=1 << 20) == 3
    assert sorted(stored(log)) == [
        sorted(rows_of(1, 3, 5, 6, 9) + rows_of(2, 4, name="second")),
        rows_of(120),
    ]
    assert found(log) == expected
    last = max(Path(log.root, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in last.read_text().splitlines()]
    assert {action[kind]["dataChange"] for action in actions for kind in ("add", "remove") if kind in action} == {False}
    assert merge_files(log, INFO, below=1 << 20) == 0


def test_merging_reads_files_of_earlier_versions(tmp_path: Path) -> None:
    """INT96 timestamps, a missing column, a missing field of a struct."""
    layout = Layout("number INT, at TIMESTAMP, inner STRUCT<a: INT, b: STRING>, more BINARY", key="number")
    moment = datetime(2021, 5, 6, 7, 8, 9, tzinfo=UTC)
    old = pa.table({"number": pa.array([1], pa.int32()), "at": [moment], "inner": [{"a": 1}]})
    old = old.set_column(2, "inner", old["inner"].cast(pa.struct({"a": pa.int32()})))
    log = DeltaLog(str(tmp_path / "t"), Layout("number INT, at TIMESTAMP, inner STRUCT<a: INT>", key="number"))

    def write(folder: str) -> None:
        Path(folder).mkdir(parents=True)
        pq.write_table(old, Path(folder) / "part-0.parquet", use_deprecated_int96_timestamps=True)

    commit_files(log, write, None, INFO)
    log = DeltaLog(log.root, layout)
    new = {"number": [2], "at": [moment], "inner": [{"a": 2, "b": "b"}], "more": [b"m"]}
    schema = pa.schema(
        {
            "number": pa.int32(),
            "at": pa.timestamp("us", tz="UTC"),
            "inner": pa.struct({"a": pa.int32(), "b": pa.string()}),
            "more": pa.binary(),
        }
    )
    append_table(log, pa.table(new, schema=schema), INFO)
    assert merge_files(log, INFO, below=1 << 20) == 2
    (file,) = live_files(Path(log.root))
    table = pq.ParquetFile(file).read()
    assert table.schema.types == schema.types
    assert table.to_pylist() == [
        {"number": 1, "at": moment, "inner": {"a": 1, "b": None}, "more": None},
        {"number": 2, "at": moment, "inner": {"a": 2, "b": "b"}, "more": b"m"},
    ]


def test_lake_compact_needs_no_engine_and_reports_progress(tmp_path: Path) -> None:
    log = DeltaLog(str(tmp_path / "lake" / "rejects"), TABLES["rejects"])
    rows = [{"milestone_index": at, "file": "a", "line": at, "item": "b", "reason": "c"} for at in range(3)]
    for row in rows:
        append_table(log, pa.Table.from_pylist([row]), INFO)
    assert len(live_files(Path(log.root))) == 3
    command = ["--store", f"sqlite:///{tmp_path}", "--network", "permatest-1", "lake", "compact"]
    result = CliRunner().invoke(cli.app, command, catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (0, "rejects: 1 files\n")
    progress = [json.loads(line) for line in result.stderr.splitlines()]
    assert [(each["stage"], each["done"], each["total"]) for each in progress] == [("rejects", 0, 3)]
    (file,) = live_files(Path(log.root))
    assert pq.ParquetFile(file).read().to_pylist() == rows


def test_lake_compact_deletes_what_killed_writers_left_also_without_files_to_merge(tmp_path: Path) -> None:
    """In a table with one file, and in one that no writer committed."""
    append_table(DeltaLog(str(tmp_path / "rejects"), TABLES["rejects"]), pa.table(REJECT), INFO)
    dead = [tmp_path / table / "_writing-dead" for table in ("rejects", "messages")]
    for folder in dead:
        folder.mkdir(parents=True)
        (folder / ".lock").touch()
        (folder / "part-0.parquet").touch()
    assert maintenance.compact(str(tmp_path), 168, quiet) == {"rejects": 1}
    assert not any(each.exists() for each in dead)


def test_a_path_that_delta_rs_decodes_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"lake: expected a path without %20, .* found /a%20b"):
        literal_path("lake", "/a%20b")
    assert literal_path("lake", "/100% b") == "/100% b"


def test_files_are_listed_while_another_thread_refreshes_the_log(
    log: DeltaLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_files(log, writer(rows_of(1, 2)), None, INFO)
    reading, check = DeltaLog(log.root, LAYOUT), DeltaLog._check_state

    def refreshed(self: DeltaLog, *arguments: Any) -> None:
        check(self, *arguments)
        self.refresh()

    monkeypatch.setattr(DeltaLog, "_check_state", refreshed)
    assert [each.path for each in reading.files()] == [each.path for each in log.files()]
