"""Records of the log: milestones, the trees of listings over intervals of milestones, and covers.

The first byte is the type: 00 to 07 the level of an interval, FE a milestone, FF a cover. So a record of one type
cannot be read as one of another. Numbers are big-endian. Each record has one encoding.

    interval:  level u8 ‖ number u32 ‖ keys u64 ‖ root 32
    milestone: FE ‖ index u32 ‖ milestone id 32 ‖ timestamp u64 ‖ count u32 ‖ messages root 32 ‖ changes root 32
    cover:     FF ‖ number of its last interval of level 0 u32 ‖ intervals u64 ‖ root 32
"""

from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias

from ledger.completeness.intervals import LEVELS, Interval
from ledger.transparency.errors import LogError
from ledger.transparency.positions import Cover

_MILESTONE_TYPE = 0xFE
_COVER_TYPE = 0xFF
_MILESTONE = Struct(">BI32sQI32s32s")
_TREE = Struct(">BIQ32s")


@dataclass(frozen=True)
class MilestoneRecord:
    """A complete milestone.

    Attributes:
        index: of the milestone.
        milestone_id: 32 bytes; for Chrysalis the id of the milestone's message.
        unix_time: its timestamp in seconds since 1970.
        message_count: the number of messages in its cone.
        messages_root: RFC 6962 root over the 32-byte ids of these messages in white-flag order.
        changes_root: RFC 6962 root over its changes of the ledger.
    """

    index: int
    milestone_id: bytes
    unix_time: int
    message_count: int
    messages_root: bytes
    changes_root: bytes

    def __bytes__(self) -> bytes:
        _check_lengths(self.milestone_id, self.messages_root, self.changes_root)
        return _MILESTONE.pack(
            _MILESTONE_TYPE,
            self.index,
            self.milestone_id,
            self.unix_time,
            self.message_count,
            self.messages_root,
            self.changes_root,
        )


@dataclass(frozen=True)
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
        _check_lengths(self.root)
        return _TREE.pack(self.interval.level, self.interval.number, self.key_count, self.root)


@dataclass(frozen=True)
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
        _check_lengths(self.root)
        return _TREE.pack(_COVER_TYPE, self.cover.number, self.interval_count, self.root)


Record: TypeAlias = MilestoneRecord | IntervalRecord | CoverRecord


def parse_record(data: bytes) -> Record:
    """Parses a record of the log.

    Raises:
        LogError: the type is unknown, or the length is not that of the type.
    """
    match data[:1], len(data):
        case b"\xfe", _MILESTONE.size:
            return MilestoneRecord(*_MILESTONE.unpack(data)[1:])
        case kind, _TREE.size:
            _, number, count, root = _TREE.unpack(data)
            if kind[0] < LEVELS:
                return IntervalRecord(Interval(kind[0], number), count, root)
            if kind[0] == _COVER_TYPE:
                return CoverRecord(Cover(number), count, root)
    raise LogError(f"expected a record of {_MILESTONE.size} bytes (type fe) or {_TREE.size} bytes (types 00 to 07, ff)")


def _check_lengths(*hashes: bytes) -> None:
    # Struct pads and truncates without an error.
    if any(len(each) != 32 for each in hashes):
        raise ValueError("expected ids and roots of 32 bytes")
