"""Python worker for all messages: takes the lines of milestones, yields decoded and verified rows in Arrow batches.

A task gets milestones in ascending order, and yields rows in that order and in white-flag order within a milestone. A
batch contains whole milestones with about BATCH_MESSAGES rows, so memory does not grow with the archive.

Worker processes and Spark's executors import this module, so it imports neither PySpark nor delta-rs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from db.intervals import Intervals, contains
from etl.engine.garbage import collect_rarely
from etl.expectations.expected import Expected, sums_by_milestone
from etl.lake.checked import Checked
from etl.lake.message_rows import MessageRows
from etl.lake.parts import LakePart, PartWriter
from etl.lake.watched_outputs import OutputFiles, OutputWriter
from etl.sources import read_cone
from etl.sources.cone import INCLUDED, NO_TRANSACTION, Cone, Entry
from etl.sources.lines import LineReader
from etl.sources.plan import UNKNOWN_MILESTONE
from etl.sources.rejects import Reject
from etl.verification.cone_verification import Copy, check_milestone, check_pending
from etl.verification.selection import select
from ledger.eras import CHRYSALIS, STARDUST, Coordinator, Eras
from ledger.levels import BELIEVED
from ledger.selection import Selection
from ledger.stardust import codec as stardust
from ledger.stardust.values import Milestone

BATCH_MESSAGES = 4_000

Link: TypeAlias = tuple[int, bytes, bytes]
"""A complete Stardust milestone: its index, its id, and the id of the previous milestone that it names."""

Check: TypeAlias = Callable[[dict[str, Any], LineReader], Checked]
"""Verifies the copies of one milestone, or one pending line."""


class Members(Protocol):
    """A set that tasks add to and the driver reads."""

    @property
    def value(self) -> set[Any]:
        """All members that finished tasks added. The driver reads it."""

    def add(self, values: set[Any], /) -> None:
        """Adds members."""


class LocalMembers:
    """Members in the memory of one process."""

    def __init__(self) -> None:
        self._members: set[Any] = set()

    @property
    def value(self) -> set[Any]:
        """The members."""
        return self._members

    def add(self, values: set[Any], /) -> None:
        """Adds members."""
        self._members |= values


@dataclass(frozen=True, slots=True)
class TaskResults:
    """Results of tasks for the driver: the milestones with rejects, those whose inclusion states are not proved, and
    the links at both ends of each task's sequence of milestones that name each other, and what must be written
    (members of etl.expectations.expected.Expected).
    """

    rejected: Members
    believed: Members
    links: Members
    expected: Members

    def add(self, checked: Checked) -> None:
        """Adds results. Repeating a task does not change them."""
        if checked.rejects:
            self.rejected.add({checked.milestone_index})
        if checked.verified == BELIEVED:
            self.believed.add({checked.milestone_index})

    def without_messages(self) -> list[int]:
        """The milestones with rejects of which nothing is written."""
        expected = Expected(dict(self.expected.value))
        return [
            index
            for index in sorted(self.rejected.value)
            if index != UNKNOWN_MILESTONE and not expected.over([(index, index)])["milestones"].rows
        ]

    def follow(self, last: Link | None, link: Link | None) -> Link | None:
        """Adds the next link of a task, or None if there is none. Both ends are kept unless the link names the previous
        one.
        """
        fits = last is not None and link is not None and (link[0] - 1, link[2]) == last[:2]
        if not fits and (ends := {each for each in (last, link) if each is not None}):
            self.links.add(ends)
        return link


@dataclass(frozen=True, slots=True)
class Known:
    """Messages of the lake that are one more copy of their milestones: local files, and the milestones to take."""

    files: tuple[Path, ...]
    milestones: Intervals


@dataclass(frozen=True, slots=True)
class DecodeTask:
    """A task of a process on this machine.

    Attributes:
        number: its position among the tasks of the run.
        planned: the lines, by ascending milestones (etl.sources.plan.Plan.copies).
        known: what the lake has of these milestones.
        folder: where the rows are written (etl.lake.parts.PartWriter).
    """

    number: int
    planned: pa.Table
    known: Known
    folder: Path


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one task returns. `outputs`: of a selection with addresses."""

    parts: list[LakePart]
    has_rejects: bool
    results: TaskResults = field(repr=False)
    outputs: OutputFiles | None = None


def decode_to_files(task: DecodeTask, check: Check, selection: Selection | None = None) -> Decoded:
    """Decodes the lines of a task and writes the rows to files. `selection`: what `check` keeps. None: all."""
    results = TaskResults(LocalMembers(), LocalMembers(), LocalMembers(), LocalMembers())
    writer = PartWriter(task.folder, task.number)
    addresses = frozenset[bytes]() if selection is None else selection.addresses
    outputs = OutputWriter(task.folder, task.number, addresses) if addresses else None

    def noted(planned: dict[str, Any], reader: LineReader) -> Checked:
        checked = check(planned, reader)
        if outputs is not None and checked.kept is not None:
            outputs.add_spent(checked.kept.spent_elsewhere)
        return checked

    for batch in decode_rows(_with_known(task), noted, results, selection):
        writer.add(batch)
        if outputs is not None:
            outputs.add_created(batch)
    writer.close()
    return Decoded(writer.parts, writer.has_rejects, results, outputs.close() if outputs is not None else None)


def pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Returns its input. A task that runs it only imports this module."""
    yield from batches


def decode_batches(
    batches: Iterable[pa.RecordBatch], check: Check, results: TaskResults | None
) -> Iterator[pa.RecordBatch]:
    """Decodes the rows of a Spark task, with the arguments and the result of `decode_rows`."""
    collect_rarely()
    planned: Iterator[dict[str, Any]] = (row for batch in batches for row in batch.to_pylist())
    yield from decode_rows(planned, check, results)


def decode_rows(
    planned: Iterable[dict[str, Any]], check: Check, results: TaskResults | None, selection: Selection | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields DECODED_DDL for rows with `copies` and `known`: a row per message and a row per reject. `selection` as in
    `decode_to_files`.
    """
    reader = LineReader()
    rows = MessageRows()
    last: Link | None = None
    for each in planned:
        checked = check(each, reader)
        rows.add(checked)
        if results is not None:
            results.add(checked)
            last = results.follow(last, _link(checked))
        if rows.count >= BATCH_MESSAGES:
            yield _batch(rows, results, selection)
            rows = MessageRows()
    if rows.count:
        yield _batch(rows, results, selection)
    if results is not None:
        results.follow(last, None)
    reader.close()


def check_planned(
    planned: dict[str, Any],
    reader: LineReader,
    *,
    eras: Eras,
    coordinator: Coordinator | None,
    selection: Selection | None = None,
    spent: Set[bytes] = frozenset(),
    rejects: Mapping[int, tuple[Reject, ...]] | None = None,
) -> Checked:
    """Verifies the copies of one milestone. `selection`: what is kept of it, and what spends the outputs `spent`. None:
    all messages. `rejects`: by milestone, the messages that the lake does not have because they were rejected.
    """
    index = planned["milestone_index"]
    copies = [_copy(place, reader, index) for place in planned["copies"]]
    if planned["known"]:
        copies.append(known_copy(index, planned["known"], None if rejects is None else rejects.get(index)))
    checked = check_milestone(index, copies, eras, coordinator)
    if planned["known"]:
        _keep_reasons(checked, planned["known"])
    if selection is not None:
        place: dict[str, Any] = next(iter(planned["copies"]), {"file": "lake", "line": 0})
        return select(checked, selection, place["file"], place["line"], spent)
    return checked


def check_pending_line(planned: dict[str, Any], reader: LineReader, *, eras: Eras) -> Checked:
    """Verifies one pending line."""
    (place,) = planned["copies"]
    checked = check_pending(_copy(place, reader, None), eras)
    assert checked.milestone_index == UNKNOWN_MILESTONE
    return checked


def known_copy(index: int, known: list[dict[str, Any]], rejects: tuple[Reject, ...] | None = ()) -> Copy:
    """The lake's copy of a milestone. An incomplete one never counts as the complete milestone. `rejects`: of messages
    that it does not have, None if they were deleted. They count in Chrysalis only: in Stardust a root shows that no
    message is missing.
    """
    in_part = any(row["verified"] is None for row in known)
    is_stardust = known[0]["version"] == STARDUST.protocol_version
    return Copy("lake", 0, partial(_known_cone, index, known), in_part, () if is_stardust or not in_part else rejects)


KNOWN_COLUMNS = ("message_id", "version", "message", "inclusion_state", "conflict_reason", "verified")


def _with_known(task: DecodeTask) -> Iterator[dict[str, Any]]:
    """The lines of a task with the messages of the lake."""
    known = _known_rows(task.known) if task.known.milestones else {}
    for planned in task.planned.to_pylist():
        yield planned | {"known": known.pop(planned.get("milestone_index"), None)}


def _known_rows(known: Known) -> dict[int, list[dict[str, Any]]]:
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    columns = ["milestone_index", *KNOWN_COLUMNS, "milestone.payload"]
    for path in known.files:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=columns, use_threads=False):
                inside = pa.array(contains(known.milestones, each) for each in batch["milestone_index"].to_pylist())
                for row in batch.filter(inside).to_pylist():
                    # As the engine's query returns them: the payload of a milestone without a message.
                    row["milestone"] = row["milestone"]["payload"] if row["message_id"] is None else None
                    found[row.pop("milestone_index")].append(row)
    return found


def _batch(rows: MessageRows, results: TaskResults | None, selection: Selection | None) -> pa.RecordBatch:
    batch = rows.batch()
    if results is not None:
        results.expected.add(set(sums_by_milestone(batch, selection)))
    return batch


def _link(checked: Checked) -> Link | None:
    milestone = checked.milestone
    if checked.verified is None or not isinstance(milestone, Milestone):
        return None
    return milestone.index, stardust.milestone_id(milestone), milestone.previous_milestone_id


def _copy(place: dict[str, Any], reader: LineReader, index: int | None) -> Copy:
    def read() -> Cone:
        return read_cone(reader.read(place["file"], place["offset"], place["length"]), index)

    return Copy(place["file"], place["line"], read)


def _keep_reasons(checked: Checked, known: list[dict[str, Any]]) -> None:
    """Keeps the conflict reasons of an earlier source where this source has none."""
    reasons = {row["message_id"]: row["conflict_reason"] for row in known if row["conflict_reason"] is not None}
    checked.messages = [
        replace(entry, conflict_reason=reasons.get(entry.message_id)) if _has_no_reason(entry) else entry
        for entry in checked.messages
    ]


def _has_no_reason(entry: Entry) -> bool:
    return entry.conflict_reason is None and entry.inclusion_state not in (NO_TRANSACTION, INCLUDED)


def _known_cone(index: int, known: list[dict[str, Any]]) -> Cone:
    codec = STARDUST if known[0]["version"] == STARDUST.protocol_version else CHRYSALIS
    cone = Cone(index, codec=codec)
    for row in known:
        if row["message_id"] is None:
            payload = stardust.decode_payload(row["milestone"])
            assert isinstance(payload, Milestone)
            cone.milestone = payload
        else:
            message, state, reason = codec.decode(row["message"]), row["inclusion_state"], row["conflict_reason"]
            cone.entries.append(Entry(row["message_id"], message, row["message"], index, state, reason))
    return cone
