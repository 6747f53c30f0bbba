"""Files → lake: scan, decode and verify, commit.

Rules of this file: what the lake has whole is not decoded again unless forced; what it has in part is one more copy;
`milestones` is committed last.
"""

from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from db.intervals import Intervals, size, subtract
from etl.decode import KNOWN_TYPE, decode_milestones, decode_pending
from etl.lake import Lake, either, intervals_of, milestone_rows, within
from etl.plan import UNKNOWN_MILESTONE, broken_lines, milestone_copies, pending_lines, scan, scanned_files

TASK_BYTES = 48 << 20
"""Archive bytes of a decoding task at most: small enough to balance, and files of the lake stay near 64 MB."""


@dataclass(frozen=True)
class Ingested:
    """What a run's files hold, and what it put into the lake."""

    files: list[Path]
    run: Intervals
    skipped: int
    decoded: Intervals
    pending: bool


class _MilestoneSet(AccumulatorParam[set[int]]):
    def zero(self, value: set[int]) -> set[int]:
        return set()

    def addInPlace(self, value1: set[int], value2: set[int]) -> set[int]:  # noqa: N802 (Spark's name)
        value1 |= value2
        return value1


def rejected_milestones(context: SparkContext) -> Accumulator[set[int]]:
    """Milestones that had a reject, filled by tasks; repeating a task changes nothing."""
    return context.accumulator(set(), _MilestoneSet())


def ingest(
    spark: SparkSession,
    lake: Lake,
    files: list[Path],
    network_id: int,
    *,
    first: int | None,
    last: int | None,
    complete: Intervals,
    force: bool,
) -> Ingested:
    """Puts the files' milestones of [first, last) into the lake, except those in `complete` (the store's)."""
    scanned = scan(spark, files)
    copies = milestone_copies(scanned, first, last)
    held = intervals_of(copies)
    run = held if force else subtract(held, complete)
    if run != held:
        copies = copies.where(either(run))
    todo = copies if force else _not_in_lake(lake, copies, run)
    decoded = intervals_of(todo)
    rejected = rejected_milestones(spark.sparkContext)
    if decoded:
        planned = _planned(scanned, _with_known(lake, todo, decoded))
        rows = decode_milestones(planned, network_id, rejected)
        lake.replace("messages", rows.where("message_id IS NOT NULL").drop("reject"), within(decoded))
    pending = pending_lines(scanned)
    pending_tasks = pending.repartition(1)
    has_pending = not pending.isEmpty()
    if has_pending:
        rows = decode_pending(pending_tasks, network_id, rejected)
        lake.add_pending(rows.where("message_id IS NOT NULL").drop("reject"))
    _commit_rejects(lake, scanned, todo, pending_tasks, network_id, rejected.value, decoded, files)
    if decoded:
        rejects = lake.read("rejects").where(either(decoded)) if rejected.value else None
        lake.replace("milestones", milestone_rows(lake.messages(decoded), rejects), within(decoded))
    lake.add_sources(scanned_files(scanned))
    return Ingested(files, run, size(held) - size(run), decoded, has_pending)


def _not_in_lake(lake: Lake, copies: DataFrame, run: Intervals) -> DataFrame:
    if not run or not lake.exists():
        return copies
    whole = lake.milestones(run).where("verified IS NOT NULL").select("milestone_index")
    return copies.join(F.broadcast(whole), "milestone_index", "left_anti")


def _with_known(lake: Lake, todo: DataFrame, decoded: Intervals) -> DataFrame:
    """Messages that the lake has of milestones that are read again, as one more copy."""
    if not lake.exists() or lake.milestones(decoded).isEmpty():
        return todo.withColumn("known", F.lit(None).cast(KNOWN_TYPE))
    message = F.struct("message_id", "message", "inclusion_state", "conflict_reason")
    known = lake.messages(decoded).groupBy("milestone_index").agg(F.collect_list(message).alias("known"))
    return todo.join(known, "milestone_index", "left")


def _planned(scanned: DataFrame, todo: DataFrame) -> DataFrame:
    """Tasks of ascending milestones, so that the lake's files are sorted as they are written."""
    total = scanned.agg(F.sum("length")).first()
    cores = scanned.sparkSession.sparkContext.defaultParallelism
    tasks = max(cores, -(-int(total[0] or 0) // TASK_BYTES)) if total else cores
    return todo.repartitionByRange(tasks, "milestone_index").sortWithinPartitions("milestone_index")


def _commit_rejects(
    lake: Lake,
    scanned: DataFrame,
    todo: DataFrame,
    pending: DataFrame,
    network_id: int,
    rejected: set[int],
    decoded: Intervals,
    files: list[Path],
) -> None:
    """Replaces the rejects of the milestones and files of this run.

    They are told apart only after the messages are committed, and only those milestones are decoded once more: a load
    without rejects, the common case, pays nothing.
    """
    broken = broken_lines(scanned)
    found = [broken]
    again = [index for index in rejected if index != UNKNOWN_MILESTONE]
    if again:
        planned = _with_known(lake, todo.where(F.col("milestone_index").isin(again)), decoded)
        found.append(_rejects(decode_milestones(planned, network_id, None)))
    if UNKNOWN_MILESTONE in rejected:
        found.append(_rejects(decode_pending(pending, network_id, None)))
    rows = found[0]
    for more in found[1:]:
        rows = rows.unionByName(more)
    if len(found) == 1 and not lake.has("rejects") and broken.isEmpty():
        return
    names = ", ".join(f"'{_quoted(path)}'" for path in files)
    lake.replace(
        "rejects", rows, f"({either(decoded)}) OR (milestone_index = {UNKNOWN_MILESTONE} AND file IN ({names}))"
    )


def _rejects(decoded: DataFrame) -> DataFrame:
    return decoded.where("reject IS NOT NULL").select("milestone_index", "reject.*")


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace("'", "\\'")
