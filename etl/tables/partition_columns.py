"""Partitions of lookups as Spark columns: the splits that a run adds, and the partition of each row.

The rules are those of db/partitions.py in native columns; tests compare both. Splits are few (hot keys only) and are
therefore broadcast. Nothing here reads or writes.
"""

from dataclasses import dataclass
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.intervals import Intervals
from db.model import Lookup, Table, Type
from db.partitions import WINDOW, hot_threshold, limit, window_size
from db.schema.dialects import spark_type
from etl.engine.columns import balanced

SPLITS = pa.schema(
    {
        "lookup": pa.string(),
        "ms_range_id": pa.int32(),
        "key": pa.string(),
        "first_milestones": pa.list_(pa.int32()),
        "open_count": pa.int64(),
        "counted_to": pa.int32(),
    }
)
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
    """(lookup, ms_range_id, key, milestone_index) of a lookup's rows, whatever their columns are named."""
    return rows.select(
        F.lit(lookup.table.name).alias("lookup"),
        range_of(lookup.position_column, chunk_size).alias("ms_range_id"),
        key_text(lookup.table, lookup.key).alias("key"),
        F.col(lookup.position_column).alias("milestone_index"),
    )


def grow_splits(
    rows: DataFrame,
    existing: DataFrame,
    tails: DataFrame,
    run: Intervals,
    chunk_size: int,
    partition_size: int,
    window: int = WINDOW,
) -> DataFrame:
    """SPLITS of every key that has rows in the run's windows and is hot after the run, by the rules of
    db/partitions.py.

    `rows` are rows_of_keys over every milestone of each window that the run touches. `existing` contains the splits of
    these ranges, `tails` their tails before the run. `window` is the maximum size of a window.
    """
    range_key = ["lookup", "ms_range_id", "key"]
    stored = existing.select(*range_key, F.struct("first_milestones", "open_count", "counted_to").alias("stored"))
    counted = (
        rows.groupBy(*range_key, "milestone_index")
        .agg(F.count("*").alias("rows"))
        .groupBy(*range_key)
        .agg(F.sort_array(F.collect_list(F.struct("milestone_index", "rows"))).alias("counts"), F.sum("rows"))
    )
    known, hot = F.col("stored").isNotNull(), F.col("first_hot").isNotNull()
    keyed = (
        counted.join(F.broadcast(stored), range_key, "left")
        .where(known | (F.col("sum(rows)") >= hot_threshold(partition_size, chunk_size, window)))
        .join(F.broadcast(tails), ["lookup", "ms_range_id"], "left")
        .withColumn("tail", F.coalesce("tail", F.lit(-1)))
        .withColumn("first_hot", _first_hot_window(run, chunk_size, partition_size, window))
        .where(known | hot)
    )
    grown = keyed.withColumn("state", _counted_on(run, partition_size, window_size(chunk_size, window)))
    return grown.select(*range_key, "state.*")


def _first_hot_window(run: Intervals, chunk_size: int, partition_size: int, at_most: int) -> Column:
    """The first window of `counts` with enough rows and a milestone of the run above the tail; else null."""
    size = window_size(chunk_size, at_most)
    range_last = (F.col("ms_range_id") + 1) * chunk_size - 1

    def begun(window: Column) -> Column:
        # A range's last window may be cut short.
        window_last = F.least(window + (size - 1), range_last)
        meets = (
            (window <= last) & (window_last >= first) & (F.least(F.lit(last), window_last) > F.col("tail"))
            for first, last in run
        )
        return balanced(or_, meets)

    def step(state: Column, each: Column) -> Column:
        window = each["milestone_index"] - F.pmod(each["milestone_index"], F.lit(chunk_size)) % size
        rows = F.when(window == state["window"], state["rows"]).otherwise(0) + each["rows"]
        hot = (rows >= hot_threshold(partition_size, chunk_size, at_most)) & begun(window)
        return F.struct(
            window.alias("window"), rows.alias("rows"), F.coalesce(state["first"], F.when(hot, window)).alias("first")
        )

    none = F.lit(None).cast("int")
    start = F.struct(none.alias("window"), F.lit(0).cast("bigint").alias("rows"), none.alias("first"))
    return F.aggregate("counts", start, step, lambda state: state["first"])


def _counted_on(run: Intervals, partition_size: int, size: int) -> Column:
    """first_milestones, open_count and counted_to after `counts`. `stored` is null for a key that was not hot."""
    first_hot, tail, stored = F.col("first_hot"), F.col("tail"), F.col("stored")
    window_end = first_hot + size
    counted_from = F.greatest(tail, stored["counted_to"])

    def step(state: Column, each: Column) -> Column:
        milestone_index, rows = each["milestone_index"], each["rows"]
        reached = stored.isNotNull() | (milestone_index >= first_hot)
        of_run = balanced(or_, ((milestone_index >= first) & (milestone_index <= last) for first, last in run))
        counted = reached & (milestone_index > counted_from) & of_run
        earlier = reached & stored.isNull() & (milestone_index <= tail) & (milestone_index < window_end)
        splits = counted & (state["open_count"] >= limit(partition_size))
        kept = F.when(splits, 0).otherwise(state["open_count"])
        return F.struct(
            F.when(splits, F.array_append(state["first_milestones"], milestone_index))
            .otherwise(state["first_milestones"])
            .alias("first_milestones"),
            (kept + F.when(counted | earlier, rows).otherwise(0)).alias("open_count"),
            F.when(counted, milestone_index).otherwise(state["counted_to"]).alias("counted_to"),
        )

    start = F.struct(
        F.coalesce(stored["first_milestones"], F.expr("CAST(array() AS ARRAY<INT>)")).alias("first_milestones"),
        F.coalesce(stored["open_count"], F.lit(0).cast("bigint")).alias("open_count"),
        F.coalesce(stored["counted_to"], F.greatest(tail, first_hot - 1)).alias("counted_to"),
    )
    return F.aggregate("counts", start, step)
