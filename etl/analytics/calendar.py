"""How many addresses were active so far in the UTC day, ISO week, month and year of a milestone.

A milestone is in the intervals of its own timestamp, and in Chrysalis timestamps may fall. An address counts with the
lowest milestone of an interval in which it was active. A sum of days would count many addresses twice.
"""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from db.schema import CALENDAR

ACTIVE = pa.schema({"milestone_index": pa.int32(), "ms_timestamp": pa.int64(), "owner": pa.binary()})
"""Who was active, and when: what of CHANGES is looked at."""


def newly_active(active: DataFrame) -> DataFrame:
    """ACTIVE → a row an address and interval, with the first of its milestones there."""
    earliest = F.min("milestone_index").alias("milestone_index")
    time = F.timestamp_millis("ms_timestamp")
    days = active.groupBy(F.date_trunc("day", time).alias("day"), "owner").agg(earliest)
    intervals = F.array(
        *(
            F.struct(F.lit(name).alias("name"), F.date_trunc(unit, "day").alias("begins"))
            for name, unit in CALENDAR.items()
        )
    )
    first = (
        days.select("milestone_index", "owner", F.inline(intervals)).groupBy("name", "begins", "owner").agg(earliest)
    )
    return first.select("milestone_index", *(F.when(F.col("name") == name, F.lit(1)).alias(name) for name in CALENDAR))


def so_far(name: str, before: Mapping[int, int]) -> Column:
    """Of newly_active, summed by milestone and with its `ms_timestamp`, those of its interval up to it; `before`: how
    many an interval, by its first second, had before these milestones.
    """
    begins = F.unix_timestamp(F.date_trunc(CALENDAR[name], F.timestamp_millis("ms_timestamp")))
    in_order = Window.partitionBy(begins).orderBy("milestone_index").rowsBetween(Window.unboundedPreceding, 0)
    counted = F.sum(name).over(in_order)
    for first_s, count in before.items():
        counted = counted + F.when(begins == first_s, count).otherwise(0)
    return counted
