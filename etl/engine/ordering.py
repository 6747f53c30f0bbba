"""Rows in an order that a write or a Python function relies on.

Sail 0.7.2 drops a sort below `mapInArrow`, and a write spreads sorted rows over files whose keys overlap. At the end of
a query, a sort is reliable. So with Sail, ordered rows come to this process in batches, and writes and Python functions
that rely on the order run here.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from etl.engine.columns import schema_of
from etl.engine.current import on_sail
from etl.engine.parquet import write_parquet
from etl.engine.queries import runs_here
from etl.engine.sail.rows import batches_of

BATCH_ROWS = 8_000
"""Rows that a function over rows of this process gets at once."""


def sorted_batches(frame: DataFrame, *keys: Column | str) -> Iterator[pa.RecordBatch]:
    """With Sail: all rows in the order of the keys, one batch in memory at a time. Their types are the engine's."""
    return batches_of(frame.orderBy(*keys))


def in_tasks(frame: DataFrame, task: str, tasks: int, *keys: str) -> DataFrame:
    """With Spark: the rows in `tasks` tasks by the number in the column `task`, which is dropped, each in the order of
    the keys.
    """
    return frame.repartitionById(tasks, task).sortWithinPartitions(*keys).drop(task)


def in_lake_order(frame: DataFrame, *keys: str) -> DataFrame:
    """The rows in files of ascending first keys, each in the order of the keys, for a write into the lake."""
    if on_sail():
        # The write sorts them (etl.engine.delta_tables.write_files).
        return frame
    return frame.repartitionByRange(keys[0]).sortWithinPartitions(*keys)


def map_in_order(
    frame: DataFrame,
    keys: Sequence[str],
    function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    ddl: str,
    folder: Path,
) -> DataFrame:
    """Rows of a function that takes all rows in the order of the keys. They are written into `folder`, a new one.

    The function runs once, so a pool of processes would not make it faster. It runs in this process, which holds one
    batch at a time; on a Spark cluster in a task.
    """
    session = frame.sparkSession
    if not runs_here(session):
        ordered = frame.repartition(1).sortWithinPartitions(*keys)
        write_parquet(ordered.mapInArrow(function, ddl), folder)
        return session.read.schema(ddl).parquet(str(folder))
    folder.mkdir(parents=True)
    schema = to_arrow_schema(schema_of(ddl))
    with pq.ParquetWriter(folder / "part-0.parquet", schema) as writer:
        for batch in function(ordered_batches(frame, keys, folder / "_sorted")):
            writer.write_batch(batch.cast(schema))
    return session.read.schema(ddl).parquet(str(folder))


def ordered_batches(frame: DataFrame, keys: Sequence[str], scratch: Path) -> Iterator[pa.RecordBatch]:
    """All rows in the order of the keys, one batch in memory at a time. `scratch`: a new folder, deleted at the end."""
    if on_sail():
        yield from sorted_batches(frame, *keys)
        return
    # Spark would collect all rows in this process before the first one.
    write_parquet(frame.repartition(1).sortWithinPartitions(*keys), scratch)
    for part in scratch.glob("*.parquet"):
        with pq.ParquetFile(part) as file:
            yield from file.iter_batches(BATCH_ROWS, use_threads=False)
    shutil.rmtree(scratch)
