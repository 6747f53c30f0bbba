"""Packs records into blocks: zstd frames that a client reads alone, and that together are one zstd file.

A block has records of one milestone, so the bytes of a milestone depend on nothing else, and the files of a longer
range are those of its parts one after another. A block with several records is at most BLOCK_BYTES long before
compression, so that a query reads little beside its answer.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import zstandard

from etl.static_client import (
    BLOCK_HEAD,
    BLOCK_MAGIC,
    FRAME_HEAD,
    NO_REASON,
    READS,
    RECORD_HEAD,
    SKIPPABLE,
    UNIT,
    UNKNOWN_STATE,
    ArchiveError,
    Record,
)

BLOCK_BYTES = 7_168
"""The most bytes of a block with several records, before compression."""

ZSTD_LEVEL = 6


class BlockWriter:
    """Compresses blocks. The same records give the same bytes with the same version of zstd."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True)

    def milestone(self, records: Sequence[Record]) -> Iterator[bytes]:
        """Yields the blocks of a milestone, whose records are in white-flag order."""
        start = size = 0
        for at, record in enumerate(records):
            if at > start and size + len(record.data) + RECORD_HEAD.size > BLOCK_BYTES:
                yield self._block(records[start:at])
                start, size = at, 0
            size += len(record.data) + RECORD_HEAD.size
        if start < len(records):
            yield self._block(records[start:])

    def _block(self, records: Sequence[Record]) -> bytes:
        first = records[0]
        heads = [
            RECORD_HEAD.pack(
                each.kind,
                UNKNOWN_STATE if each.inclusion_state is None else each.inclusion_state,
                NO_REASON if each.conflict_reason is None else each.conflict_reason,
                len(each.data),
            )
            for each in records
        ]
        head = BLOCK_HEAD.pack(BLOCK_MAGIC, first.milestone_index, first.position, len(records))
        frame = self._compressor.compress(b"".join((head, *heads, *(each.data for each in records))))
        padding = -(FRAME_HEAD.size + len(frame)) % UNIT
        block = FRAME_HEAD.pack(SKIPPABLE, FRAME_HEAD.size - 8 + padding, len(frame), len(records))
        block += bytes(padding) + frame
        if len(block) > READS[-1]:
            raise ValueError(f"milestone {first.milestone_index}: a message of at most 32 kB expected")
        return block


@dataclass(frozen=True)
class BlockTable:
    """The blocks of a file in order. Arrays of the same length.

    Attributes:
        units: the position in the file, in units of UNIT bytes.
        classes: the index in READS of the bytes to read.
        counts: the number of records.
    """

    units: npt.NDArray[np.uint64]
    classes: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.int64]


def block_table(file: BinaryIO, size: int) -> BlockTable:
    """Reads the heads of all blocks. Raises ArchiveError for a file that does not consist of blocks."""
    units, classes, counts, at = list[int](), list[int](), list[int](), 0
    while at < size:
        file.seek(at)
        try:
            magic, rest, frame, count = FRAME_HEAD.unpack(file.read(FRAME_HEAD.size))
        except struct.error:
            magic, rest, frame, count = b"", 0, 0, 0
        length = 8 + rest + frame
        if magic != SKIPPABLE or at % UNIT or length > READS[-1] or at + length > size:
            raise ArchiveError(f"a block expected at byte {at}")
        units.append(at // UNIT)
        classes.append(next(place for place, most in enumerate(READS) if length <= most))
        counts.append(count)
        at += length
    return BlockTable(np.array(units, np.uint64), np.array(classes, np.uint64), np.array(counts, np.int64))
