"""Decoding in worker processes, in this process and in tasks of a Spark cluster gives the same rows; a killed worker
does no harm.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from etl.engine import process_pool
from etl.engine.process_pool import STARTED_BYTES, WorkerEnded, run_tasks
from etl.engine.queries import runs_here
from etl.lake.delta import Lake
from etl.report import quiet
from etl.sources.plan import UNKNOWN_MILESTONE, Plan, scan
from etl.verification.decode import Decoder, decode_tasks, decoding_of
from etl.verification.decode_worker import (
    Check,
    Decoded,
    LocalMembers,
    TaskResults,
    check_planned,
    decode_rows,
    decode_to_files,
)
from tests.conftest import SAMPLE
from tests.etl import stardust_archives
from tests.etl.archives import NETWORK, dump, eras_of, flipped, of_state, pending, sample, write
from tests.etl.conftest import Stores

TASKS = 5
LAST_STARDUST = 30


def chrysalis(folder: Path) -> tuple[Path, Check]:
    """The sample with two bad lines, one of them cut off."""
    lines: list[Any] = [dump(line) for line in sample()]
    lines[6] = flipped(sample()[6], of_state(sample()[6], "noTransaction")[0])
    lines[20] = lines[20][:-40] + b"\n"
    return write(folder / "bad.log", lines), partial(check_planned, eras=eras_of(NETWORK), coordinator=None)


def stardust(folder: Path) -> tuple[Path, Check]:
    """Milestones of the Stardust sample, one line with a changed nonce."""
    lines = [stardust_archives.line_of(number) for number in range(1, LAST_STARDUST)]
    lines[3]["blocks"][0]["block"]["nonce"] = "1"
    return write(folder / "bad.jsonl", lines), partial(check_planned, eras=stardust_archives.eras(), coordinator=None)


def of_task(plan: Plan, check: Check) -> tuple[pa.Table, list[set[Any]]]:
    """All rows and results as one Spark task returns them."""
    results = TaskResults(*(LocalMembers() for _ in range(4)))
    (task,) = decode_tasks(plan, plan.milestones(), 1, Path())
    planned = [each | {"known": None} for each in task.planned.to_pylist()]
    rows = pa.Table.from_batches([*decode_rows(planned, check, results)])
    return rows, [results.rejected.value, results.believed.value, results.expected.value]


def of_files(decoded: Sequence[Decoded], folder: Path) -> tuple[list[Any], list[Any], list[set[Any]]]:
    """The messages and rejects of all files, and the results."""
    rows = []
    for each in decoded:
        for part in each.parts:
            read = pq.ParquetFile(part.path).read()
            indexes = read["milestone_index"].to_pylist()
            assert (part.rows, part.first, part.last) == (read.num_rows, indexes[0], indexes[-1])
            assert part.path.parent.name == f"lake_range={part.lake_range}"
            rows += [row | {"lake_range": part.lake_range} for row in read.to_pylist()]
    rejects = [row for path in sorted(folder.glob("rejects/*")) for row in pq.ParquetFile(path).read().to_pylist()]
    names = ("rejected", "believed", "expected")
    return rows, rejects, [set().union(*(getattr(each.results, name).value for each in decoded)) for name in names]


@pytest.mark.thorough
@pytest.mark.parametrize("ledger", [chrysalis, stardust])
@pytest.mark.parametrize("size", [0, STARTED_BYTES])
def test_rows_rejects_and_results_are_those_of_a_spark_task(tmp_path: Path, ledger: Any, size: int) -> None:
    file, check = ledger(tmp_path)
    plan = scan([file], first=None, last=None)
    table, results = of_task(plan, check)
    expected = table.to_pylist()
    rejects = [{"milestone_index": row["milestone_index"], **row["reject"]} for row in expected if row["reject"]]
    messages = [{name: row[name] for name in row if name != "reject"} for row in expected if not row["reject"]]
    assert rejects
    assert len(messages) > 500

    folder = tmp_path / "decoded"
    tasks = decode_tasks(plan, plan.milestones(), TASKS, folder)
    assert len(tasks) == TASKS
    decoded = [*run_tasks(partial(decode_to_files, check=check), tasks, processes=2, size=size)]
    rows, found_rejects, found_results = of_files(decoded, folder)
    assert rows == messages
    assert found_rejects == rejects
    assert found_results == results
    assert {each.has_rejects for each in decoded} == {True, False}


@pytest.mark.loads
def test_a_killed_worker_fails_the_load_and_the_next_one_repairs_it(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean, _ = stores.loaded("chrysalis")
    loading = stores()
    monkeypatch.setattr(process_pool, "STARTED_BYTES", 0)
    monkeypatch.setattr(process_pool, "POOLED_BYTES", 0)
    run = process_pool._Worker.run
    left = iter(range(3))

    def killed(self: Any, work: bytes, task: Any) -> Any:
        if next(left, None) == 2:
            self._process.kill()
        return run(self, work, task)

    monkeypatch.setattr(process_pool._Worker, "run", killed)
    with pytest.raises(WorkerEnded, match="SIGKILL"):
        loading.load(SAMPLE)
    assert not loading.rows()["sync"]
    assert not [*loading.folder.rglob("*.parquet")]
    report = loading.load(SAMPLE)
    assert report.complete == report.milestones
    assert loading.rows() == clean.rows()


def rows_of(frame: DataFrame | None) -> list[dict[str, Any]]:
    assert frame is not None
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return sorted(rows, key=repr)


def test_tasks_of_a_cluster_decode_as_processes_do(spark: SparkSession, tmp_path: Path) -> None:
    """Messages, rejects, pending messages, and a second copy of milestones of which the lake has a part."""
    bad, _ = chrysalis(tmp_path)
    waiting = write(tmp_path / "pending.jsonl", [pending()[0], pending()[1] | {"id": "ab" * 32, "metadata": {}}])
    good = write(tmp_path / "good.log", [dump(line) for line in sample()[5:8]])
    found = {}
    for is_local in (True, False):
        lake = Lake(spark, str(tmp_path / f"lake-{is_local}"))
        assert lake.is_local
        lake.is_local = is_local
        found[is_local] = []
        for number, (files, in_lake) in enumerate([([bad, waiting], []), ([good], [(6, 8)])]):
            plan = scan(files, first=None, last=None)
            decoder = Decoder(eras_of(NETWORK), None)
            folder = tmp_path / f"{is_local}-{number}"
            decoding = decoding_of(lake, plan, decoder, folder.joinpath, quiet)
            decoding.write_milestones(plan.milestones(), in_lake, lambda *_: None)
            pending_rows = rows_of(decoding.pending()) if plan.pending.num_rows else []
            results = [getattr(decoding.results, name).value for name in ("rejected", "believed", "links")]
            # Sums of pending messages are compared with nothing, and each task has its own.
            results.append({each for each in decoding.results.expected.value if each[0] != UNKNOWN_MILESTONE})
            rejects = rows_of(decoding.rejects()) if results[0] else []
            found[is_local].append((rows_of(lake.read("messages")), rejects, pending_rows, results))
    first, second = found[True]
    assert [len(each) for each in first[1:3]] == [3, 1]
    assert len(second[0]) == len(first[0]) + 1
    assert found[False] == found[True]


@pytest.mark.parametrize(
    ("master", "here"), [("local", True), ("local[2]", True), ("spark://host:7077", False), ("yarn", False)]
)
def test_a_cluster_decodes_in_tasks(master: str, here: bool) -> None:
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
    assert runs_here(session) is here
