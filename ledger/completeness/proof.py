"""The proof of a page of a listing, as values, and its creation from the trees of the intervals.

A proof has, for each interval of the cover, either the key's leaf or the two neighbours between which it would be. The
leaves' counts add up to the size of the listing. The rows of the page are proved inside the roots of their leaves. The
log has one record of the cover, from which the records of all intervals follow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, Union

from ledger.completeness.families import Family
from ledger.completeness.intervals import Interval, cover
from ledger.completeness.records import IntervalRecord
from ledger.completeness.trees import GROUP, Leaf, place_of
from ledger.crypto.log_tree import prove_range


@dataclass(frozen=True, slots=True)
class Listing:
    """What is proved: the rows of a key in an archive of `network` that begins with milestone `first`, up to `end`."""

    network: str
    first: int
    family: Family
    key: bytes
    end: int

    @property
    def origin(self) -> str:
        """The name of the archive's log."""
        return f"permanode/{self.network}/{self.first}"


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows of the page in an interval of level 0. The rows of the first group that precede the page, those of the last
    group that follow it, and the proof of these groups in the tree of groups.
    """

    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a key in a child of an interval: the child's number, the number of rows, and the rows."""

    number: int
    count: int
    rows: "Rows"


@dataclass(frozen=True, slots=True)
class Parts:
    """The rows of a key in a larger interval: all children that have the key, two or more, and their level."""

    level: int
    parts: tuple[Part, ...]


Rows: TypeAlias = Union[bytes, Groups, Parts]  # noqa: UP007  Part names it before it exists
"""The rows of a key in an interval: their root, if the page has none of them. Otherwise the root follows from these."""


@dataclass(frozen=True, slots=True)
class Present:
    """The key is the leaf `index` of the interval's tree and has `count` rows there."""

    index: int
    count: int
    path: tuple[bytes, ...]
    rows: Rows


@dataclass(frozen=True, slots=True)
class Absent:
    """The key would be between two adjacent leaves; before the first or after the last leaf there is one neighbour, in
    an empty tree none. `index` is that of the first neighbour.
    """

    index: int
    neighbours: tuple[Leaf, ...]
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class IntervalProof:
    """The number of keys in an interval's tree, and what the tree contains about the key. Its root follows."""

    keys: int
    found: Present | Absent


@dataclass(frozen=True, slots=True)
class ListingProof:
    """A page: `rows`, oldest first, of which the first has the place `index` among the `total` rows of the listing.

    `intervals` are those of `cover(listing.first, listing.end)`.
    `log_path` is the proof of the cover's record in the log with this `checkpoint` (a signed note).
    """

    listing: Listing
    total: int
    index: int
    rows: tuple[bytes, ...]
    intervals: tuple[IntervalProof, ...]
    log_path: tuple[bytes, ...]
    checkpoint: str


class Trees(Protocol):
    """The trees of an archive's intervals, from which proofs are created."""

    def record(self, interval: Interval) -> IntervalRecord:
        """The record of an interval."""
        ...

    def find(self, interval: Interval, place: bytes) -> int:
        """The number of leaves of the interval before this place."""
        ...

    def leaves(self, interval: Interval, start: int, stop: int) -> Sequence[Leaf]:
        """The leaves from `start` to before `stop`. `stop` can be greater than the number of leaves."""
        ...

    def path(self, interval: Interval, start: int, stop: int) -> Sequence[bytes]:
        """`prove_range` of these leaves."""
        ...

    def children(self, interval: Interval, place: bytes) -> Sequence[tuple[Interval, Leaf]]:
        """The children of an interval above level 0 that have a place, in order, and its leaves there.

        If one child has all rows, the result may be that of `children` for it, or the interval of level 0 that has
        them.
        """
        ...

    def rows(self, interval: Interval, place: bytes) -> Sequence[bytes]:
        """All rows of a place in an interval of level 0, in order."""
        ...

    def groups(self, interval: Interval, place: bytes) -> Sequence[bytes]:
        """The hashes of the groups of these rows."""
        ...


def prove_page(
    trees: Trees, listing: Listing, index: int, count: int, log_path: Sequence[bytes], checkpoint: str
) -> ListingProof:
    """Creates the proof of up to `count` rows of a listing, at least one, from the place `index` on.

    Args:
        trees: those of the intervals of `cover(listing.first, listing.end)`, with the key's leaves and rows in all
            intervals inside them.
        listing: what is proved.
        index: the place of the page's first row, oldest first, from 0.
        count: the number of rows.
        log_path: the proof of the cover's record at `log_place_of_cover(listing.first, listing.end)`.
        checkpoint: the signed note about the log in which `log_path` is a proof.

    Raises:
        ValueError: the listing has rows but none from `index` on, or no interval ends at `listing.end`.
    """
    place = place_of(listing.family, listing.key)
    found: list[IntervalProof] = []
    rows: list[bytes] = []
    total = 0
    for interval in cover(listing.first, listing.end):
        leaf_index, leaf = _find(trees, interval, place)
        if leaf is None:
            found.append(IntervalProof(trees.record(interval).key_count, _absent(trees, interval, leaf_index)))
            continue
        start, stop = index - total, index + count - total
        page, inside = _prove_rows(trees, interval, leaf, start, stop)
        path = tuple(trees.path(interval, leaf_index, leaf_index + 1))
        found.append(IntervalProof(trees.record(interval).key_count, Present(leaf_index, leaf.count, path, inside)))
        rows += page
        total += leaf.count
    if (total or index) and not rows:
        raise ValueError(f"expected a page of {total} rows, found {count} rows from place {index} on")
    return ListingProof(listing, total, index, tuple(rows), tuple(found), tuple(log_path), checkpoint)


def _find(trees: Trees, interval: Interval, place: bytes) -> tuple[int, Leaf | None]:
    index = trees.find(interval, place)
    leaf = next(iter(trees.leaves(interval, index, index + 1)), None)
    return index, leaf if leaf is not None and leaf.place == place else None


def _absent(trees: Trees, interval: Interval, following: int) -> Absent:
    start = max(0, following - 1)
    neighbours = tuple(trees.leaves(interval, start, following + 1))
    path = trees.path(interval, start, start + len(neighbours)) if neighbours else ()
    return Absent(start, neighbours, tuple(path))


def _prove_rows(trees: Trees, interval: Interval, leaf: Leaf, start: int, stop: int) -> tuple[Sequence[bytes], Rows]:
    """The rows from `start` to before `stop`, which may exceed the leaf's rows on both sides, and their proof."""
    start, stop = max(0, start), min(leaf.count, stop)
    if start >= stop:
        return (), leaf.root
    if interval.level == 0:
        return _prove_groups(trees.rows(interval, leaf.place), trees.groups(interval, leaf.place), start, stop)
    having = trees.children(interval, leaf.place)
    if len(having) == 1:
        return _prove_rows(trees, *having[0], start, stop)
    rows: list[bytes] = []
    parts = []
    passed = 0
    for child, inner in having:
        page, inside = _prove_rows(trees, child, inner, start - passed, stop - passed)
        parts.append(Part(child.number, inner.count, inside))
        rows += page
        passed += inner.count
    return rows, Parts(having[0][0].level, tuple(parts))


def _prove_groups(
    rows: Sequence[bytes], groups: Sequence[bytes], start: int, stop: int
) -> tuple[Sequence[bytes], Groups]:
    first, last = start // GROUP, -(-stop // GROUP)
    path = prove_range(groups, first, last)
    return rows[start:stop], Groups(tuple(rows[first * GROUP : start]), tuple(rows[stop : last * GROUP]), tuple(path))
