"""Sorts the rows of a table by its key, with as few shuffles and samples as possible."""

import shutil
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from db.model import Order, Table, Type
from db.schema.dialects import spark_type
from etl.engine.columns import bytes_at, schema_of
from etl.engine.current import on_sail
from etl.engine.ordering import sorted_batches
from etl.engine.parquet import write_parquet
from etl.engine.queries import shuffle_partitions
from etl.engine.row_files import GROUP_BYTES, SCRATCH_OPTIONS, write_groups
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


def write_sorted(frame: TableFrame, folder: Path, shares: int = 1) -> None:
    """Writes the rows to Parquet files in a new folder, which follow each other in the order of the table's key.

    `shares`: with Sail, which sorts in memory, the number of sorts of rows that are keyed by a hash.
    """
    further = [WHOLE] if frame.has_whole else []
    table, rows = frame.table, with_text_dates(frame).select(*frame.columns, *further)
    clustering = [F.col(name).desc() if table.order is Order.DESC else F.col(name) for name in table.clustering]
    key = [F.col(name) for name in table.partition] + clustering
    if on_sail():
        folder.mkdir(parents=True)
        schema = _written_schema(frame)
        for number, share in enumerate(_shares(rows, schema, table, shares, folder / "shares")):
            part = folder / f"part-{number:05}.parquet"
            write_groups(sorted_batches(share, *key), schema, part, GROUP_BYTES, **SCRATCH_OPTIONS)
    else:
        write_parquet(_in_tasks(rows, table, key), folder)


def _in_tasks(rows: DataFrame, table: Table, key: Sequence[Column]) -> DataFrame:
    """With Spark: the rows in tasks of ascending keys, each in the order of the key."""
    first, partitions = table.partition[0], shuffle_partitions(rows.sparkSession)
    if partitions == 1:
        # A single task: no shuffle and no sampling.
        return rows.coalesce(1).sortWithinPartitions(*key)
    if first in LAKE_ORDER:
        return rows.sortWithinPartitions(*key)
    if first in HASH_OFFSETS:
        return rows.repartitionById(partitions, _share(first, partitions)).sortWithinPartitions(*key)
    return rows.orderBy(*key)


def _shares(rows: DataFrame, schema: pa.Schema, table: Table, shares: int, folder: Path) -> Iterator[DataFrame]:
    """With Sail: the rows in equal shares of ascending hashes, or all of them if the key is not a hash.

    `folder` is a new one for unsorted shares. A filter for each share would compute the rows again.
    """
    first, session = table.partition[0], rows.sparkSession
    if shares == 1 or first not in HASH_OFFSETS:
        yield rows
        return
    write_parquet(rows.withColumn("share", _share(first, shares)), folder, "share")
    parts = sorted(folder.glob("share=*"), key=lambda each: int(each.name.removeprefix("share=")))
    for part in parts:
        yield session.read.schema(from_arrow_schema(schema)).parquet(str(part))
        shutil.rmtree(part)
    shutil.rmtree(folder)
    if not parts:
        # A reader needs a file with the columns.
        yield rows


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
    return reduce(Column.__add__, ((head >= F.lit(bound.to_bytes(2))).cast("int") for bound in bounds), F.lit(0))
