"""Sorts the rows of a table by its key, with as few shuffles and samples as possible."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.model import Order, Type
from etl.engine.columns import bytes_at
from etl.engine.current import on_sail
from etl.engine.ordering import sorted_rows
from etl.engine.queries import shuffle_partitions
from etl.tables.frames import TableFrame

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


def sorted_by_key(frame: TableFrame) -> DataFrame:
    """The rows in the order of the table's key."""
    table, rows = frame.table, with_text_dates(frame).select(*frame.columns)
    clustering = [F.col(name).desc() if table.order is Order.DESC else F.col(name) for name in table.clustering]
    key = [F.col(name) for name in table.partition] + clustering
    if on_sail():
        return sorted_rows(rows, *key)
    first, partitions = table.partition[0], shuffle_partitions(rows.sparkSession)
    if partitions == 1:
        # A single task: no shuffle and no sampling.
        return rows.coalesce(1).sortWithinPartitions(*key)
    if first in LAKE_ORDER:
        return rows.sortWithinPartitions(*key)
    if first in HASH_OFFSETS:
        return rows.repartitionById(partitions, _share(first, partitions)).sortWithinPartitions(*key)
    return rows.orderBy(*key)


def with_text_dates(frame: TableFrame) -> DataFrame:
    """The rows with dates as text, as the port of a store has them."""
    rows = frame.frame
    for name in frame.columns:
        if frame.table.column(name).type is Type.DATE:
            rows = rows.withColumn(name, F.col(name).cast("string"))
    return rows


def _share(name: str, partitions: int) -> Column:
    """The share (of `count` equal ones) that contains a hash, by its first two bytes."""
    head = bytes_at(name, HASH_OFFSETS[name] + 1, 2)
    bounds = (-(-share * 65_536 // partitions) for share in range(1, partitions))
    # Bytes are compared directly: Spark converts bytes to numbers by way of text.
    return reduce(Column.__add__, ((head >= F.lit(bound.to_bytes(2))).cast("int") for bound in bounds), F.lit(0))
