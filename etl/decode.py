"""The Python crossing of every message: lines of a milestone in, decoded and verified rows out, in Arrow batches.

Rules of this file: a task gets milestones in ascending order and yields rows in that order and within a milestone in
white-flag order; a batch holds whole milestones, about BATCH_MESSAGES rows, so memory does not grow with the archive.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession

from etl.message_rows import DECODED_DDL, MessageRows
from etl.plan import UNKNOWN_MILESTONE
from etl.sources import read_cone
from etl.sources.cone import Cone, Entry
from etl.sources.files import LineReader
from etl.verify import Checked, Copy, check_milestone, check_pending
from ledger.chrysalis import decode_message

BATCH_MESSAGES = 4_000

GC_THRESHOLD = (200_000, 100, 1_000)
"""Of Python's cyclic collector in a decoding task."""

KNOWN_TYPE = """
ARRAY<STRUCT<
  message_id: BINARY, message: BINARY, inclusion_state: TINYINT, conflict_reason: SMALLINT, verified: STRING>>
"""
"""Messages of a milestone that the lake has already: one more copy, read last."""


def decode_milestones(planned: DataFrame, network_id: int, rejected: Accumulator[set[int]] | None) -> DataFrame:
    """(milestone_index, copies, known) → DECODED_DDL: a row a message, a row a reject.

    `rejected` is told which milestones had a reject.
    """
    return planned.mapInArrow(partial(_decode, check=_check, network_id=network_id, rejected=rejected), DECODED_DDL)


def decode_pending(planned: DataFrame, network_id: int, rejected: Accumulator[set[int]] | None) -> DataFrame:
    """(copies) of pending lines → DECODED_DDL, their milestone_index UNKNOWN_MILESTONE."""
    decode = partial(_decode, check=_check_pending, network_id=network_id, rejected=rejected)
    return planned.mapInArrow(decode, DECODED_DDL)


def start_workers(spark: SparkSession) -> None:
    """Starts a Python worker a core and lets it import what decoding needs, while the driver is still planning."""
    cores = spark.sparkContext.defaultParallelism
    spark.range(cores, numPartitions=cores).mapInArrow(_pass_on, "id BIGINT").write.format("noop").mode("append").save()


def _pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _decode(
    batches: Iterator[pa.RecordBatch],
    check: Callable[[dict[str, Any], LineReader, int], Checked],
    network_id: int,
    rejected: Accumulator[set[int]] | None,
) -> Iterator[pa.RecordBatch]:
    # A parsed line is a tree without cycles; collecting it again and again costs half of the decoding time.
    gc.set_threshold(*GC_THRESHOLD)
    reader = LineReader()
    rows = MessageRows()
    for batch in batches:
        for planned in batch.to_pylist():
            checked = check(planned, reader, network_id)
            rows.add(checked)
            if checked.rejects and rejected is not None:
                rejected.add({checked.milestone_index})
            if rows.count >= BATCH_MESSAGES:
                yield rows.batch()
                rows = MessageRows()
    if rows.count:
        yield rows.batch()
    reader.close()


def _check(planned: dict[str, Any], reader: LineReader, network_id: int) -> Checked:
    index = planned["milestone_index"]
    copies = [_copy(place, reader) for place in planned["copies"]]
    if planned["known"]:
        in_part = any(row["verified"] is None for row in planned["known"])
        copies.append(Copy("lake", 0, partial(_known_cone, index, planned["known"]), partial=in_part))
    checked = check_milestone(index, copies, network_id)
    if planned["known"]:
        _keep_reasons(checked, planned["known"])
    return checked


def _check_pending(planned: dict[str, Any], reader: LineReader, network_id: int) -> Checked:
    (place,) = planned["copies"]
    checked = check_pending(_copy(place, reader), network_id)
    assert checked.milestone_index == UNKNOWN_MILESTONE
    return checked


def _copy(place: dict[str, Any], reader: LineReader) -> Copy:
    def read() -> Cone:
        return read_cone(reader.read(place["file"], place["offset"], place["length"]))

    return Copy(place["file"], place["line"], read)


def _keep_reasons(checked: Checked, known: list[dict[str, Any]]) -> None:
    """Conflict reasons that an earlier source told stay where this one is silent."""
    told = {row["message_id"]: row["conflict_reason"] for row in known}
    checked.messages = [
        (replace(entry, conflict_reason=told.get(entry.message_id)) if entry.conflict_reason is None else entry, data)
        for entry, data in checked.messages
    ]


def _known_cone(index: int, known: list[dict[str, Any]]) -> Cone:
    entries = [
        Entry(row["message_id"], decode_message(row["message"]), index, row["inclusion_state"], row["conflict_reason"])
        for row in known
    ]
    return Cone(index, entries=entries)
