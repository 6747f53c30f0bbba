"""`check_lake` reads a whole lake and names each row that is damaged."""

import json
import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from db.damage import Damage
from etl.engine.delta_log import DeltaLog
from etl.lake.delta import TABLES
from etl.lake.fsck import LakeSums, check_lake
from tests.conftest import SAMPLE
from tests.etl.conftest import Stores
from tests.etl.damage.flips import SEED, flipped
from tests.etl.lake_files import live_files

FLIPS = [pytest.param(25), pytest.param(1_000, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def lake(stores: Stores) -> Path:
    """A lake of several commits, with a checkpoint between them."""
    loading = stores()
    for first in (1, 11, 21, 31):
        loading.load(SAMPLE, first=first, last=first + 10)
        if first == 11:
            for log in logs_of(loading.folder / "lake"):
                log.files()
                log.checkpoint()
    return loading.folder / "lake"


@pytest.fixture
def copy(lake: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lake, tmp_path / "lake"))


def logs_of(root: Path) -> list[DeltaLog]:
    logs = [DeltaLog(str(root / name), layout) for name, layout in TABLES.items()]
    return [log for log in logs if log.exists()]


def found(root: Path) -> list[Damage]:
    return [*check_lake(str(root), lambda *_: None)]


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Changes the rows of a file, as a faulty program would: the Parquet file is valid."""
    with pq.ParquetFile(path) as file:
        table = file.read()
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


@pytest.mark.loads
def test_a_lake_without_damage_is_read_completely(lake: Path) -> None:
    sums, seen = LakeSums(), list[tuple[str, int, int | None]]()
    assert [*check_lake(str(lake), lambda *values: seen.append(values), sums)] == []
    files = [path for log in logs_of(lake) for path in live_files(Path(log.root))]
    assert (sums.files, sums.unsummed) == (len(files), 0)
    assert sums.size == sum(path.stat().st_size for path in files)
    assert {name for name, _, _ in seen} == {str(path.relative_to(lake)) for path in files}
    assert seen[-1][1:] == (sums.size, sums.size)
    assert sums.rows == sum(pq.read_metadata(path).num_rows for path in files)


@pytest.mark.loads
def test_a_lake_behind_a_url_is_checked(copy: Path) -> None:
    sums = LakeSums()
    assert [*check_lake(copy.as_uri(), lambda *_: None, sums)] == []
    assert sums.files == len([path for log in logs_of(copy) for path in live_files(Path(log.root))])
    path = live_files(copy / "milestones")[0]
    path.write_bytes(path.read_bytes()[:-1])
    (damage,) = [*check_lake(copy.as_uri(), lambda *_: None)]
    assert damage.place == str(path.relative_to(copy))


@pytest.mark.loads
def test_a_damaged_message_is_named_by_its_id(copy: Path) -> None:
    (path, *_) = live_files(copy / "messages")
    changed = dict[str, Any]()

    def change(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows if row["message_id"] is not None)
        changed.update(row)
        row["message"] = bytes([row["message"][0] ^ 1]) + row["message"][1:]

    rewrite(path, change)
    damage = found(copy)
    (named,) = [each for each in damage if each.cause == "its id is not the hash of its bytes"]
    assert named.rows == f"message {changed['message_id'].hex()}"
    assert named.milestones == [(changed["milestone_index"], changed["milestone_index"])]
    assert (named.table, named.place) == ("messages", str(path.relative_to(copy)))
    assert any("differ from the checksum" in each.cause and "1 damaged rows" in each.cause for each in damage)


@pytest.mark.loads
@pytest.mark.parametrize(("column", "cause"), [("milestone_id", "payload"), ("payload", "payload")])
def test_a_damaged_milestone_is_named(copy: Path, column: str, cause: str) -> None:
    (path, *_) = live_files(copy / "milestones")

    def change(rows: list[dict[str, Any]]) -> None:
        rows[0][column] = rows[0][column][:-1] + bytes([rows[0][column][-1] ^ 1])

    rewrite(path, change)
    index = pq.read_table(path)["milestone_index"][0].as_py()
    (named,) = [each for each in found(copy) if cause in each.cause]
    assert (named.rows, named.milestones) == (f"milestone {index}", [(index, index)])


@pytest.mark.loads
def test_rows_that_are_missing_or_counted_twice_are_noticed_without_any_checksum(copy: Path) -> None:
    """As in a lake of an earlier version, whose files have no checksum in their names."""
    without_checksums(copy)
    assert found(copy) == []
    (path, *_) = live_files(copy / "messages")
    rewrite(path, lambda rows: rows.pop())
    causes = [each.cause for each in found(copy)]
    assert any("rows; the log has" in cause for cause in causes)
    sums = LakeSums()
    assert [*check_lake(str(copy), lambda *_: None, sums)]
    assert sums.unsummed == sums.files > 0


@pytest.mark.loads
def test_a_missing_file_is_named_with_its_milestones(copy: Path) -> None:
    (path, *_) = live_files(copy / "messages")
    ends = pq.read_table(path)["milestone_index"].to_pylist()
    path.unlink()
    (damage,) = found(copy)
    assert damage == Damage(
        "messages",
        str(path.relative_to(copy)),
        f"milestones {min(ends)}:{max(ends) + 1}",
        "the file is missing",
        [(min(ends), max(ends))],
    )


@pytest.mark.loads
@pytest.mark.parametrize("path", ["part-9b:6bda.parquet", "s3://bucket/part.parquet", "../part.parquet"])
def test_a_path_that_no_file_of_the_lake_can_have_is_damage(copy: Path, path: str) -> None:
    log = max((copy / "messages/_delta_log").glob("*.json"))
    actions = [*map(json.loads, log.read_text("utf-8").splitlines())]
    added = next(action["add"] for action in actions if "add" in action)
    added["path"] = path
    log.write_text("\n".join(map(json.dumps, actions)))
    assert [each.cause for each in found(copy) if each.place == f"messages/{path}"]


@pytest.mark.loads
def test_messages_that_the_lake_does_not_have_are_noticed(copy: Path) -> None:
    """A log without its last commit is valid; the other table still has the milestones."""
    max((copy / "messages/_delta_log").glob("*.json")).unlink()
    (damage,) = found(copy)
    assert (damage.table, damage.milestones) == ("messages", [(31, 40)])
    assert damage.cause == "not as many messages as message_count in the table milestones"


@pytest.mark.loads
@pytest.mark.parametrize("flips", FLIPS)
def test_every_flipped_bit_in_the_files_of_a_lake_is_detected(copy: Path, flips: int) -> None:
    chance = random.Random(SEED)
    files = [path for log in logs_of(copy) for path in live_files(Path(log.root))]
    for _ in range(flips):
        with flipped(chance.choice(files), chance) as which:
            assert found(copy), which


@pytest.mark.loads
@pytest.mark.parametrize("flips", FLIPS)
def test_every_flipped_bit_in_a_log_is_detected_or_changes_nothing_that_is_read(copy: Path, flips: int) -> None:
    chance, harmless = random.Random(SEED), 0
    files = sorted(path for path in copy.glob("*/_delta_log/*") if path.is_file())
    before = states(copy)
    for _ in range(flips):
        with flipped(chance.choice(files), chance) as which:
            if not found(copy):
                harmless += 1
                assert states(copy) == before, which
    sys.stdout.write(f"{flips - harmless} of {flips} flips detected, {harmless} without an effect; seed {SEED}\n")
    # Names and times of files differ in each run: of 25 flips, three once had no effect.
    assert harmless < max(flips / 10, 8)


def test_a_panic_of_delta_rs_is_an_error_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As over a checkpoint with a division by zero. Its type is not an Exception, so nothing else would report it."""
    panic = type("PanicException", (BaseException,), {})

    def opened(_: str) -> None:
        raise panic("attempt to divide by zero\nstack backtrace")

    (tmp_path / "_delta_log").mkdir()
    (tmp_path / f"_delta_log/{0:020}.json").write_text("{}")
    monkeypatch.setattr("etl.engine.delta_log.DeltaTable", opened)
    with pytest.raises(OSError, match=f"^{tmp_path}: attempt to divide by zero$"):
        DeltaLog(str(tmp_path), TABLES["rejects"]).files()


def states(root: Path) -> list[Any]:
    """The files and columns of each table as readers find them."""
    tables = [DeltaTable(log.root) for log in logs_of(root)]
    return [
        (
            sorted(pa.table(table.get_add_actions()).drop_columns(["modification_time"]).to_pylist(), key=str),
            table.schema().to_json(),
            table.metadata().partition_columns,
        )
        for table in tables
    ]


def without_checksums(root: Path) -> None:
    """Makes the lake as earlier versions wrote it: names without checksums, commits without one."""
    for path in [*root.rglob("*.parquet")]:
        if "_delta_log" not in path.parts:
            path.rename(path.with_name(f"{path.name.split('-')[1]}.parquet"))
    for folder in root.glob("*/_delta_log"):
        for path in folder.glob("*.json"):
            text = re.sub(r"part-([0-9a-f]{12})-[0-9a-f]{64}\.parquet", r"\1.parquet", path.read_text("utf-8"))
            actions = [*map(json.loads, text.splitlines())]
            for action in actions:
                for name in ("stateChecksum", "previousChecksums"):
                    action.get("commitInfo", {}).pop(name, None)
            path.write_text("\n".join(map(json.dumps, actions)))
        for path in [*folder.glob("*.checkpoint.parquet"), *folder.glob("_last_checkpoint")]:
            path.unlink()
