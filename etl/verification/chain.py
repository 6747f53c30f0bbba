"""Checks that each Stardust milestone names the previous one, and rejects those that do not.

Uses native columns. Only complete milestones with a known neighbour are compared. Gaps are skipped, and so is the
change of eras, because no specification says which id Stardust's first milestone names. If two milestones do not match,
either may be wrong: a load rejects both, except those that were already complete in the lake.
"""

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.intervals import Intervals, add, intervals, subtract
from etl.engine.arrow_frames import arrow_frame
from etl.lake.delta import either, few_rows, intervals_of
from etl.tables.partition_columns import hex_text
from etl.verification.ingest import Ingested
from etl.writers.publish import Publication

ENDS = pa.schema({"milestone_index": pa.int32(), "milestone_id": pa.binary(), "previous_id": pa.binary()})
"""A milestone, its id, and the id of the previous milestone that it names."""

NAMED = "unhex(substring(hex(payload), 27, 64))"
"""previousMilestoneId in a milestone payload, after its kind, index, timestamp and version."""

IS_STARDUST = "substring(hex(payload), 1, 8) = '07000000'"


def broken_links(ends: DataFrame) -> DataFrame:
    """(milestone_index, reason) of both neighbours that do not match.

    `ends` has the columns ENDS, once per milestone. Milestones without ids are not compared.
    """
    own, neighbour = F.col("milestone_index"), "OVER (ORDER BY milestone_index)"
    beside = ends.where("milestone_id IS NOT NULL").selectExpr(
        "*",
        f"lag(struct(milestone_index, milestone_id)) {neighbour} AS before",
        f"lead(struct(milestone_index, previous_id)) {neighbour} AS after",
    )
    expected, named = F.col("before.milestone_id"), F.col("after.previous_id")
    is_other = (F.col("before.milestone_index") == own - 1) & (F.col("previous_id") != expected)
    is_named_other = (F.col("after.milestone_index") == own + 1) & (F.col("milestone_id") != named)
    other = F.format_string(
        "previousMilestoneId: %s expected, the id of milestone %d, found %s",
        hex_text(expected),
        own - 1,
        hex_text(F.col("previous_id")),
    )
    named_other = F.format_string(
        "milestone id: %s expected, as milestone %d names the one before it, found %s",
        hex_text(named),
        own + 1,
        hex_text(F.col("milestone_id")),
    )
    reason = F.when(is_other, other).when(is_named_other, named_other)
    return beside.select(own, reason.alias("reason")).where("reason IS NOT NULL")


def reject_broken_links(publication: Publication, found: Ingested) -> Ingested:
    """Marks milestones of this load that do not match their neighbours as incomplete in the uncommitted lake rows, and
    rejects their lines.
    """
    lake = publication.lake
    ends = few_rows(publication.spark, ENDS, sorted(found.links))
    if lake.exists():
        held = lake.milestones(beside(found.decoded)).where(f"verified IS NOT NULL AND {IS_STARDUST}")
        ends = ends.unionByName(held.select("milestone_index", "milestone_id", F.expr(NAMED).alias("previous_id")))
    broken = broken_links(ends).where(either(found.decoded))
    if broken.isEmpty():
        return found
    folder = publication.staging.write("chain", broken)
    broken = publication.spark.read.schema("milestone_index INT, reason STRING").parquet(str(folder))
    rejected = intervals_of(broken)
    no_place = {name: F.lit(None).cast(kind) for name, kind in (("verified", "string"), ("white_flag_index", "int"))}
    lake.replace_messages(lake.messages(rejected).withColumns(no_place), rejected)
    lines = arrow_frame(publication.spark, found.plan.places(rejected))
    rows = broken.join(lines, "milestone_index").withColumn("item", F.lit(""))
    before = lake.read("rejects").where(either(rejected))
    lake.replace("rejects", before.unionByName(rows), rejected)
    return replace(found, rejects=True, changed=add(found.changed, rejected))


def beside(those: Intervals) -> Intervals:
    """The milestones directly before and after."""
    ends = [(end, end) for first, last in those for end in (first - 1, last + 1)]
    return subtract(intervals(ends), those)
