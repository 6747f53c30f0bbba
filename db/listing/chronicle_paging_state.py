"""The paging state of Chronicle v1, as its old clients still hand it back.

It is the hex of bincode 1.3 (little-endian, fixed widths): pagingState Option<bytes>, lastPartitionId Option<u16>,
lastMilestoneIndex Option<u32>, partitionIds Vec<(u32 milestone, u16 partition)>. Rules of this file: only read, our own
cursors are in cursor.py; of all this the milestone alone means anything outside Chronicle's own cluster.
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
    """The milestone that Chronicle would have begun its next page with, newest first; None: no state of Chronicle's.

    That is lastMilestoneIndex, and without one the milestone of the first partition left.
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
