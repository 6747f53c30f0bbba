"""Verifies the milestones of the lake again from their bytes: `permanode verify`.

Results of earlier proofs are ignored, and nothing is changed. Only intervals are collected in the driver.
"""

from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from db.intervals import Intervals, add, intersect
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


@dataclass(frozen=True, slots=True)
class Proved:
    """Consecutive milestones with the same proof level and reason. `level` is INCOMPLETE if they are incomplete."""

    first: int
    last: int
    level: str
    reason: str


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of `permanode verify`.

    Attributes:
        level: the required level.
        proved: the proof levels of the milestones, ascending; at most the first SHOWN intervals.
        held: the milestones of the lake.
    """

    level: str
    proved: list[Proved]
    held: Intervals

    @property
    def is_reached(self) -> bool:
        """Whether there are milestones and all of them reach the required level."""
        return bool(self.proved) and all(reaches(each, self.level) for each in self.proved)


def audit(publication: Publication, wanted: Intervals | None, level: str | None) -> Audit:
    """Verifies the lake's milestones in `wanted` (default: all). `level` defaults to the strongest level below `full`
    that can be reached.

    Raises ValueError for `full` without a genesis or with gaps since, and for `signed` if the coordinator is unknown.
    """
    lake = publication.lake
    held = intervals_of(lake.read("milestones")) if lake.exists() else []
    chosen = held if wanted is None else intersect(wanted, held)
    coordinator = find_coordinator(publication.store_settings, lake)
    required = level or (MERKLE if coordinator is None else SIGNED)
    if not chosen:
        return Audit(required, [], held)
    if coordinator is None and required in (SIGNED, FULL):
        raise ValueError("unknown coordinator: set coordinator_keys, or load a genesis that contains the keys")
    eras = eras_of(publication.store_settings, publication.reads, None)
    in_part = lake.has("selection")
    if in_part and required == FULL:
        raise ValueError("full: the lake keeps a selection, and this level needs all messages")
    messages = lake.messages(add(chosen, intersect(beside(chosen), held)))
    known = known_rows(messages, ("proof",) if in_part else ())
    schema = from_arrow_schema(PROVED)
    proved = known.mapInArrow(partial(prove, eras=eras, coordinator=coordinator, in_part=in_part), schema)
    folder = publication.staging.write("proved", proved)
    rows = _chained(publication.spark.read.schema(schema).parquet(str(folder))).where(either(chosen))
    if required == FULL:
        rows = _with_faults(publication, rows, held, chosen)
    return Audit(required, _proved_intervals(rows), held)


def reaches(proved: Proved, level: str) -> bool:
    """Whether milestones reach a level."""
    return proved.level in LEVELS and LEVELS.index(proved.level) >= LEVELS.index(level)


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


def _proved_intervals(rows: DataFrame) -> list[Proved]:
    """Intervals of milestones with equal results. Collects one row per interval in the driver."""
    same = Window.partitionBy("level", "reason").orderBy("milestone_index")
    islands = (
        rows.withColumn("island", F.col("milestone_index") - F.row_number().over(same))
        .groupBy("level", "reason", "island")
        .agg(F.min("milestone_index").alias("first"), F.max("milestone_index").alias("last"))
        .orderBy("first")
        .limit(SHOWN)
    )
    row = islands.agg(F.sort_array(F.collect_list(F.struct("first", "last", "level", "reason"))).alias("all")).first()
    return [
        Proved(each["first"], each["last"], each["level"] or INCOMPLETE, each["reason"] or "")
        for each in (row["all"] if row else [])
    ]
