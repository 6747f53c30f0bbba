"""Python worker for all messages: takes the lines of milestones, yields decoded and verified rows in Arrow batches.

A task gets milestones in ascending order, and yields rows in that order and in white-flag order within a milestone. A
batch contains whole milestones with about BATCH_MESSAGES rows, so memory does not grow with the archive.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.engine.current import on_sail
from etl.engine.garbage import collect_rarely
from etl.engine.queries import TaskSet, parallelism
from etl.engine.session import Session
from etl.expectations.expected import sums_by_milestone
from etl.lake.checked import Checked
from etl.lake.message_rows import DECODED_DDL, MessageRows
from etl.sources import read_cone
from etl.sources.cone import INCLUDED, NO_TRANSACTION, Cone, Entry
from etl.sources.files import LineReader
from etl.sources.plan import UNKNOWN_MILESTONE
from etl.verification.cone_verification import Copy, check_milestone, check_pending
from ledger.eras import CHRYSALIS, STARDUST, Coordinator, Eras
from ledger.levels import BELIEVED
from ledger.stardust import codec as stardust
from ledger.stardust.values import Milestone

BATCH_MESSAGES = 4_000

KNOWN_TYPE = """
ARRAY<STRUCT<
  message_id: BINARY, version: TINYINT, message: BINARY, inclusion_state: TINYINT, conflict_reason: SMALLINT,
  verified: STRING, milestone: BINARY>>
"""
"""Messages of a milestone that are already in the lake: one more copy, read last. `milestone` is the payload of a
Stardust milestone, in a row without message_id.
"""


Link: TypeAlias = tuple[int, bytes, bytes]
"""A complete Stardust milestone: its index, its id, and the id of the previous milestone that it names."""


@dataclass(frozen=True, slots=True)
class TaskResults:
    """Results of tasks for the driver: the milestones with rejects, those whose inclusion states are not proved, and
    the links at both ends of each task's sequence of milestones that name each other, and what must be written
    (members of etl.expectations.expected.Expected).
    """

    rejected: TaskSet
    believed: TaskSet
    links: TaskSet
    expected: TaskSet

    def add(self, checked: Checked) -> None:
        """Adds results. Repeating a task does not change them."""
        if checked.rejects:
            self.rejected.add({checked.milestone_index})
        if checked.verified == BELIEVED:
            self.believed.add({checked.milestone_index})

    def follow(self, last: Link | None, link: Link | None) -> Link | None:
        """Adds the next link of a task, or None if there is none. Both ends are kept unless the link names the previous
        one.
        """
        fits = last is not None and link is not None and (link[0] - 1, link[2]) == last[:2]
        if not fits and (ends := {each for each in (last, link) if each is not None}):
            self.links.add(ends)
        return link


def decode_milestones(
    planned: DataFrame, eras: Eras, coordinator: Coordinator | None, results: TaskResults | None
) -> DataFrame:
    """(milestone_index, copies, known) → DECODED_DDL: a row per message and a row per reject."""
    check = partial(_check, eras=eras, coordinator=coordinator)
    return planned.mapInArrow(partial(_decode, check=check, results=results), DECODED_DDL)


def decode_pending(planned: DataFrame, eras: Eras, results: TaskResults | None) -> DataFrame:
    """(copies) of pending lines → DECODED_DDL with milestone_index UNKNOWN_MILESTONE."""
    return planned.mapInArrow(partial(_decode, check=partial(_check_pending, eras=eras), results=results), DECODED_DDL)


def start_workers(spark: Session) -> None:
    """Starts a Python worker per core and imports the modules for decoding while the driver is still planning."""
    if on_sail():
        # Functions run in this process, whose modules are imported.
        return
    cores = parallelism(spark)
    spark.range(cores, numPartitions=cores).mapInArrow(_pass_on, "id BIGINT").write.format("noop").mode("append").save()


def _pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _decode(
    batches: Iterator[pa.RecordBatch],
    check: Callable[[dict[str, Any], LineReader], Checked],
    results: TaskResults | None,
) -> Iterator[pa.RecordBatch]:
    collect_rarely()
    reader = LineReader()
    rows = MessageRows()
    last: Link | None = None
    for batch in batches:
        for planned in batch.to_pylist():
            checked = check(planned, reader)
            rows.add(checked)
            if results is not None:
                results.add(checked)
                last = results.follow(last, _link(checked))
            if rows.count >= BATCH_MESSAGES:
                yield _batch(rows, results)
                rows = MessageRows()
    if rows.count:
        yield _batch(rows, results)
    if results is not None:
        results.follow(last, None)
    reader.close()


def _batch(rows: MessageRows, results: TaskResults | None) -> pa.RecordBatch:
    batch = rows.batch()
    if results is not None:
        results.expected.add(set(sums_by_milestone(batch)))
    return batch


def _link(checked: Checked) -> Link | None:
    milestone = checked.milestone
    if checked.verified is None or not isinstance(milestone, Milestone):
        return None
    return milestone.index, stardust.milestone_id(milestone), milestone.previous_milestone_id


def _check(planned: dict[str, Any], reader: LineReader, *, eras: Eras, coordinator: Coordinator | None) -> Checked:
    index = planned["milestone_index"]
    copies = [_copy(place, reader, index) for place in planned["copies"]]
    if planned["known"]:
        copies.append(known_copy(index, planned["known"]))
    checked = check_milestone(index, copies, eras, coordinator)
    if planned["known"]:
        _keep_reasons(checked, planned["known"])
    return checked


def _check_pending(planned: dict[str, Any], reader: LineReader, *, eras: Eras) -> Checked:
    (place,) = planned["copies"]
    checked = check_pending(_copy(place, reader, None), eras)
    assert checked.milestone_index == UNKNOWN_MILESTONE
    return checked


def _copy(place: dict[str, Any], reader: LineReader, index: int | None) -> Copy:
    def read() -> Cone:
        return read_cone(reader.read(place["file"], place["offset"], place["length"]), index)

    return Copy(place["file"], place["line"], read)


def _keep_reasons(checked: Checked, known: list[dict[str, Any]]) -> None:
    """Keeps the conflict reasons of an earlier source where this source has none."""
    reasons = {row["message_id"]: row["conflict_reason"] for row in known if row["conflict_reason"] is not None}
    checked.messages = [
        (replace(entry, conflict_reason=reasons.get(entry.message_id)) if _has_no_reason(entry) else entry, data)
        for entry, data in checked.messages
    ]


def _has_no_reason(entry: Entry) -> bool:
    return entry.conflict_reason is None and entry.inclusion_state not in (NO_TRANSACTION, INCLUDED)


def known_rows(messages: DataFrame) -> DataFrame:
    """The lake's messages by milestone: milestone_index, known (KNOWN_TYPE)."""
    payload = F.when(F.col("message_id").isNull(), F.col("milestone.payload")).alias("milestone")
    kept = ("message_id", "version", "message", "inclusion_state", "conflict_reason", "verified")
    return messages.groupBy("milestone_index").agg(F.collect_list(F.struct(*kept, payload)).alias("known"))


def known_copy(index: int, known: list[dict[str, Any]]) -> Copy:
    """The lake's copy of a milestone. An incomplete one never counts as the complete milestone."""
    in_part = any(row["verified"] is None for row in known)
    return Copy("lake", 0, partial(_known_cone, index, known), partial=in_part)


def _known_cone(index: int, known: list[dict[str, Any]]) -> Cone:
    codec = STARDUST if known[0]["version"] == STARDUST.protocol_version else CHRYSALIS
    cone = Cone(index, codec=codec)
    for row in known:
        if row["message_id"] is None:
            payload = stardust.decode_payload(row["milestone"])
            assert isinstance(payload, Milestone)
            cone.milestone = payload
        else:
            message = codec.decode(row["message"])
            cone.entries.append(
                Entry(row["message_id"], message, index, row["inclusion_state"], row["conflict_reason"])
            )
    return cone
