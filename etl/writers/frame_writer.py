"""Table frames into a store: in which order, and how they reach the embedded one (etl/writers/connector.py: a cluster).

Rules of this file: a frame is prepared while the one before it is written, so both cores work, and written when all
before it are durable. Into the embedded store: executors write each table sorted to Parquet, one pass upserts it; rows
reach this process only here, a Parquet batch at a time; ids stay bytes all the way.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import count
from pathlib import Path
from typing import Protocol

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.model import Order, Table, Type
from db.schema import LOOKUPS, STARDUST_LOOKUPS, ledger_updates_by_address
from db.schema.wormhole_tables import vaa_lookups
from db.store import Batch, Value
from etl.engine.garbage import collect_rarely
from etl.engine.queries import shuffle_partitions
from etl.tables.frames import FACT, FrameMaker, TableFrame

BATCH_ROWS = 20_000
STAGERS = 2
STAGED_AHEAD = 8
"""Frames staged before the one that is upserted: bounds scratch space, and keeps the executors busy."""


class Prepared(Protocol):
    """A frame whose turn to be written may come."""

    @property
    def table(self) -> Table:
        """Whose rows they are."""

    def write(self, batch: Batch) -> int:
        """Writes the rows; how many, once all are as durable as `batch` makes them."""

    def again(self) -> DataFrame:
        """The rows of a KEPT table once more, so that what depends on them is not computed twice."""

    def drop(self) -> None:
        """Frees what was put aside for it."""


class FrameWriter(Protocol):
    """How table frames reach one store."""

    def prepare(self, frame: TableFrame) -> Prepared:
        """Does what need not wait for the frame's turn; threads may ask at once."""


@dataclass(frozen=True)
class Staged:
    """A frame on disk: sorted Parquet parts, in key order."""

    table: Table
    columns: Sequence[str]
    directory: Path
    source: DataFrame

    def write(self, batch: Batch) -> int:
        """One pass in this process."""
        return batch.upsert(self.table, self.columns, self.rows())

    def again(self) -> DataFrame:
        """The rows, read from disk."""
        return self.source.sparkSession.read.schema(self.source.schema).parquet(str(self.directory))

    def drop(self) -> None:
        """Frees the space."""
        shutil.rmtree(self.directory)

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """All rows, in native values."""
        collect_rarely()
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
        self._numbers = count(1)
        shutil.rmtree(root, ignore_errors=True)

    def stage(self, frame: TableFrame) -> Staged:
        """Writes the frame sorted by the table's key."""
        directory = self.folder(frame.table.name)
        # Read once, from end to end: nothing would be skipped by what is least and greatest.
        options = {"compression": "none", "parquet.column.statistics.enabled": "false"}
        _sorted(frame).write.options(**options).parquet(str(directory))
        return Staged(frame.table, frame.columns, directory, frame.frame)

    def write(self, name: str, frame: DataFrame) -> Path:
        """Writes any frame as it comes; where."""
        directory = self.folder(name)
        frame.write.option("compression", "none").parquet(str(directory))
        return directory

    def folder(self, name: str) -> Path:
        """A folder of its own, not yet there, that goes with the rest."""
        return self._root / f"{next(self._numbers):04d}-{name}"

    def close(self) -> None:
        """Frees all of it."""
        shutil.rmtree(self._root, ignore_errors=True)

    @staticmethod
    def free(directory: Path) -> None:
        """Frees one folder."""
        shutil.rmtree(directory)


@dataclass(frozen=True)
class EmbeddedWriter:
    """The FrameWriter of a store inside this process."""

    staging: Staging

    def prepare(self, frame: TableFrame) -> Staged:
        """Stages the frame."""
        return self.staging.stage(frame)


HASH_OFFSETS = {
    "message_id": 0,
    "parent_id": 0,
    "transaction_id": 0,
    "output_id": 0,
    "milestone_id": 0,
    "address": 1,
    "chain_id": 1,
}
"""Where the hash begins in a key that is one: it divides them evenly, so no sampling pass is needed to sort by them."""

LAKE_ORDER = {"milestone_index", "ms_range_id"}
"""Keys that rise with the lake's own order: its parts are sorted runs as they are."""


def _sorted(frame: TableFrame) -> DataFrame:
    table, rows = frame.table, frame.frame.drop(FACT)
    for name in frame.columns:
        if table.column(name).type is Type.DATE:
            rows = rows.withColumn(name, F.col(name).cast("string"))
    clustering = [F.col(name).desc() if table.order is Order.DESC else F.col(name) for name in table.clustering]
    key = [F.col(name) for name in table.partition] + clustering
    first, partitions = table.partition[0], shuffle_partitions(rows.sparkSession)
    if partitions == 1:
        # One task from end to end: nothing is shuffled, nor sampled before.
        return rows.coalesce(1).sortWithinPartitions(*key)
    if first in LAKE_ORDER:
        return rows.sortWithinPartitions(*key)
    if first in HASH_OFFSETS:
        return rows.repartitionById(partitions, _share(first, partitions)).sortWithinPartitions(*key)
    return rows.orderBy(*key)


def _share(name: str, partitions: int) -> Column:
    """Which of so many even shares a hash is in, by its first two bytes."""
    head = F.substring(F.col(name), HASH_OFFSETS[name] + 1, 2)
    bounds = (-(-share * 65_536 // partitions) for share in range(1, partitions))
    # Compared as they are: making numbers of bytes goes by way of a text (docs/performance.md).
    return reduce(Column.__add__, ((head >= F.lit(bound.to_bytes(2))).cast("int") for bound in bounds), F.lit(0))


class Earlier:
    """The lookup tables of a batch, once prepared: their hints come from them and are not computed again."""

    def __init__(self) -> None:
        self._kept: dict[str, Future[Prepared]] = {table.name: Future() for table in KEPT}

    def keep(self, prepared: Prepared) -> None:
        """Notes a table that later frames may read."""
        self._kept[prepared.table.name].set_result(prepared)

    def read(self, table: Table) -> DataFrame:
        """The rows of a table of this batch; waits until they are prepared."""
        return self._kept[table.name].result().again()

    def fail(self, error: BaseException) -> None:
        """Ends the waiting of frames that will never get what they read."""
        for future in self._kept.values():
            if not future.done():
                future.set_exception(error)

    def drop(self) -> None:
        """Frees what was kept."""
        for future in self._kept.values():
            if future.done() and not future.exception():
                future.result().drop()


KEPT = (*(lookup.table for lookup in (*LOOKUPS, *STARDUST_LOOKUPS)), ledger_updates_by_address, vaa_lookups)


def upsert_frames(
    batch: Batch,
    writer: FrameWriter,
    makers: Sequence[FrameMaker],
    wrote: Callable[[str, int], None],
    *,
    before_rows: Callable[[], None] = lambda: None,
    before_lookups: Callable[[], None] = lambda: None,
) -> None:
    """Prepares the frames and writes them in the order given; `wrote` is told table and rows after each.

    `before_rows` is called once, before the first row is written and while frames are already prepared,
    `before_lookups` once before the first row of a lookup table.
    """
    earlier = Earlier()

    def prepare(make: FrameMaker) -> Prepared:
        try:
            prepared = writer.prepare(make(earlier))
        except BaseException as error:
            earlier.fail(error)
            raise
        if prepared.table in KEPT:
            earlier.keep(prepared)
        return prepared

    with ThreadPoolExecutor(max_workers=STAGERS, thread_name_prefix="stage") as pool:
        waiting: list[Future[Prepared]] = []
        todo = list(makers)
        lookups = False

        def fill(most: int = STAGED_AHEAD) -> None:
            while todo and len(waiting) < most:
                waiting.append(pool.submit(prepare, todo.pop(0)))

        # One, as more would hold up what rows wait for.
        fill(1)
        try:
            before_rows()
        except BaseException as error:
            earlier.fail(error)
            raise
        fill()
        while waiting:
            prepared = waiting.pop(0).result()
            fill()
            if prepared.table in KEPT and not lookups:
                before_lookups()
            lookups |= prepared.table in KEPT
            wrote(prepared.table.name, prepared.write(batch))
            if prepared.table not in KEPT:
                prepared.drop()
    earlier.drop()
