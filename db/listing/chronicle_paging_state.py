"""Decodes the paging state of Chronicle v1, which its clients may still send.

It is the hex of bincode 1.3 (little-endian, fixed widths): pagingState Option<bytes>, lastPartitionId Option<u16>,
lastMilestoneIndex Option<u32>, partitionIds Vec<(u32 milestone, u16 partition)>. It is never written; new cursors are
in `cursor`. Only the milestone has a meaning outside Chronicle's own cluster.
"""

import binascii
from struct import Struct

from ledger.reader import CodecError, Reader

_TAG = Struct("<B")
_U16 = Struct("<H")
_U32 = Struct("<I")
_U64 = Struct("<Q")
_PARTITION = Struct("<IH")


def find_milestone(state: str) -> int | None:
    """The milestone at which Chronicle would begin its next page, newest first; None if the text is not a paging state.

    It is lastMilestoneIndex, or else the milestone of the first remaining partition.
    """
    try:
        return _decode(Reader(binascii.unhexlify(state)))
    except ValueError:
        return None


def _decode(reader: Reader) -> int:
    if _is_some(reader, "pagingState"):
        reader.take(_number(reader, _U64, "length of pagingState"), "pagingState")
    if _is_some(reader, "lastPartitionId"):
        _number(reader, _U16, "lastPartitionId")
    last = _number(reader, _U32, "lastMilestoneIndex") if _is_some(reader, "lastMilestoneIndex") else None
    count = _number(reader, _U64, "count of partitionIds")
    if not count:
        reader.fail(reader.offset, "a partition that is left")
    first, _ = reader.unpack(_PARTITION, "partitionIds")
    reader.take((count - 1) * _PARTITION.size, "partitionIds")
    reader.finish()
    return int(first if last is None else last)


def _is_some(reader: Reader, name: str) -> bool:
    tag = _number(reader, _TAG, name)
    if tag > 1:
        raise CodecError(reader.offset - 1, f"{name}, 0 or 1, found {tag}")
    return tag == 1


def _number(reader: Reader, layout: Struct, name: str) -> int:
    value: int = reader.unpack(layout, name)[0]
    return value
