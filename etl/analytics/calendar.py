"""Counts the addresses that were active so far in the UTC day, ISO week, month and year of a milestone.

A milestone belongs to the intervals of its own timestamp; Chrysalis timestamps may decrease. An address counts at the
lowest milestone of an interval in which it was active. Sums of daily counts would count many addresses twice.
"""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from db.schema import CALENDAR
from etl.engine.columns import balanced, inline

ACTIVE = pa.schema({"milestone_index": pa.int32(), "ms_timestamp": pa.int64(), "owner": pa.binary()})
"""The columns of CHANGES that determine who was active and when."""


def newly_active(active: DataFrame) -> DataFrame:
    """ACTIVE → a row per address and interval, with its first milestone there."""
    earliest = F.min("milestone_index").alias("milestone_index")
    time = F.timestamp_millis("ms_timestamp")
    days = active.groupBy(F.date_trunc("day", time).alias("day"), "owner").agg(earliest)
    intervals = F.array(
        *(
            F.struct(F.lit(name).alias("name"), F.date_trunc(unit, "day").alias("begins"))
            for name, unit in CALENDAR.items()
        )
    )
    first = inline(days, ("milestone_index", "owner"), intervals).groupBy("name", "begins", "owner").agg(earliest)
    return first.select("milestone_index", *(F.when(F.col("name") == name, F.lit(1)).alias(name) for name in CALENDAR))


def so_far(name: str, before: Mapping[int, int]) -> Column:
    """Sums newly_active by milestone, up to each milestone of its interval, with its `ms_timestamp`. `before` contains
    the counts of each interval (by its first second) before these milestones.
    """
    begins = F.unix_timestamp(F.date_trunc(CALENDAR[name], F.timestamp_millis("ms_timestamp")))
    in_order = Window.partitionBy(begins).orderBy("milestone_index").rowsBetween(Window.unboundedPreceding, 0)
    counted = F.sum(name).over(in_order)
    earlier = (F.when(begins == first_s, count).otherwise(0) for first_s, count in before.items())
    return balanced(Column.__add__, [counted, *earlier])
