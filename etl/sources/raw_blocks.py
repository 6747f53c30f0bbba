"""Raw Stardust blocks: the binary responses of core API v2 (`application/vnd.iota.serializer-v1`), without metadata.

A packed file is a sequence of records, each a u32 length (little-endian) and that many bytes: a milestone payload, then
the blocks of its cone in any order, then the next milestone payload. Blocks before the first payload are pending.

A folder contains the same in single files: *.milestone for a payload, *.block for a block. A block belongs to the first
milestone of the folder that reaches it.

The id of a block is the hash of its bytes; there is no other metadata.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from etl.sources.cone import NO_TRANSACTION, Cone, Entry, RejectedItem
from etl.sources.milestone_groups import by_milestone
from ledger.eras import STARDUST
from ledger.ids import message_id
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.codec import MAX_BLOCK_BYTES
from ledger.stardust.values import Block, Milestone, Transaction
from ledger.white_flag import white_flag_order

BLOCK_SUFFIX, MILESTONE_SUFFIX = ".block", ".milestone"

_LENGTH = struct.Struct("<I")
_PAYLOAD = struct.pack("<I", Milestone.KIND)
HEAD = _LENGTH.size + 1
"""Bytes that distinguish packed records from JSON."""


def is_packed(head: bytes) -> bool:
    """Whether the first HEAD bytes of a file begin a record. JSON never has such a byte at this position."""
    return len(head) == HEAD and head[-1] in (Milestone.KIND, stardust.PROTOCOL_VERSION)


def groups(stream: BinaryIO, most: int | None, skipped: Callable[[int, int], None]) -> Iterator[tuple[int, int, bytes]]:
    """Returns (record number from 1, offset, bytes) of the records of each milestone and of those before the first.

    `skipped` receives number and bytes of the records of a milestone with more than `most` bytes. Raises EOFError for a
    truncated file and ValueError for an invalid record.
    """
    records = ((record, 1, record.startswith(_PAYLOAD, _LENGTH.size)) for record in _records(stream))
    return by_milestone(records, most, skipped)


def _records(stream: BinaryIO) -> Iterator[bytes]:
    while head := stream.read(_LENGTH.size):
        if len(head) < _LENGTH.size:
            raise EOFError("the file is cut off inside the length of a record")
        (length,) = _LENGTH.unpack(head)
        if not 0 < length <= MAX_BLOCK_BYTES:
            raise ValueError(f"a record of 1 to {MAX_BLOCK_BYTES} bytes expected, found {length}")
        data = stream.read(length)
        if len(data) < length:
            raise EOFError(f"the file is cut off inside a record of {length} bytes")
        yield head + data


def read_group(data: bytes) -> Cone:
    """Reads the cone of one group. Raises CodecError for an invalid milestone payload."""
    cone = Cone(None, codec=STARDUST)
    offset = 0
    while offset < len(data):
        (length,) = _LENGTH.unpack_from(data, offset)
        record = data[offset + _LENGTH.size : offset + _LENGTH.size + length]
        if offset == 0 and record.startswith(_PAYLOAD):
            milestone = stardust.decode_payload(record)
            assert isinstance(milestone, Milestone)
            cone.milestone, cone.milestone_index = milestone, milestone.index
        else:
            _take(cone, record)
        offset += _LENGTH.size + length
    return cone


def _take(cone: Cone, data: bytes) -> None:
    block_id = message_id(data)
    try:
        block = stardust.decode_block(data)
    except CodecError as error:
        cone.rejected.append(RejectedItem(block_id.hex(), str(error)))
        return
    state = None
    if cone.milestone_index is not None and not isinstance(block.payload, Transaction):
        state = NO_TRANSACTION
    cone.entries.append(Entry(block_id, block, data, cone.milestone_index, state, None))


def pack_folder(folder: Path) -> bytes:
    """Packs the files of a folder. Files that cannot be decoded go to the pending blocks, where they are rejected."""
    blocks = {message_id(data): data for data in _contents(folder, BLOCK_SUFFIX)}
    parents = {identity: block.parents for identity, block in _decoded(blocks)}
    payloads = [(_milestone(data), data) for data in _contents(folder, MILESTONE_SUFFIX)]
    records: list[bytes] = []
    for milestone, data in sorted(payloads, key=lambda each: -1 if each[0] is None else each[0].index):
        records.append(data)
        if milestone is None:
            continue
        root = stardust.milestone_id(milestone)
        *cone, _ = white_flag_order(root, parents | {root: milestone.parents})
        for identity in cone:
            records.append(blocks.pop(identity))
            del parents[identity]
    return b"".join(_LENGTH.pack(len(data)) + data for data in [*blocks.values(), *records])


def unreadable_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yields the files of a folder that `pack_folder` omits, and the reasons."""
    for path in sorted(folder.iterdir()):
        if path.name.endswith((BLOCK_SUFFIX, MILESTONE_SUFFIX)):
            try:
                _content(path)
            except (OSError, ValueError) as error:
                yield path, str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"


def _contents(folder: Path, suffix: str) -> Iterator[bytes]:
    for path in sorted(folder.iterdir()):
        if path.name.endswith(suffix):
            with suppress(OSError, ValueError):
                yield _content(path)


def _content(path: Path) -> bytes:
    """The bytes of a file with one record. Raises OSError, and ValueError for too few or too many bytes."""
    if not path.is_file():
        raise ValueError("a regular file expected")
    with path.open("rb") as file:
        data = file.read(MAX_BLOCK_BYTES + 1)
    if not 0 < len(data) <= MAX_BLOCK_BYTES:
        found = f"{len(data)}" if len(data) <= MAX_BLOCK_BYTES else "more"
        raise ValueError(f"a block of 1 to {MAX_BLOCK_BYTES} bytes expected, found {found}")
    return data


def _decoded(blocks: dict[bytes, bytes]) -> Iterator[tuple[bytes, Block]]:
    for identity, data in blocks.items():
        try:
            yield identity, stardust.decode_block(data)
        except CodecError:
            continue


def _milestone(data: bytes) -> Milestone | None:
    try:
        payload = stardust.decode_payload(data)
    except CodecError:
        return None
    return payload if isinstance(payload, Milestone) else None
