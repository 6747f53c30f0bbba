"""Reads message files of an archive: records with their ids."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from etl.static_client import (
    CHRYSALIS_MESSAGE,
    FRAME_HEAD,
    READS,
    STARDUST_MILESTONE,
    ArchiveError,
    Record,
    records_of,
    unpack_block,
)
from ledger.ids import message_id
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.values import Milestone

INDEXED_PAYLOADS = {CHRYSALIS_MESSAGE: (b"\0\0\0\0", b"\1\0\0\0")}
"""Payloads whose ids are keys: transactions and milestones of Chrysalis; of Stardust only transactions."""

STARDUST_TRANSACTION = (b"\6\0\0\0",)


class NamedRecord(NamedTuple):
    """A record and its keys: its id, and that of its payload. `message_id` is None for a Stardust milestone."""

    record: Record
    message_id: bytes | None
    keys: tuple[bytes, ...]


def named_records(path: Path) -> Iterator[tuple[int, NamedRecord]]:
    """Yields what `stored_records` yields, with keys."""
    for at, record in stored_records(path):
        yield at, _named(record)


def stored_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yields the records of a message file, each with the position of its block in the file. Raises ArchiveError."""
    at = 0
    with path.open("rb") as file:
        while head := file.read(FRAME_HEAD.size):
            if len(head) < FRAME_HEAD.size:
                raise ArchiveError(f"{path}: a block expected at byte {at}")
            _, rest, frame, _ = FRAME_HEAD.unpack(head)
            size = 8 + rest + frame
            if not FRAME_HEAD.size < size <= READS[-1]:
                raise ArchiveError(f"{path}: a block expected at byte {at}")
            block = head + file.read(size - len(head))
            for record in records_of(unpack_block(block, str(path))):
                yield at, record
            at += size


def _named(record: Record) -> NamedRecord:
    if record.kind == STARDUST_MILESTONE:
        try:
            payload = stardust.decode_payload(record.data)
        except CodecError:
            return NamedRecord(record, None, ())
        return NamedRecord(record, None, (stardust.milestone_id(payload),) if isinstance(payload, Milestone) else ())
    own = message_id(record.data)
    payload_bytes = record.payload
    wanted = INDEXED_PAYLOADS.get(record.kind, STARDUST_TRANSACTION)
    return NamedRecord(record, own, (own, message_id(payload_bytes)) if payload_bytes[:4] in wanted else (own,))
