"""Decoding in worker processes and in this process gives the rows of a Spark task, and survives a killed worker."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from etl.engine import process_pool
from etl.engine.process_pool import STARTED_BYTES, WorkerEnded, run_tasks
from etl.sources.plan import Plan, scan
from etl.verification.decode import decode_tasks
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
from tests.etl.archives import NETWORK, dump, eras_of, flipped, of_state, sample, write
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
