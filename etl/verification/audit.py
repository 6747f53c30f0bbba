"""Verifies the milestones of the lake again from their bytes: `permanode verify`.

Results of earlier proofs are ignored, and nothing is changed. At most SHOWN intervals are collected in the driver.
"""

from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from db.intervals import Intervals, add, intersect, intervals, size, span, subtract
from etl.lake.delta import either, intervals_of
from etl.tables.partition_columns import hex_text
from etl.verification.audit_worker import PROVED, prove
from etl.verification.chain import beside, broken_links
from etl.verification.coordinators import find_coordinator
from etl.verification.decode import known_rows
from etl.verification.full_verification import find_faults
from etl.verification.load_eras import eras_of
from etl.writers.publish import Publication
from ledger.levels import FULL, LEVELS, MERKLE, SIGNED

SHOWN = 1_000
"""Maximum number of intervals in a result."""

INCOMPLETE = "incomplete"
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Proved:
    """Consecutive milestones with the same proof level and reason.

    `level` is INCOMPLETE if a load rejects them, MISSING if the lake does not have them.
    """

    first: int
    last: int
    level: str
    reason: str


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of `permanode verify`.

    Attributes:
        level: the required level.
        proved: the proof levels of the milestones, ascending; at most the first SHOWN intervals. Empty: the lake has
            none of the requested milestones.
        held: the milestones of the lake.
        below: the number of requested milestones that do not reach the level, in all intervals.
    """

    level: str
    proved: list[Proved]
    held: Intervals
    below: int

    @property
    def is_reached(self) -> bool:
        """Whether there are milestones and all of them reach the required level."""
        return bool(self.proved) and not self.below

    @property
    def may_have_more(self) -> bool:
        """Whether there may be more intervals than those in `proved`."""
        return len(self.proved) == SHOWN


def audit(publication: Publication, first: int | None, last: int | None, level: str | None) -> Audit:
    """Verifies the milestones of [first, last). Without `first` they begin with the lake's first one, without `last`
    they end with its newest one; without both, milestones that the lake does not have are not requested.

    `level` defaults to the strongest level below `full` that can be reached.

    Raises ValueError for `full` without a genesis or with gaps since, and for `signed` if the coordinator is unknown.
    """
    lake = publication.lake
    held = intervals_of(lake.read("milestones")) if lake.exists() else []
    requested = held if (first, last) == (None, None) else span(held, first, last)
    chosen = intersect(requested, held)
    coordinator = find_coordinator(publication.store_settings, lake)
    required = level or (MERKLE if coordinator is None else SIGNED)
    if not chosen:
        return Audit(required, [], held, size(requested))
    if coordinator is None and required in (SIGNED, FULL):
        raise ValueError("unknown coordinator: set coordinator_keys, or load a genesis that contains the keys")
    eras = eras_of(publication.store_settings, publication.reads, None)
    in_part = lake.has("selection")
    if in_part and required == FULL:
        raise ValueError("full: the lake keeps a selection, and this level needs all messages")
    messages = lake.messages(add(chosen, intersect(beside(chosen), held)))
    known = known_rows(messages, ("proof",) if in_part else ())
    schema = from_arrow_schema(PROVED)
    results = known.mapInArrow(partial(prove, eras=eras, coordinator=coordinator, in_part=in_part), schema)
    folder = publication.staging.write("proved", results)
    rows = _chained(publication.spark.read.schema(schema).parquet(str(folder))).where(either(chosen))
    if required == FULL:
        rows = _with_faults(publication, rows, held, chosen)
    proved, reached = _proved_intervals(rows, required)
    return Audit(required, _with_missing(proved, requested), held, size(requested) - reached)


def _chained(rows: DataFrame) -> DataFrame:
    """Milestones that contradict their neighbours have no proof level, because a load rejects them."""
    broken = broken_links(rows.where("level IS NOT NULL")).withColumnRenamed("reason", "broken")
    joined = rows.join(broken, "milestone_index", "left")
    return joined.select(
        "milestone_index",
        F.when(F.col("broken").isNull(), F.col("level")).alias("level"),
        F.coalesce("broken", "reason").alias("reason"),
    )


def _with_faults(publication: Publication, rows: DataFrame, held: Intervals, chosen: Intervals) -> DataFrame:
    """Signed milestones without faults become `full`."""
    if not publication.lake.has("genesis"):
        raise ValueError("full: the lake has no genesis; load one with `permanode load --genesis`")
    genesis = publication.lake.genesis_index()
    known_to = next((last for first, last in held if first <= genesis + 1 <= last), genesis)
    if chosen[-1][1] > known_to:
        raise ValueError(
            f"full: possible only up to milestone {known_to}, the last one before the first gap since genesis"
        )
    faults = find_faults(publication, chosen[0][0], chosen[-1][1])
    first = faults.groupBy("milestone_index").agg(
        F.min(F.concat_ws(": ", hex_text(F.col("message_id")), "reason")).alias("fault")
    )
    is_full = (F.col("level") == SIGNED) & F.col("fault").isNull()
    return rows.join(first, "milestone_index", "left").select(
        "milestone_index",
        F.when(is_full, FULL).otherwise(F.col("level")).alias("level"),
        F.coalesce("reason", "fault").alias("reason"),
    )


def _proved_intervals(rows: DataFrame, required: str) -> tuple[list[Proved], int]:
    """The first SHOWN intervals of milestones with equal results, and the number of milestones that reach a level."""
    same = Window.partitionBy("level", "reason").orderBy("milestone_index")
    is_reached = F.col("level").isin(*LEVELS[LEVELS.index(required) :])
    islands = (
        rows.withColumn("island", F.col("milestone_index") - F.row_number().over(same))
        .groupBy("level", "reason", "island")
        .agg(F.min("milestone_index").alias("first"), F.max("milestone_index").alias("last"))
        .withColumn("reached", F.when(is_reached, F.col("last") - F.col("first") + 1).otherwise(0))
        .withColumn("reached", F.sum("reached").over(Window.partitionBy()))
        .orderBy("first")
        .limit(SHOWN)
    )
    listed = F.sort_array(F.collect_list(F.struct("first", "last", "level", "reason"))).alias("all")
    row = islands.agg(listed, F.max("reached").alias("reached")).first()
    found = row["all"] if row else []
    proved = [Proved(each["first"], each["last"], each["level"] or INCOMPLETE, each["reason"] or "") for each in found]
    return proved, row["reached"] or 0 if row else 0


def _with_missing(proved: list[Proved], requested: Intervals) -> list[Proved]:
    """Adds the requested milestones that have no result. Returns the first SHOWN intervals."""
    known = requested if len(proved) < SHOWN else intersect(requested, [(0, proved[-1].last)])
    absent = subtract(known, intervals((each.first, each.last) for each in proved))
    missing = [Proved(*each, MISSING, "the lake does not have them") for each in absent]
    return sorted([*proved, *missing], key=lambda each: each.first)[:SHOWN]
