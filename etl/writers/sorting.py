"""Sorts the rows of a table by its key, with as few shuffles and samples as possible.

Spark sorts in its tasks. Sail would hold what it sorts and send it to this process, which would write it and read it
again. So Sail writes rows unsorted, in shares of ascending hashes, and this process sorts each share when it reads it.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from db.model import Order, Table, Type
from db.schema.dialects import spark_type
from etl.engine.columns import balanced, bytes_at, schema_of
from etl.engine.current import on_sail
from etl.engine.parquet import write_parquet
from etl.engine.queries import shuffle_partitions
from etl.engine.row_files import BATCH_ROWS, batches_in
from etl.tables.frames import WHOLE, TableFrame

HASH_OFFSETS = {
    "message_id": 0,
    "parent_id": 0,
    "transaction_id": 0,
    "output_id": 0,
    "milestone_id": 0,
    "address": 1,
    "chain_id": 1,
}
"""Position of the hash in keys that are hashes. Hashes are evenly distributed, so sorting by them needs no sampling
pass.
"""

LAKE_ORDER = {"milestone_index", "ms_range_id"}
"""Keys that rise in the order of the lake, whose parts are therefore already sorted."""


SHARE = "share"
"""The column of a row's share, in the names of folders."""


def write_sorted(frame: TableFrame, folder: Path, shares: int = 1) -> None:
    """Writes the rows to Parquet files in a new folder, which `rows_in_order` reads in the order of the table's key.

    `shares`: with Sail, the number of equal shares of rows that are keyed by a hash.
    """
    further = [WHOLE] if frame.has_whole else []
    table, rows = frame.table, with_text_dates(frame).select(*frame.columns, *further)
    first = table.partition[0]
    if not on_sail():
        write_parquet(_in_tasks(rows, table), folder)
    elif shares > 1 and first in HASH_OFFSETS:
        write_parquet(rows.withColumn(SHARE, _share(first, shares)), folder, SHARE)
    else:
        write_parquet(rows, folder)


def rows_in_order(frame: TableFrame, folder: Path) -> Iterator[pa.RecordBatch]:
    """The rows that `write_sorted` wrote, in the order of the table's key. With Sail, this process holds a share of
    them, and sorts the next one meanwhile.
    """
    if not on_sail():
        yield from rows_as_written(folder)
        return
    schema, key = _written_schema(frame), _key(frame.table)
    shares = sorted(folder.glob(f"{SHARE}=*"), key=lambda each: int(each.name.removeprefix(f"{SHARE}=")))
    with ThreadPoolExecutor(1, thread_name_prefix="sort") as pool:
        sorts = (pool.submit(_sorted, share, schema, key) for share in shares or [folder])
        following = next(sorts, None)
        while following is not None:
            (rows, places), following = following.result(), next(sorts, None)
            for start in range(0, len(places), BATCH_ROWS):
                yield from pc.take(rows, places.slice(start, BATCH_ROWS)).combine_chunks().to_batches()


def rows_as_written(folder: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a folder's Parquet files, one file after the other."""
    for part in sorted(folder.glob("*.parquet")):
        yield from batches_in(part)


def _sorted(share: Path, schema: pa.Schema, key: Sequence[tuple[str, str]]) -> tuple[pa.Table, pa.Array]:
    """The rows of a share, and their places in the order of the key."""
    # Its allocator would keep the memory of the share before.
    pa.default_memory_pool().release_unused()
    parts = list[pa.Table]()
    for path in sorted(share.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            parts.append(file.read(schema.names, use_threads=False).cast(schema))
    rows = pa.concat_tables(parts).combine_chunks()
    return rows, pc.sort_indices(rows, key)


def _key(table: Table) -> list[tuple[str, str]]:
    """The columns of a table's key and their order."""
    order = "descending" if table.order is Order.DESC else "ascending"
    return [*((name, "ascending") for name in table.partition), *((name, order) for name in table.clustering)]


def _in_tasks(rows: DataFrame, table: Table) -> DataFrame:
    """With Spark: the rows in tasks of ascending keys, each in the order of the key."""
    key = [F.col(name).desc() if order == "descending" else F.col(name) for name, order in _key(table)]
    first, partitions = table.partition[0], shuffle_partitions(rows.sparkSession)
    if partitions == 1:
        # A single task: no shuffle and no sampling.
        return rows.coalesce(1).sortWithinPartitions(*key)
    if first in LAKE_ORDER:
        return rows.sortWithinPartitions(*key)
    if first in HASH_OFFSETS:
        return rows.repartitionById(partitions, _share(first, partitions)).sortWithinPartitions(*key)
    return rows.orderBy(*key)


def _written_schema(frame: TableFrame) -> pa.Schema:
    columns = (frame.table.column(name) for name in frame.columns)
    kinds = ("STRING" if each.type is Type.DATE else spark_type(each.type) for each in columns)
    fields = [f"{name} {kind}" for name, kind in zip(frame.columns, kinds, strict=True)]
    fields += [f"{WHOLE} BINARY"] if frame.has_whole else []
    return to_arrow_schema(schema_of(", ".join(fields)))


def with_text_dates(frame: TableFrame) -> DataFrame:
    """The rows with dates as text, as the port of a store has them."""
    rows = frame.frame
    for name in frame.columns:
        if frame.table.column(name).type is Type.DATE:
            rows = rows.withColumn(name, F.col(name).cast("string"))
    return rows


def _share(name: str, shares: int) -> Column:
    """The share (of `shares` equal ones) that contains a hash, by its first two bytes."""
    head = bytes_at(name, HASH_OFFSETS[name] + 1, 2)
    bounds = (-(-share * 65_536 // shares) for share in range(1, shares))
    # Bytes are compared directly: Spark converts bytes to numbers by way of text.
    return balanced(Column.__add__, [F.lit(0), *((head >= F.lit(bound.to_bytes(2))).cast("int") for bound in bounds)])
