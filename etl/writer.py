"""Table frames into the embedded store: executors write each table sorted to Parquet, one pass upserts it.

Rules of this file: a frame is staged while the one before it is upserted, so both cores work; rows reach this process
only here, a Parquet batch at a time; ids stay bytes all the way.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.model import Order, Table, Type
from db.store import Batch, Value
from etl.tables import TableFrame

BATCH_ROWS = 20_000
STAGED_AHEAD = 3
"""Frames staged before the one that is upserted: bounds scratch space, and keeps the executors busy."""


@dataclass(frozen=True)
class Staged:
    """A frame on disk: sorted Parquet parts, in key order."""

    table: Table
    columns: Sequence[str]
    directory: Path

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """All rows, in native values."""
        for part in sorted(self.directory.glob("part-*.parquet")):
            for batch in pq.ParquetFile(part).iter_batches(batch_size=BATCH_ROWS, use_threads=False):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


    def count(self) -> int:
        """How many rows there are, from the parts' footers."""
        return sum(pq.read_metadata(part).num_rows for part in self.directory.glob("part-*.parquet"))


class Staging:
    """Scratch space of one run; removed when the run ends."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._count = 0
        shutil.rmtree(root, ignore_errors=True)

    def stage(self, frame: TableFrame) -> Staged:
        """Writes the frame sorted by the table's key."""
        self._count += 1
        directory = self._root / f"{self._count:04d}-{frame.table.name}"
        _sorted(frame).write.option("compression", "none").parquet(str(directory))
        return Staged(frame.table, frame.columns, directory)

    def read(self, staged: Staged, frame: DataFrame) -> DataFrame:
        """A staged frame again, so that what depends on it is not computed twice."""
        return frame.sparkSession.read.schema(frame.schema).parquet(str(staged.directory))

    def drop(self, staged: Staged) -> None:
        """Frees the space of one frame."""
        shutil.rmtree(staged.directory)

    def close(self) -> None:
        """Frees all of it."""
        shutil.rmtree(self._root, ignore_errors=True)


def _sorted(frame: TableFrame) -> DataFrame:
    table, rows = frame.table, frame.frame
    for name in frame.columns:
        if table.column(name).type is Type.DATE:
            rows = rows.withColumn(name, F.col(name).cast("string"))
    clustering = [F.col(name).desc() if table.order is Order.DESC else F.col(name) for name in table.clustering]
    key = [F.col(name) for name in table.partition] + clustering
    first = table.column(table.partition[0])
    if first.type is Type.HEX and first.name in HASHED_IDS:
        partitions = int(str(rows.sparkSession.conf.get("spark.sql.shuffle.partitions")))
        bucket = F.conv(F.hex(F.substring(first.name, 1, 2)), 16, 10).cast("int") * partitions / 65_536
        return rows.repartitionById(partitions, F.floor(bucket).cast("int")).sortWithinPartitions(*key)
    return rows.orderBy(*key)


HASHED_IDS = {"message_id", "parent_id", "transaction_id", "output_id", "milestone_id"}
"""Ids are hashes, so their first bytes divide them evenly: no sampling pass is needed to sort by them."""


def upsert_frames(
    batch: Batch,
    staging: Staging,
    frames: Sequence[Callable[[], TableFrame]],
    wrote: Callable[[str, int], None],
) -> None:
    """Stages and upserts the frames in the order given; `wrote` is told table and rows after each."""
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="stage") as pool:
        waiting: list[Future[Staged]] = []
        todo = list(frames)
        while todo or waiting:
            while todo and len(waiting) < STAGED_AHEAD:
                make = todo.pop(0)
                waiting.append(pool.submit(lambda make=make: staging.stage(make())))
            staged = waiting.pop(0).result()
            wrote(staged.table.name, batch.upsert(staged.table, staged.columns, staged.rows()))
            staging.drop(staged)
