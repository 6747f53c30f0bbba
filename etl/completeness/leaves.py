"""Leaves of trees of listing keys as Arrow tables: from sorted rows, and from the leaves of smaller intervals.

Hashing takes most of the time of a tree, and most of that is the call of SHA-256. So the rows of a key, which follow
each other in memory, are hashed where they are, and a key that only one child of an interval has keeps its leaf.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa
import pyarrow.compute as pc

from ledger.completeness.trees import GROUP, Child, children_root, encode_leaf
from ledger.crypto.log_tree import HASH_BYTES, packed_root

LEAVES = pa.schema({"place": pa.binary(), "leaf": pa.binary(), "hash": pa.binary(HASH_BYTES)})
"""Family and key; the encoded leaf; its hash. Ascending by place."""

_ONE = pa.scalar(1, pa.uint64())

_ROOT = -HASH_BYTES
_COUNT = _ROOT - 4


@dataclass(frozen=True)
class Shared:
    """A key that several children of an interval have: its number of rows, and the children."""

    place: bytes
    count: int
    children: Sequence[Child]


def leaves_of(rows: pa.Table) -> pa.Table:
    """LEAVES of an interval of level 0. `rows`: `place` and `row` of all its rows, in this order."""
    if not rows.num_rows:
        return LEAVES.empty_table()
    place, row = (whole(rows[name]) for name in ("place", "row"))
    starts = [0, *pc.add(pc.indices_nonzero(_changes(place)), _ONE).to_pylist()]
    places: list[bytes] = place.take(pa.array(starts)).to_pylist()
    offsets, view = _buffers(row)
    data = bytes(view)
    leaves, hashes = [], []
    for key, start, stop in zip(places, starts, [*starts[1:], len(place)], strict=True):
        if stop - start <= GROUP:
            root = sha256(b"\0" + data[offsets[start] : offsets[stop]]).digest()
        else:
            groups = (
                sha256(b"\0" + data[offsets[first] : offsets[min(stop, first + GROUP)]]).digest()
                for first in range(start, stop, GROUP)
            )
            root = packed_root(b"".join(groups))
        leaf = encode_leaf(key, stop - start, root)
        leaves.append(leaf)
        hashes.append(sha256(b"\0" + leaf).digest())
    return _table(places, leaves, hashes)


def merged(level: int, children: Sequence[tuple[int, Iterator[pa.Table]]], shared: list[Shared]) -> Iterator[pa.Table]:
    """Yields LEAVES of an interval above level 0, a table at a time.

    Args:
        level: the level of its children.
        children: number and LEAVES of each child, in order of the numbers.
        shared: gets the keys that several children have.
    """
    waiting: dict[int, pa.Table] = {}
    left = dict(children)
    while True:
        for number in [*left]:
            if number not in waiting:
                found = next((table for table in left[number] if table.num_rows), None)
                if found is None:
                    del left[number]
                else:
                    waiting[number] = found
        if not waiting:
            return
        # All leaves up to here are known: every child has leaves behind it, or none.
        bound = min(table["place"][-1].as_py() for table in waiting.values())
        parts = []
        for number in sorted(waiting):
            table = waiting[number]
            count = pc.sum(pc.less_equal(table["place"], bound)).as_py() or 0
            parts.append((number, table.slice(0, count)))
            if count == table.num_rows:
                del waiting[number]
            else:
                waiting[number] = table.slice(count)
        yield _merge(level, parts, shared)


def _merge(level: int, parts: Sequence[tuple[int, pa.Table]], shared: list[Shared]) -> pa.Table:
    table = pa.concat_tables([each for _, each in parts]).combine_chunks()
    # The sort is stable, so equal places keep the order of the children.
    order = pc.sort_indices(whole(table["place"]))
    table = table.take(order)
    place = whole(table["place"])
    if len(place) < 2:
        return table
    heads = [0, *pc.add(pc.indices_nonzero(_changes(place)), _ONE).to_pylist()]
    if len(heads) == len(place):
        return table
    numbers = [number for number, each in parts for _ in range(each.num_rows)]
    origins = [numbers[index] for index in order.to_pylist()]
    stops = [*heads[1:], len(place)]
    several = [(start, stop) for start, stop in zip(heads, stops, strict=True) if stop - start > 1]
    single = [start for start, stop in zip(heads, stops, strict=True) if stop - start == 1]
    column = whole(table["leaf"])
    places, leaves, hashes = [], [], []
    for start, stop in several:
        key = place[start].as_py()
        found = []
        for at in range(start, stop):
            leaf = column[at].as_py()
            found.append(Child(origins[at], int.from_bytes(leaf[_COUNT:_ROOT], "big"), leaf[_ROOT:]))
        count = sum(each.count for each in found)
        shared.append(Shared(key, count, found))
        leaf = encode_leaf(key, count, children_root(level, found))
        places.append(key)
        leaves.append(leaf)
        hashes.append(sha256(b"\0" + leaf).digest())
    kept = table.take(pa.array(single, pa.int64()))
    return pa.concat_tables([kept, _table(places, leaves, hashes)]).sort_by("place")


def with_between(leaves: pa.Table, others: pa.Table) -> pa.Table:
    """Two tables of LEAVES without a common place, as one. All `others` have one family."""
    if not others.num_rows:
        return leaves
    before = pc.sum(pc.less(leaves["place"], others["place"][0])).as_py() or 0
    return pa.concat_tables([leaves.slice(0, before), others, leaves.slice(before)]).combine_chunks()


def in_groups(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The rows of some tables in tables of that many rows; the last one may have fewer."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        at = 0
        while at < table.num_rows:
            part = table.slice(at, size - count)
            waiting.append(part)
            at += part.num_rows
            count += part.num_rows
            if count == size:
                yield pa.concat_tables(waiting).combine_chunks()
                waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def packed(column: pa.ChunkedArray) -> bytes:
    """The values of a binary column, one after another."""
    array = whole(column)
    if pa.types.is_fixed_size_binary(array.type):
        width = array.type.byte_width
        data = array.buffers()[1]
        return data[array.offset * width : (array.offset + len(array)) * width].to_pybytes() if len(array) else b""
    offsets, data = _buffers(array)
    return bytes(data[offsets[0] : offsets[len(array)]])


def _changes(place: pa.Array) -> pa.Array:
    return pc.not_equal(place[1:], place[:-1])


def _buffers(array: pa.Array) -> tuple[memoryview, memoryview]:
    """The offsets of a binary array, one more than its values, and the data that they refer to."""
    _, offsets, data = array.buffers()
    return memoryview(offsets).cast("i")[array.offset :], memoryview(data) if data is not None else memoryview(b"")


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The values of a column in one array."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def _table(places: Sequence[bytes], leaves: Sequence[bytes], hashes: Sequence[bytes]) -> pa.Table:
    hashed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(HASH_BYTES), len(hashes), [None, pa.py_buffer(b"".join(hashes))]
    )
    return pa.table([pa.array(places, pa.binary()), pa.array(leaves, pa.binary()), hashed], schema=LEAVES)
