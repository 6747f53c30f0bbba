"""Records of intervals and covers: what the log contains about the trees of listings.

interval: level u8 ‖ number u32 ‖ keys u64 ‖ root 32
cover:    FF ‖ number of its last interval of level 0 u32 ‖ intervals u64 ‖ root 32
"""

from dataclasses import dataclass
from struct import Struct

from ledger.completeness.intervals import Cover, Interval

COVER_TYPE = 0xFF
"""The first byte of a cover's record, which no level is."""

TREE = Struct(">BIQ32s")


@dataclass(frozen=True, slots=True)
class IntervalRecord:
    """The tree of all listing keys of an interval.

    Attributes:
        interval: its level and number.
        key_count: the number of leaves of the tree.
        root: 32 bytes.
    """

    interval: Interval
    key_count: int
    root: bytes

    def __bytes__(self) -> bytes:
        check_lengths(self.root)
        return TREE.pack(self.interval.level, self.interval.number, self.key_count, self.root)


@dataclass(frozen=True, slots=True)
class CoverRecord:
    """The tree of the records of a cover's intervals. A proof of this one record proves all of them.

    Attributes:
        cover: where it ends.
        interval_count: the number of leaves of the tree.
        root: 32 bytes; the RFC 6962 root over the records of the intervals in order.
    """

    cover: Cover
    interval_count: int
    root: bytes

    def __bytes__(self) -> bytes:
        check_lengths(self.root)
        return TREE.pack(COVER_TYPE, self.cover.number, self.interval_count, self.root)


def check_lengths(*hashes: bytes) -> None:
    """Raises ValueError for a hash that has not 32 bytes, which Struct would pad or truncate."""
    if any(len(each) != 32 for each in hashes):
        raise ValueError("expected ids and roots of 32 bytes")
