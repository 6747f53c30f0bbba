"""Splits a run into intervals of milestones that are written in one transaction each."""

from pyspark.sql import functions as F

from db.intervals import Intervals
from etl.lake.delta import Lake


def batches(lake: Lake, run: Intervals, messages: int, most: int) -> list[Intervals]:
    """Intervals of at most `most` messages, and at least one milestone. `messages`: those of the whole run."""
    if run and messages <= most:
        return [run]
    sized = lake.milestones(run).select(
        "milestone_index",
        F.expr(f"(sum(message_count) OVER (ORDER BY milestone_index) - 1) DIV {most} AS batch"),
    )
    spans = sized.groupBy("batch").agg(F.min("milestone_index").alias("a"), F.max("milestone_index").alias("b"))
    row = spans.agg(F.sort_array(F.collect_list(F.struct("a", "b"))).alias("all")).first()
    return [_clipped(run, each["a"], each["b"]) for each in row["all"]] if row else []


def _clipped(run: Intervals, first: int, last: int) -> Intervals:
    return [(max(a, first), min(b, last)) for a, b in run if a <= last and b >= first]
