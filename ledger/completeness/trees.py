"""Hashes of the listings of an interval: groups of row ids, children, leaves of keys, trees, records of the log.

Hashes are SHA-256; leaves (00 ‖ …), nodes (01 ‖ …) and trees are those of RFC 6962. Integers are big-endian.

1. The rows of a key in an interval of level 0, in order, are groups of 16; the last one may have fewer. `root` is the
   root of the tree whose leaves are the groups: row ids without separators.
2. The rows of a key in a larger interval: if one child has the key, its `root` unchanged; if more have it, the hash of
   02 ‖ level of the children u8 ‖ (number of the child u32 ‖ count u32 ‖ root) of each that has it, in order.
3. The tree of an interval has a leaf for each key, in byte order of (family, key):
   family u8 ‖ length of the key u16 ‖ key ‖ count of rows u32 ‖ root. A key that one child has needs no new hash.
4. The record of an interval has the root of its tree; the record of a cover that of the tree of their records
   (records.py).

Prefixes, counts and sizes make the encoding unambiguous: the number of groups follows from the count in the leaf, the
number of keys and the level are in the record.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import compress
from operator import eq

from ledger.completeness.families import BY_NUMBER, Family
from ledger.completeness.intervals import SMALLEST, Cover, Interval
from ledger.completeness.records import CoverRecord, IntervalRecord
from ledger.crypto.log_tree import leaf_hash, tree_root

GROUP = 16
"""Rows in a group."""

COUNT_MOST, KEYS_MOST = (1 << 32) - 1, (1 << 48) - 1


@dataclass(frozen=True, slots=True)
class Leaf:
    """The rows of a key in an interval. `place` is the family's number (one byte) and the key: leaves are ordered by
    it.
    """

    place: bytes
    count: int
    root: bytes

    def encode(self) -> bytes:
        """The bytes that the tree of keys hashes."""
        return encode_leaf(self.place, self.count, self.root)


def encode_leaf(place: bytes, count: int, root: bytes) -> bytes:
    """The bytes of a leaf with these values."""
    return place[:1] + (len(place) - 1).to_bytes(2, "big") + place[1:] + count.to_bytes(4, "big") + root


@dataclass(frozen=True, slots=True)
class Child:
    """A child of an interval that has a key."""

    number: int
    count: int
    root: bytes


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves of an interval's tree, in order, and their hashes: four lists of the same length."""

    places: list[bytes]
    counts: list[int]
    roots: list[bytes]
    hashes: list[bytes]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Leaf:
        return Leaf(self.places[index], self.counts[index], self.roots[index])


def place_of(family: Family, key: bytes) -> bytes:
    """The place of a key among the leaves."""
    return bytes([family.number]) + key


def groups_of(rows: Sequence[bytes]) -> list[bytes]:
    """The hashes of the groups of these rows."""
    return [leaf_hash(b"".join(rows[start : start + GROUP])) for start in range(0, len(rows), GROUP)]


def children_root(level: int, children: Iterable[Child]) -> bytes:
    """The root of a key's rows in an interval, two or more of whose children have the key.

    Args:
        level: the level of the children.
        children: those that have the key, in order.
    """
    entries = [each.number.to_bytes(4, "big") + each.count.to_bytes(4, "big") + each.root for each in children]
    return sha256(b"\2%c%b" % (level, b"".join(entries))).digest()


def hash_rows(rows: Mapping[bytes, Sequence[bytes]]) -> Leaves:
    """The leaves of an interval of level 0.

    Args:
        rows: the row ids of each place, at least one, in byte order.
    """
    places = sorted(rows)
    counts = [len(rows[place]) for place in places]
    roots = [
        # A tree of one leaf is its hash.
        leaf_hash(b"".join(rows[place])) if count <= GROUP else tree_root(groups_of(rows[place]))
        for place, count in zip(places, counts, strict=True)
    ]
    return Leaves(places, counts, roots, [leaf_hash(each) for each in map(encode_leaf, places, counts, roots)])


def merge_leaves(level: int, children: Sequence[tuple[int, Leaves]]) -> Leaves:
    """The leaves of an interval above level 0.

    Args:
        level: the level of its children.
        children: number and leaves of each child, in order of the numbers.
    """
    numbers = [number for number, each in children for _ in each.places]
    places = [place for _, each in children for place in each.places]
    counts = [count for _, each in children for count in each.counts]
    roots = [root for _, each in children for root in each.roots]
    hashes = [hashed for _, each in children for hashed in each.hashes]
    # The sort finds the sorted lists and merges them. Equal places keep the order of the children.
    order = sorted(range(len(places)), key=places.__getitem__)
    ordered = [places[index] for index in order]
    found = Leaves(
        ordered,
        [counts[index] for index in order],
        [roots[index] for index in order],
        [hashes[index] for index in order],
    )
    repeated = [False, *map(eq, ordered, ordered[1:])]
    stop = len(ordered)
    for at in range(len(ordered) - 1, -1, -1):
        if repeated[at]:
            continue
        if stop - at > 1:
            parts = [Child(numbers[each], counts[each], roots[each]) for each in order[at:stop]]
            leaf = Leaf(ordered[at], sum(each.count for each in parts), children_root(level, parts))
            found.counts[at], found.roots[at], found.hashes[at] = leaf.count, leaf.root, leaf_hash(leaf.encode())
        stop = at
    if not any(repeated):
        return found
    kept = [not each for each in repeated]
    return Leaves(
        [*compress(found.places, kept)],
        [*compress(found.counts, kept)],
        [*compress(found.roots, kept)],
        [*compress(found.hashes, kept)],
    )


def record_of(interval: Interval, leaves: Leaves) -> IntervalRecord:
    """The record of an interval with these leaves."""
    return IntervalRecord(interval, len(leaves), tree_root(leaves.hashes))


def cover_record(records: Sequence[IntervalRecord]) -> CoverRecord:
    """The record of a cover, from the records of its intervals in order. At least one."""
    last = records[-1].interval.end // SMALLEST
    return CoverRecord(Cover(last), len(records), tree_root([leaf_hash(bytes(each)) for each in records]))


def family_of(place: bytes) -> Family | None:
    """The family of a place; None for an unknown family, or a key that it cannot have."""
    family = BY_NUMBER.get(place[0])
    return family if family is not None and family.has_key(place[1:]) else None
