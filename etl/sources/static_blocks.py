"""Message files of a static archive (docs/static-archive.md): blocks of records, each of one milestone.

A line is the consecutive blocks of one milestone, numbered by the first of its records. Ids are not in the file: they
are the hashes of the bytes.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import orjson

from etl.sources.cone import Cone, Entry, RejectedItem
from etl.sources.milestone_groups import by_milestone
from etl.static_client import (
    BLOCK_HEAD,
    BLOCK_MAGIC,
    CHRYSALIS_MESSAGE,
    FORMAT,
    MANIFEST,
    RECORD_HEAD,
    STARDUST_MILESTONE,
    ArchiveError,
    Record,
    records_of,
)
from ledger.eras import CHRYSALIS, STARDUST
from ledger.ids import message_id
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.values import Milestone

NAME = re.compile(r"\d+-\d+-(?P<sha256>[0-9a-f]{64})\.messages\.zst")

MOST_RECORDS, MOST_BYTES = 1 << 16, 1 << 20
"""Of one block. A message has at most 32 kB."""


def is_static_block(head: bytes) -> bool:
    """Whether bytes begin a block."""
    return head.startswith(BLOCK_MAGIC)


def milestone_of_block(line: bytes) -> int:
    """The milestone of a block."""
    index: int = BLOCK_HEAD.unpack_from(line)[1]
    return index


def static_groups(
    stream: BinaryIO, most: int | None, skipped: Callable[[int, int], None]
) -> Iterator[tuple[int, int, bytes]]:
    """Returns (record number from 1, offset, bytes) of the blocks of each milestone.

    `skipped` receives number and bytes of a milestone with more than `most` bytes. Raises EOFError for a truncated
    file, and ValueError for an invalid block.
    """
    return by_milestone(_parts(stream), most, skipped)


def _parts(stream: BinaryIO) -> Iterator[tuple[bytes, int, bool]]:
    """Each block, its number of records, and whether it begins another milestone."""
    milestone = -1
    for block, count in _blocks(stream):
        before, milestone = milestone, milestone_of_block(block)
        yield block, count, milestone != before


def _blocks(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    while head := stream.read(BLOCK_HEAD.size):
        if len(head) < BLOCK_HEAD.size:
            raise EOFError("the file is cut off inside the head of a block")
        magic, _, _, count = BLOCK_HEAD.unpack(head)
        if magic != BLOCK_MAGIC or not 0 < count <= MOST_RECORDS:
            raise ValueError("a block of a static archive expected")
        heads = stream.read(count * RECORD_HEAD.size)
        if len(heads) < count * RECORD_HEAD.size:
            raise EOFError("the file is cut off inside the head of a block")
        size = sum(record[-1] for record in RECORD_HEAD.iter_unpack(heads))
        if size > MOST_BYTES:
            raise ValueError(f"a block of at most {MOST_BYTES} bytes expected, found {size}")
        data = stream.read(size)
        if len(data) < size:
            raise EOFError(f"the file is cut off inside a block of {size} bytes")
        yield head + heads + data, count


def read_static_blocks(line: bytes) -> Cone:
    """Reads the cone of a milestone. Raises JsonError for invalid blocks."""
    cone, at = Cone(milestone_of_block(line)), 0
    while at < len(line):
        count = BLOCK_HEAD.unpack_from(line, at)[3]
        heads = RECORD_HEAD.iter_unpack(line[at + BLOCK_HEAD.size : at + BLOCK_HEAD.size + count * RECORD_HEAD.size])
        end = at + BLOCK_HEAD.size + count * RECORD_HEAD.size + sum(head[-1] for head in heads)
        try:
            records = [*records_of(line[at:end])]
        except ArchiveError as error:
            raise JsonError("block", str(error)) from error
        for record in records:
            _take(cone, record)
        at = end
    return cone


def _take(cone: Cone, record: Record) -> None:
    if record.kind != CHRYSALIS_MESSAGE:
        cone.codec = STARDUST
    try:
        if record.kind == STARDUST_MILESTONE:
            payload = stardust.decode_payload(record.data)
            if isinstance(payload, Milestone):
                cone.milestone = payload
            return
        message = (CHRYSALIS if record.kind == CHRYSALIS_MESSAGE else STARDUST).decode(record.data)
    except CodecError as error:
        cone.rejected.append(RejectedItem(message_id(record.data).hex(), str(error)))
        return
    index, state, reason = record.milestone_index, record.inclusion_state, record.conflict_reason
    cone.entries.append(Entry(message_id(record.data), message, record.data, index, state, reason))


def message_files(folder: Path) -> list[Path] | None:
    """The message files that the manifest of a static archive names. None if the folder has no such manifest."""
    try:
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        if manifest["format"] == FORMAT:
            return [folder / each["name"] for each in manifest["messages"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None
