"""Files → lake: plan, decode and verify, commit.

Rules of this file: what the lake has whole is not decoded again unless forced; what it has in part is one more copy;
`milestones` is committed last.
"""

from dataclasses import astuple, dataclass
from pathlib import Path

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from db.intervals import Intervals, intersect, of_indices, size, subtract
from etl.decode import KNOWN_TYPE, decode_milestones, decode_pending
from etl.lake import Lake, either, intervals_of, milestone_rows, within
from etl.plan import UNKNOWN_MILESTONE, Plan, reject_table, scan

TASK_BYTES = 64 << 20
"""Archive bytes of a decoding task at most: small enough to balance, large enough for the lake's files."""


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


@dataclass(frozen=True)
class Ingest:
    """One run's way from its files into the lake."""

    spark: SparkSession
    lake: Lake
    network_id: int

    def run(
        self, files: list[Path], *, first: int | None, last: int | None, complete: Intervals, force: bool
    ) -> Ingested:
        """Puts the files' milestones of [first, last) into the lake, except those in `complete` (the store's)."""
        plan = scan(files, first=first, last=last)
        held = plan.milestones()
        run = held if force else subtract(held, complete)
        in_lake = intervals_of(self.lake.milestones(run)) if run and self.lake.exists() else []
        whole = [] if force or not in_lake else intervals_of(self.lake.milestones(run).where("verified IS NOT NULL"))
        todo = subtract(run, whole)
        rejected = self._rejected()
        if todo:
            rows = decode_milestones(self._planned(plan, todo, in_lake), self.network_id, rejected)
            self.lake.replace("messages", _messages(rows), within(todo))
        if plan.pending.num_rows:
            rows = decode_pending(self.spark.createDataFrame(plan.pending), self.network_id, rejected)
            self.lake.add_pending(_messages(rows))
        self._replace_rejects(plan, todo, in_lake, rejected.value)
        if todo:
            rejects = self.lake.read("rejects").where(either(todo)) if rejected.value else None
            self.lake.replace("milestones", milestone_rows(self.lake.messages(todo), rejects), within(todo))
        self.lake.add_sources(self.spark.createDataFrame([astuple(each) for each in plan.files], SOURCE_DDL))
        return Ingested(files, run, size(held) - size(run), todo, plan.pending.num_rows > 0)

    def _rejected(self) -> Accumulator[set[int]]:
        """Milestones that had a reject, filled by tasks; repeating a task changes nothing."""
        context: SparkContext = self.spark.sparkContext
        return context.accumulator(set(), _MilestoneSet())

    def _planned(self, plan: Plan, todo: Intervals, in_lake: Intervals) -> DataFrame:
        """Tasks of ascending milestones, so that the lake's files are sorted as they are written."""
        copies = plan.copies(todo, TASK_BYTES, self.spark.sparkContext.defaultParallelism)
        tasks = max(copies["task"].to_pylist(), default=0) + 1
        planned = self.spark.createDataFrame(copies)
        if again := intersect(todo, in_lake):
            message = F.struct("message_id", "message", "inclusion_state", "conflict_reason")
            known = self.lake.messages(again).groupBy("milestone_index").agg(F.collect_list(message).alias("known"))
            planned = planned.join(known, "milestone_index", "left")
        else:
            planned = planned.withColumn("known", F.lit(None).cast(KNOWN_TYPE))
        return planned.repartitionById(tasks, "task").sortWithinPartitions("milestone_index").drop("task")

    def _replace_rejects(self, plan: Plan, todo: Intervals, in_lake: Intervals, rejected: set[int]) -> None:
        """Puts the rejects of the run's milestones and files in the place of earlier ones.

        They are told apart only after the messages are committed, and only those milestones are decoded once more: a
        load without rejects, the common case, pays nothing.
        """
        if not rejected and not plan.broken and not self.lake.has("rejects"):
            return
        rows = self.spark.createDataFrame(reject_table(UNKNOWN_MILESTONE, plan.broken))
        if again := of_indices(index for index in rejected if index != UNKNOWN_MILESTONE):
            planned = self._planned(plan, again, intersect(in_lake, again))
            rows = rows.unionByName(_rejects(decode_milestones(planned, self.network_id, None)))
        if UNKNOWN_MILESTONE in rejected:
            pending = self.spark.createDataFrame(plan.pending)
            rows = rows.unionByName(_rejects(decode_pending(pending, self.network_id, None)))
        files = ", ".join(f"'{_quoted(each.file)}'" for each in plan.files)
        unknown = f"milestone_index = {UNKNOWN_MILESTONE} AND file IN ({files})"
        self.lake.replace("rejects", rows, f"({either(todo)}) OR ({unknown})")


SOURCE_DDL = "file STRING, lines INT, bytes BIGINT, checksum BINARY"


def _messages(decoded: DataFrame) -> DataFrame:
    return decoded.where("message_id IS NOT NULL").drop("reject")


def _rejects(decoded: DataFrame) -> DataFrame:
    return decoded.where("reject IS NOT NULL").select("milestone_index", "reject.*")


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace("'", "\\'")
