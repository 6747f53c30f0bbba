"""Partitions of lookups as Spark columns: the rows of each key, which splits follow from (etl/tables/splits.py),
and the partition of each row.

The rules are those of db/partitions.py; tests compare both. Splits are few (hot keys only) and are therefore broadcast.
Nothing here reads or writes.
"""

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.model import Lookup, Table, Type
from db.schema.dialects import spark_type
from etl.tables.splits import SPLITS, Growth

TAILS = pa.schema({"lookup": pa.string(), "ms_range_id": pa.int32(), "tail": pa.int32()})


def key_text(table: Table, key: tuple[str, ...]) -> Column:
    """A lookup key in the form of `splits`: columns joined by ':', ids as lowercase hex."""
    parts = [hex_text(F.col(name)) if table.column(name).type is Type.HEX else F.col(name) for name in key]
    return F.concat_ws(":", *(part.cast("string") for part in parts))


def hex_text(data: Column) -> Column:
    """Bytes as lowercase hex."""
    return F.lower(F.hex(data))


def key_columns(table: Table, key: tuple[str, ...]) -> list[Column]:
    """Parses the key columns from `key`."""
    parts, columns = F.split("key", ":"), []
    for position, column in enumerate(map(table.column, key)):
        part = F.get(parts, F.lit(position))
        value = F.unhex(part) if column.type is Type.HEX else part.cast(spark_type(column.type))
        columns.append(value.alias(column.name))
    return columns


@dataclass(frozen=True)
class Placement:
    """The partitions of rows. `splits` contains SPLITS for the ranges of the run, or is None if no key is hot."""

    chunk_size: int
    lookups: tuple[Lookup, ...]
    splits: DataFrame | None

    def place(self, rows: DataFrame, table: Table) -> DataFrame:
        """Adds the range and partition_id to `rows`: the greatest split <= the position in its key, else 0."""
        (lookup,) = (each for each in self.lookups if each.table is table)
        range_column, position = lookup.range_column, lookup.position_column
        ranged = rows.withColumn(range_column, range_of(position, self.chunk_size))
        if self.splits is None:
            return ranged.withColumn("partition_id", F.lit(0))
        hot = self.splits.where(F.col("lookup") == table.name).select(
            F.col("ms_range_id").alias(range_column), *key_columns(table, lookup.key), "first_milestones"
        )
        placed = ranged.join(F.broadcast(hot), [range_column, *lookup.key], "left")
        begun = F.filter("first_milestones", lambda first: first <= F.col(position))
        return placed.withColumn("partition_id", F.coalesce(F.array_max(begun), F.lit(0)))


def range_of(position: str, chunk_size: int) -> Column:
    """Position // chunk_size, of a milestone or a day."""
    return F.expr(f"CAST({position} DIV {chunk_size} AS INT)")


def rows_of_keys(rows: DataFrame, lookup: Lookup, chunk_size: int) -> DataFrame:
    """(lookup, ms_range_id, key, counts, rows) of a lookup's rows, whatever their columns are named. `counts` has the
    number of rows of each milestone or day, ascending, and `rows` their sum.
    """
    position = F.col(lookup.position_column).alias("milestone_index")
    named = rows.select(*lookup.key, range_of(lookup.position_column, chunk_size).alias("ms_range_id"), position)
    # By the key's own columns: its text is several times as long.
    return (
        named.groupBy(*lookup.key, "ms_range_id", "milestone_index")
        .agg(F.count("*").alias("rows"))
        .groupBy(*lookup.key, "ms_range_id")
        .agg(
            F.sort_array(F.collect_list(F.struct("milestone_index", "rows"))).alias("counts"),
            F.sum("rows").alias("rows"),
        )
        .select(
            F.lit(lookup.table.name).alias("lookup"),
            "ms_range_id",
            key_text(lookup.table, lookup.key).alias("key"),
            "counts",
            "rows",
        )
    )


def counted_keys(rows: DataFrame, existing: DataFrame, tails: DataFrame, growth: Growth) -> DataFrame:
    """COUNTED of every key that has rows in the run's windows, unless it has too few to be hot.

    `rows` are rows_of_keys over every milestone of each window that the run touches. `existing` contains the splits of
    these ranges, `tails` their tails before the run.
    """
    range_key = ["lookup", "ms_range_id", "key"]
    is_many = F.col("rows") >= growth.threshold
    return (
        rows.join(F.broadcast(existing), range_key, "left")
        .where(F.col("counted_to").isNotNull() | is_many)
        .join(F.broadcast(tails), ["lookup", "ms_range_id"], "left")
        .select(
            *range_key,
            F.col("counts.milestone_index").alias("milestones"),
            F.col("counts.rows").alias("counts"),
            F.coalesce("tail", F.lit(-1)).alias("tail"),
            *SPLITS.names[3:],
        )
    )
