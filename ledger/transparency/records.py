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

from ledger.completeness.intervals import LEVELS, Cover, Interval
from ledger.completeness.records import COVER_TYPE, TREE, check_lengths
from ledger.completeness.records import CoverRecord as CoverRecord
from ledger.completeness.records import IntervalRecord as IntervalRecord
from ledger.transparency.errors import LogError

_MILESTONE_TYPE = 0xFE
_MILESTONE = Struct(">BI32sQI32s32s")


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
        check_lengths(self.milestone_id, self.messages_root, self.changes_root)
        return _MILESTONE.pack(
            _MILESTONE_TYPE,
            self.index,
            self.milestone_id,
            self.unix_time,
            self.message_count,
            self.messages_root,
            self.changes_root,
        )


Record: TypeAlias = MilestoneRecord | IntervalRecord | CoverRecord


def parse_record(data: bytes) -> Record:
    """Parses a record of the log.

    Raises:
        LogError: the type is unknown, or the length is not that of the type.
    """
    match data[:1], len(data):
        case b"\xfe", _MILESTONE.size:
            return MilestoneRecord(*_MILESTONE.unpack(data)[1:])
        case kind, TREE.size:
            _, number, count, root = TREE.unpack(data)
            if kind[0] < LEVELS:
                return IntervalRecord(Interval(kind[0], number), count, root)
            if kind[0] == COVER_TYPE:
                return CoverRecord(Cover(number), count, root)
    raise LogError(f"expected a record of {_MILESTONE.size} bytes (type fe) or {TREE.size} bytes (types 00 to 07, ff)")
