"""Rows pass through a Python function once, in worker processes or in this one."""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from etl.engine.arrow_frames import arrow_frame, collected
from etl.engine.process_frames import TASKS_PER_PROCESS, map_in_processes
from etl.engine.process_pool import STARTED_BYTES
from etl.engine.queries import parallelism
from etl.engine.session import Session
from tests.etl.embedded import session

__all__ = ["session"]

pytestmark = pytest.mark.loads

ROWS = 80_000
"""The engine gives each task whole batches of about 8,000 rows."""

FOUND = pa.schema({"number": pa.int64(), "data": pa.binary(), "process": pa.int64(), "task": pa.binary()})


def even(batches: Iterable[pa.RecordBatch], *, since: int) -> Iterator[pa.RecordBatch]:
    """The even numbers from `since` on, with the process and a number of the task."""
    task = os.urandom(8)
    for batch in batches:
        found = [row for row in batch.to_pylist() if row["number"] >= since and not row["number"] % 2]
        yield pa.RecordBatch.from_pylist([row | {"process": os.getpid(), "task": task} for row in found], schema=FOUND)


@pytest.mark.parametrize("in_workers", [False, True])
def test_all_rows_pass_through_the_function_once(session: Session, tmp_path: Path, in_workers: bool) -> None:
    data = [number.to_bytes(4) for number in range(ROWS)]
    rows = pa.table({"number": pa.array(range(ROWS), pa.int64()), "data": pa.array(data, pa.binary())})
    size = STARTED_BYTES if in_workers else 1
    function = partial(even, since=100)
    frame = map_in_processes(arrow_frame(session, rows), function, FOUND, tmp_path / "found", size=size)
    found = collected(frame).to_pylist()
    assert sorted((row["number"], row["data"]) for row in found) == [
        (number, data[number]) for number in range(100, ROWS, 2)
    ]
    processes, tasks = {row["process"] for row in found}, {row["task"] for row in found}
    assert (os.getpid() in processes) != in_workers
    assert len(tasks) == TASKS_PER_PROCESS * parallelism(session)
    if in_workers:
        assert len(processes) == parallelism(session)
    assert [each.name for each in tmp_path.iterdir()] == ["found"]


def test_no_rows_have_the_columns_of_the_function(session: Session, tmp_path: Path) -> None:
    rows = pa.table({"number": pa.array([], pa.int64()), "data": pa.array([], pa.binary())})
    frame = map_in_processes(arrow_frame(session, rows), partial(even, since=0), FOUND, tmp_path / "found")
    assert collected(frame).schema.names == FOUND.names
    assert collected(frame).num_rows == 0
