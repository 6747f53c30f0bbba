"""Files → lake: plan, decode and verify, commit.

Rules of this file: what the lake has whole is not decoded again unless forced; what it has in part is one more copy;
`milestones` is committed last.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from db.intervals import Intervals, add, intersect, of_indices, size, subtract
from db.store import Value
from etl.decode import KNOWN_TYPE, decode_milestones, decode_pending, start_workers
from etl.lake import GENESIS, GENESIS_DDL, Lake, either, milestone_rows, within
from etl.plan import UNKNOWN_MILESTONE, Plan, SourceFile, reject_table, scan
from etl.sources.genesis import Genesis, open_genesis
from etl.tables import TREASURY_OUTPUT
from ledger.chrysalis import encode_output

TASK_BYTES = 64 << 20
"""Archive bytes of a decoding task at most: small enough to balance, large enough for the lake's files."""

GENESIS_ROWS = 50_000
"""Genesis outputs written at once."""


@dataclass(frozen=True)
class Ingested:
    """What a run's files hold: `run` is what the store shall get, `decoded` what the lake got of it just now,
    `reopened` what the files need not hold, as the lake does.
    """

    files: list[SourceFile]
    run: Intervals
    skipped: int
    reopened: Intervals
    decoded: Intervals
    rejects: bool
    pending: int


class _MilestoneSet(AccumulatorParam[set[int]]):
    def zero(self, value: set[int]) -> set[int]:  # noqa: ARG002 (Spark's signature)
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

    def messages(
        self,
        files: list[Path],
        *,
        first: int | None,
        last: int | None,
        complete: Intervals,
        incomplete: Intervals,
        force: bool,
    ) -> Ingested:
        """Puts the messages of [first, last) into the lake, except of milestones in `complete` (the store's).

        Of the store's `incomplete` ones those that the lake has whole are part of the run, whatever the files hold.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="workers") as pool:
            pool.submit(start_workers, self.spark)
            plan = scan(files, first=first, last=last)
            held = plan.milestones()
            wanted = held if force else subtract(held, complete)
            in_lake, whole = self.lake.known(add(wanted, incomplete))
        todo = wanted if force else subtract(wanted, whole)
        reopened = subtract(intersect(incomplete, whole), wanted)
        rejected = self._rejected()
        if todo:
            rows = decode_milestones(self._planned(plan, todo, in_lake), self.network_id, rejected)
            self.lake.replace("messages", _messages(rows), within(todo))
        if plan.pending.num_rows:
            rows = decode_pending(self.spark.createDataFrame(plan.pending), self.network_id, rejected)
            self.lake.add_pending(_messages(rows))
        self._replace_rejects(plan, todo, in_lake, rejected.value)
        run, skipped = add(wanted, reopened), size(held) - size(wanted)
        return Ingested(plan.files, run, skipped, reopened, todo, bool(rejected.value), plan.pending.num_rows)

    def commit(self, found: Ingested) -> None:
        """Puts the milestones into the lake: from here on their messages count as being there."""
        if found.decoded:
            rejects = self.lake.read("rejects").where(either(found.decoded)) if found.rejects else None
            rows = milestone_rows(self.lake.messages(found.decoded), rejects)
            self.lake.replace("milestones", rows, within(found.decoded))

    def note_sources(self, found: Ingested) -> None:
        """Puts the run's files and their checksums into the lake."""
        self.lake.add_sources(astuple(each) for each in found.files)

    def genesis(self, file: Path, folder: Path) -> None:
        """Puts the outputs of a genesis file into the lake, some at a time through `folder`; CodecError, JsonError and
        ValueError for one that is broken, of another network, or not the lake's.
        """
        with open_genesis(file) as genesis:
            if genesis.network_id not in (None, self.network_id):
                raise ValueError(f"{file}: network id {self.network_id} expected, found {genesis.network_id}")
            folder.mkdir(parents=True)
            with pq.ParquetWriter(folder / "part-0.parquet", GENESIS) as writer:
                rest = _genesis_rows(genesis)
                while rows := list(islice(rest, GENESIS_ROWS)):
                    columns = zip(*rows, strict=True)
                    arrays = [pa.array(column, each.type) for column, each in zip(columns, GENESIS, strict=True)]
                    writer.write_batch(pa.record_batch(arrays, schema=GENESIS))
        try:
            self.lake.set_genesis(self.spark.read.schema(GENESIS_DDL).parquet(str(folder)))
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error

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
            message = F.struct("message_id", "message", "inclusion_state", "conflict_reason", "verified")
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


def _genesis_rows(genesis: Genesis) -> Iterator[tuple[Value, ...]]:
    at = (genesis.ledger_index, None if genesis.timestamp is None else 1_000 * genesis.timestamp)
    if genesis.treasury is not None:
        milestone_id, amount = genesis.treasury
        yield (*at, milestone_id, None, TREASURY_OUTPUT, None, amount, None)
    for each in genesis.outputs:
        output = each.output
        data = encode_output(output)
        yield (*at, each.output_id, each.message_id, output.KIND, output.address, output.amount, data)


def _messages(decoded: DataFrame) -> DataFrame:
    return decoded.where("message_id IS NOT NULL").drop("reject")


def _rejects(decoded: DataFrame) -> DataFrame:
    return decoded.where("reject IS NOT NULL").select("milestone_index", "reject.*")


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace("'", "\\'")
