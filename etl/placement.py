"""Partitions of lookups in Spark columns: which splits a run opens, and where each row stands.

Rules of this file: the arithmetic is db/partitions.py's, said in native columns and held equal to it by tests; splits
are few (hot keys only), so they are broadcast; nothing here reads or writes.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from db.intervals import Intervals
from db.model import Lookup, Table, Type
from db.partitions import hot_threshold, limit, window_size
from etl.lake import either

SPLITS_DDL = (
    "lookup STRING, ms_range_id INT, key STRING, first_milestones ARRAY<INT>, open_count BIGINT, counted_to INT"
)
TAILS_DDL = "lookup STRING, ms_range_id INT, tail INT"


def key_text(table: Table, key: tuple[str, ...]) -> Column:
    """A lookup key as `splits` keeps it: columns joined by ':', ids as lowercase hex."""
    parts = [
        F.lower(F.hex(name)) if table.column(name).type is Type.HEX else F.col(name).cast("string") for name in key
    ]
    return F.concat_ws(":", *parts)


@dataclass(frozen=True)
class Placement:
    """Where rows stand: `splits` is SPLITS_DDL for the ranges of the run, or None when no key is hot."""

    chunk_size: int
    lookups: tuple[Lookup, ...]
    splits: DataFrame | None

    def place(self, rows: DataFrame, table: Table) -> DataFrame:
        """`rows` with ms_range_id and partition_id: the greatest split <= milestone_index of its key, else 0."""
        ranged = rows.withColumn("ms_range_id", ms_range_id(self.chunk_size))
        if self.splits is None:
            return ranged.withColumn("partition_id", F.lit(0))
        (lookup,) = (each for each in self.lookups if each.table is table)
        hot = self.splits.where(F.col("lookup") == table.name).select(
            F.col("ms_range_id"), F.col("key").alias("_key"), "first_milestones"
        )
        placed = ranged.withColumn("_key", key_text(table, lookup.key)).join(
            F.broadcast(hot), ["ms_range_id", "_key"], "left"
        )
        begun = F.filter("first_milestones", lambda first: first <= F.col("milestone_index"))
        return placed.withColumn("partition_id", F.coalesce(F.array_max(begun), F.lit(0)))


def ms_range_id(chunk_size: int) -> Column:
    """milestone_index // chunk_size."""
    return F.expr(f"CAST(milestone_index DIV {chunk_size} AS INT)")


def row_counts(rows: DataFrame, lookup: Lookup, chunk_size: int) -> DataFrame:
    """(lookup, ms_range_id, key, milestone_index, rows) of a lookup's rows."""
    counted = rows.groupBy(*lookup.key, "milestone_index").agg(F.count("*").alias("rows"))
    return counted.select(
        F.lit(lookup.table.name).alias("lookup"),
        ms_range_id(chunk_size).alias("ms_range_id"),
        key_text(lookup.table, lookup.key).alias("key"),
        "milestone_index",
        "rows",
    )


def grow_splits(
    counts: DataFrame, existing: DataFrame, tails: DataFrame, run: Intervals, chunk_size: int, partition_size: int
) -> DataFrame:
    """SPLITS_DDL of every key with rows in the run's windows that is hot after it: db.partitions.grow, key by key.

    `counts` hold whole windows (row_counts over every milestone of each window that the run touches), `existing` the
    splits of those ranges, `tails` their tails before the run.
    """
    in_window = Window.partitionBy("lookup", "ms_range_id", "key", "window")
    of_key = Window.partitionBy("lookup", "ms_range_id", "key")
    stored = existing.select(
        "lookup",
        "ms_range_id",
        "key",
        F.struct("first_milestones", "open_count", "counted_to").alias("stored"),
    )
    size = window_size(chunk_size)
    steps = (
        counts.join(F.broadcast(tails), ["lookup", "ms_range_id"], "left")
        .join(F.broadcast(stored), ["lookup", "ms_range_id", "key"], "left")
        .withColumn("tail", F.coalesce("tail", F.lit(-1)))
        .withColumn("window", F.expr(f"milestone_index - (milestone_index % {chunk_size}) % {size}"))
        .withColumn("window_last", F.expr(_window_last(size, chunk_size)))
        .withColumn("begun", F.expr(_begun(run)))
        .withColumn("enough", F.sum("rows").over(in_window) >= hot_threshold(partition_size, chunk_size))
        .withColumn("hot", F.col("begun") & F.col("enough"))
        .withColumn("ever_hot", F.max("hot").over(of_key) | F.col("stored").isNotNull())
        .where("ever_hot")
        .withColumn("counted_from", F.greatest("tail", "stored.counted_to"))
        .withColumn("new", F.expr(f"milestone_index > counted_from AND ({either(run)})"))
        .withColumn("earlier", F.expr("stored IS NULL AND milestone_index <= tail"))
    )
    keyed = steps.groupBy("lookup", "ms_range_id", "key").agg(
        F.sort_array(F.collect_list(F.struct("milestone_index", "rows", "new", "earlier", "hot"))).alias("steps"),
        F.first("stored").alias("stored"),
        F.first("tail").alias("tail"),
        F.min(F.when(F.col("hot"), F.col("window"))).alias("first_hot"),
    )
    start = F.struct(
        F.coalesce("stored.first_milestones", F.expr("CAST(array() AS ARRAY<INT>)")).alias("first_milestones"),
        F.coalesce("stored.open_count", F.lit(0).cast("bigint")).alias("open_count"),
        F.coalesce("stored.counted_to", F.greatest("tail", F.col("first_hot") - 1)).alias("counted_to"),
    )
    window_end = F.col("first_hot") + size

    def step(state: Column, each: Column) -> Column:
        milestone_index = each["milestone_index"]
        reached = F.col("stored").isNotNull() | (milestone_index >= F.col("first_hot"))
        counted = each["new"] & reached
        splits = counted & (state["open_count"] >= limit(partition_size))
        adds = counted | (each["earlier"] & reached & (milestone_index < window_end))
        kept = F.when(splits, F.lit(0).cast("bigint")).otherwise(state["open_count"])
        return F.struct(
            F.when(splits, F.array_append(state["first_milestones"], milestone_index))
            .otherwise(state["first_milestones"])
            .alias("first_milestones"),
            (kept + F.when(adds, each["rows"]).otherwise(F.lit(0).cast("bigint"))).alias("open_count"),
            F.when(counted, milestone_index).otherwise(state["counted_to"]).alias("counted_to"),
        )

    grown = keyed.withColumn("state", F.aggregate("steps", start, step))
    return grown.select("lookup", "ms_range_id", "key", "state.*")


def _window_last(size: int, chunk_size: int) -> str:
    """SQL: the last milestone of the row's window; a range's last window may be cut short."""
    return f"least(window + {size - 1}, (ms_range_id + 1) * {chunk_size} - 1)"


def _begun(run: Intervals) -> str:
    """SQL: the row's window has a milestone of the run above the tail."""
    meets = [
        f"(window <= {last} AND window_last >= {first} AND least({last}, window_last) > tail)" for first, last in run
    ]
    return " OR ".join(meets) or "false"
