"""A Python function over all rows in order, with Spark: in this process, and in a task of a cluster."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from etl.engine import ordering
from etl.engine.ordering import BATCH_ROWS, map_in_order

ROWS = 2 * BATCH_ROWS + 1


def steps(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each first row of a group and each row that does not follow the row before it."""
    ids = [value for batch in batches for value in batch["id"].to_pylist()]
    yield pa.record_batch({"id": [ids[0], *(after for before, after in pairwise(ids) if after != before + 1)]})


def unchanged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows themselves."""
    yield from batches


@pytest.mark.parametrize("here", [True, False])
def test_a_function_gets_all_rows_in_order(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    monkeypatch.setattr(ordering, "runs_here", lambda _: here)
    frame = spark.range(ROWS, numPartitions=3).orderBy(F.hash("id"))
    found = map_in_order(frame, ["id"], steps, "id BIGINT", tmp_path / "found")
    assert [row["id"] for row in found.collect()] == [0]
    assert not (tmp_path / "found" / "_sorted").exists()
    none = map_in_order(frame.where("id < 0"), ["id"], unchanged, "id BIGINT", tmp_path / "none")
    assert none.collect() == []
