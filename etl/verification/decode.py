"""Lines of milestones → decoded and verified rows, by one function (etl/verification/decode_worker.py) that runs in
two ways: in processes of this machine, which write files, and in tasks of a Spark cluster.

Decoding is the one step in which every message passes through Python. Both ways return the same rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.intervals import Intervals, intersect, of_indices
from etl.engine.arrow_frames import arrow_frame
from etl.engine.ordering import in_tasks
from etl.engine.process_frames import start_processes
from etl.engine.process_pool import run_tasks, uses_workers
from etl.engine.progress_monitor import watched
from etl.engine.queries import parallelism, task_set
from etl.lake.delta import REJECTS_DDL, Lake
from etl.lake.message_rows import DECODED_DDL
from etl.lake.part_commits import replace_messages
from etl.lake.part_frames import part_frame
from etl.lake.parts import LakePart
from etl.lake.watch_list import read_watched
from etl.lake.watched_outputs import WATCHED
from etl.report import Notify, Progress
from etl.sources.plan import UNKNOWN_MILESTONE, Plan
from etl.sources.rejects import Reject
from etl.verification.decode_worker import (
    KNOWN_COLUMNS,
    Check,
    Decoded,
    DecodeTask,
    Known,
    LocalMembers,
    TaskResults,
    check_pending_line,
    check_planned,
    decode_batches,
    decode_rows,
    decode_to_files,
    pass_on,
)
from etl.verification.spenders import decode_selected
from ledger.eras import Coordinator, Eras
from ledger.selection import Selection

TASK_BYTES = 64 << 20
"""Maximum of archive bytes per decoding task: few enough to balance tasks, enough for the size of the lake's files."""

STAGE = "decode"
"""The stage that tasks are reported for."""

TASKS_PER_PROCESS = 4
"""Minimum of tasks per process in a large load, so that all processes end at about the same time."""

KNOWN_TYPE = """
ARRAY<STRUCT<
  message_id: BINARY, version: TINYINT, message: BINARY, inclusion_state: TINYINT, conflict_reason: SMALLINT,
  verified: STRING, milestone: BINARY>>
"""
"""Messages of a milestone that are already in the lake: one more copy, read last. `milestone` is the payload of a
Stardust milestone, in a row without message_id.
"""


WholeCheck: TypeAlias = Callable[[Callable[[], DataFrame], Intervals], None]
"""Checks all decoded messages (MESSAGE_DDL, on request) of milestones. It raises if the lake must not get them."""


class Decoding(Protocol):
    """Decodes the lines of one run."""

    @property
    def results(self) -> TaskResults:
        """What tasks have found. Final after the milestones and the frame of `pending` have been written."""

    def write_milestones(self, todo: Intervals, in_lake: Intervals, check: WholeCheck) -> None:
        """Replaces the lake's messages of these milestones. `in_lake`: milestones of which the lake has messages, one
        more copy. `check` runs before the lake changes.
        """

    @property
    def parts(self) -> Sequence[LakePart]:
        """The files that the lake's messages were written to. Empty if the engine wrote them."""

    @property
    def watched(self) -> pa.Table:
        """WATCHED of the decoded messages of a selection. Final when `check` of `write_milestones` runs."""

    def pending(self) -> DataFrame:
        """MESSAGE_DDL of the pending lines, with milestone_index UNKNOWN_MILESTONE."""

    def rejects(self) -> DataFrame | None:
        """REJECTS_DDL of both; None without any."""


@dataclass(frozen=True)
class Decoder:
    """The functions that verify milestones and pending lines. `selection`: which messages are kept. None: all.
    `rejects`: by incomplete milestone of the lake, those of messages.
    """

    eras: Eras
    coordinator: Coordinator | None
    selection: Selection | None = None
    rejects: Mapping[int, tuple[Reject, ...]] | None = None

    def milestone(self, spent: Set[bytes] = frozenset()) -> Check:
        """Verifies the copies of one milestone. `spent`: outputs of which a selection keeps the spending."""
        checked = partial(check_planned, eras=self.eras, coordinator=self.coordinator, selection=self.selection)
        if self.rejects:
            checked = partial(checked, rejects=self.rejects)
        return partial(checked, spent=spent) if spent else checked

    @property
    def pending(self) -> Check:
        """Verifies one pending line."""
        return partial(check_pending_line, eras=self.eras)


def decoding_of(
    lake: Lake,
    plan: Plan,
    decoder: Decoder,
    folder: Callable[[str], Path],
    notify: Notify,
) -> Decoding:
    """Returns the way for this engine and lake. `folder` makes a folder of the run; `notify` receives finished and
    total tasks.
    """
    if lake.is_local:
        return ProcessDecoding(lake, plan, decoder, notify, folder)
    return TaskDecoding(lake, plan, decoder, notify)


def decode_tasks(
    plan: Plan, todo: Intervals, least: int, folder: Path, known: Callable[[Intervals], Known] = lambda _: Known((), [])
) -> list[DecodeTask]:
    """The milestones in at least `least` tasks of about equal bytes. `known` returns what the lake has of a span."""
    copies = plan.copies(todo, TASK_BYTES, least)
    tasks = []
    for number in range(max(copies["task"].to_pylist(), default=-1) + 1):
        planned = copies.filter(pc.equal(copies["task"], number)).drop_columns(["task"]).combine_chunks()
        tasks.append(DecodeTask(number, planned, known(_span(planned)), folder))
    return tasks


@dataclass
class ProcessDecoding:
    """Decodes in processes of this machine. The rows are in files of the run."""

    lake: Lake
    plan: Plan
    decoder: Decoder
    notify: Notify
    folder: Callable[[str], Path]
    results: TaskResults = field(default_factory=lambda: TaskResults(*(LocalMembers() for _ in range(4))))
    parts: Sequence[LakePart] = ()
    watched: pa.Table = field(default_factory=WATCHED.empty_table)
    _rejects: list[Path] = field(default_factory=list)

    def write_milestones(self, todo: Intervals, in_lake: Intervals, check: WholeCheck) -> None:
        """See Decoding."""
        size = self.plan.size(todo)
        least = TASKS_PER_PROCESS * parallelism(self.lake.spark) if uses_workers(size) else 1
        again = intersect(todo, in_lake)
        folder = self.folder("decoded")

        def known(span: Intervals) -> Known:
            there = intersect(again, span)
            return Known(tuple(self.lake.local_files("messages", there)) if there else (), there)

        tasks = decode_tasks(self.plan, todo, least, folder, known)
        selection = self.decoder.selection

        def decode(tasks: Sequence[DecodeTask], spent: Set[bytes]) -> Iterator[Decoded]:
            function = partial(decode_to_files, check=self.decoder.milestone(spent), selection=selection)
            return self._run(function, tasks, size)

        if selection is not None and selection.addresses:
            found = decode_selected(tasks, decode, read_watched(self.lake))
            decoded, self.watched = found.decoded, found.watched
        else:
            decoded = list(decode(tasks, frozenset()))
        self.parts = self._collect(decoded, folder)
        check(lambda: part_frame(self.lake.spark, self.parts), todo)
        replace_messages(self.lake, self.parts, todo)

    def pending(self) -> DataFrame:
        """See Decoding."""
        folder = self.folder("pending")
        task = DecodeTask(0, self.plan.pending, Known((), []), folder)
        function = partial(decode_to_files, check=self.decoder.pending)
        return part_frame(self.lake.spark, self._collect(self._run(function, [task], 0), folder))

    def rejects(self) -> DataFrame | None:
        """See Decoding."""
        if not self._rejects:
            return None
        return self.lake.spark.read.schema(REJECTS_DDL).parquet(*map(str, self._rejects))

    def _run(
        self, function: Callable[[DecodeTask], Decoded], tasks: Sequence[DecodeTask], size: int
    ) -> Iterator[Decoded]:
        return run_tasks(function, tasks, processes=parallelism(self.lake.spark), size=size, done=self._report)

    def _collect(self, results: Iterable[Decoded], folder: Path) -> list[LakePart]:
        """Takes over the results of tasks. Returns their files with messages."""
        parts: list[LakePart] = []
        for decoded in results:
            parts += decoded.parts
            for name in ("rejected", "believed", "links", "expected"):
                getattr(self.results, name).add(getattr(decoded.results, name).value)
        self._rejects += sorted(folder.glob("rejects/*.parquet"))
        return parts

    def _report(self, finished: int, total: int) -> None:
        self.notify(Progress(STAGE, finished, total, "tasks"))


@dataclass
class TaskDecoding:
    """Decodes in Spark tasks, which write the rows themselves."""

    lake: Lake
    plan: Plan
    decoder: Decoder
    notify: Notify
    parts: Sequence[LakePart] = ()
    watched: pa.Table = field(default_factory=WATCHED.empty_table)

    def __post_init__(self) -> None:
        self._in_lake: Intervals = []
        self.results = TaskResults(*(task_set(self.lake.spark) for _ in range(4)))

    def write_milestones(self, todo: Intervals, in_lake: Intervals, check: WholeCheck) -> None:
        """See Decoding."""
        self._in_lake = in_lake
        rows = _messages(self._decoded(self._planned(todo), self.decoder.milestone(), self.results))
        check(lambda: _messages(self._decoded(self._planned(todo), self.decoder.milestone(), None)), todo)
        with watched(self.lake.spark, STAGE, self.notify):
            self.lake.replace("messages", rows, todo)

    def pending(self) -> DataFrame:
        """See Decoding."""
        planned = arrow_frame(self.lake.spark, self.plan.pending)
        return _messages(self._decoded(planned, self.decoder.pending, self.results))

    def rejects(self) -> DataFrame | None:
        """Runs after the messages are committed and decodes only milestones with rejects again, so that a load without
        rejects, the common case, has no cost.
        """
        rejected = self.results.rejected.value
        rows: DataFrame | None = None
        if again := of_indices(index for index in rejected if index != UNKNOWN_MILESTONE):
            rows = _rejects(self._decoded(self._planned(again), self.decoder.milestone(), None))
        if UNKNOWN_MILESTONE in rejected:
            planned = arrow_frame(self.lake.spark, self.plan.pending)
            pending = _rejects(self._decoded(planned, self.decoder.pending, None))
            rows = pending if rows is None else rows.unionByName(pending)
        return rows

    def _planned(self, todo: Intervals) -> DataFrame:
        """Returns the lines in tasks of ascending milestones, so that the lake's files are sorted."""
        copies = self.plan.copies(todo, TASK_BYTES, parallelism(self.lake.spark))
        planned = arrow_frame(self.lake.spark, copies)
        if again := intersect(todo, self._in_lake):
            planned = planned.join(known_rows(self.lake.messages(again)), "milestone_index", "left")
        else:
            planned = planned.withColumn("known", F.lit(None).cast(KNOWN_TYPE))
        return in_tasks(planned, "task", max(copies["task"].to_pylist(), default=0) + 1, "milestone_index")

    @staticmethod
    def _decoded(planned: DataFrame, check: Check, results: TaskResults | None) -> DataFrame:
        return planned.mapInArrow(partial(decode_batches, check=check, results=results), DECODED_DDL)


def start_workers(lake: Lake, size: int) -> None:
    """Starts a Python worker per core and imports the modules for decoding while the driver is still planning. `size`:
    bytes of the files; few bytes are decoded in this process.
    """
    if not lake.is_local:
        cores = parallelism(lake.spark)
        rows = lake.spark.range(cores, numPartitions=cores).mapInArrow(pass_on, "id BIGINT")
        rows.write.format("noop").mode("append").save()
    else:
        start_processes(lake.spark, decode_rows, size)


def known_rows(messages: DataFrame, more: Sequence[str] = ()) -> DataFrame:
    """The lake's messages by milestone: milestone_index, known (KNOWN_TYPE, with the columns `more`)."""
    payload = F.when(F.col("message_id").isNull(), F.col("milestone.payload")).alias("milestone")
    return messages.groupBy("milestone_index").agg(
        F.collect_list(F.struct(*KNOWN_COLUMNS, *more, payload)).alias("known")
    )


def _span(planned: pa.Table) -> Intervals:
    indexes = planned["milestone_index"]
    return [(indexes[0].as_py(), indexes[-1].as_py())] if planned.num_rows else []


def _messages(decoded: DataFrame) -> DataFrame:
    return decoded.where("reject IS NULL").drop("reject")


def _rejects(decoded: DataFrame) -> DataFrame:
    return decoded.where("reject IS NOT NULL").select("milestone_index", "reject.*")
