"""Trees of which a reader has only what one key needs: tiles around its place, and its rows where a page is."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import ge

from ledger.completeness.families import U32_BYTES, milestone_of
from ledger.completeness.intervals import FACTOR, Interval, size_of
from ledger.completeness.records import IntervalRecord
from ledger.completeness.tiles import Tile, prove_leaves
from ledger.completeness.trees import Child, Leaf, children_root, groups_of
from ledger.crypto.log_tree import tree_root


@dataclass
class FetchedTrees:
    """The trees of a cover as far as they were read, with the leaves and rows of one place. Implements `Trees`.

    Attributes:
        place: of the key.
        records: those of the intervals of the cover.
        found: index of the first leaf not before the place, and the tiles around it, of the intervals of the cover.
        divisions: the results of `children`.
        rows_of: the key's rows in intervals of level 0.
        groups_of: the hashes of their groups.
    """

    place: bytes
    records: dict[Interval, IntervalRecord] = field(default_factory=dict)
    found: dict[Interval, tuple[int, list[Tile]]] = field(default_factory=dict)
    divisions: dict[Interval, list[tuple[Interval, Leaf]]] = field(default_factory=dict)
    rows_of: dict[Interval, Sequence[bytes]] = field(default_factory=dict)
    groups_of: dict[Interval, Sequence[bytes]] = field(default_factory=dict)

    def record(self, interval: Interval) -> IntervalRecord:
        """The record of an interval of the cover."""
        return self.records[interval]

    def find(self, interval: Interval, place: bytes) -> int:
        """The number of leaves of an interval of the cover before the place."""
        assert place == self.place
        return self.found[interval][0]

    def leaves(self, interval: Interval, start: int, stop: int) -> list[Leaf]:
        """The key's leaf and its neighbours in an interval of the cover."""
        tiles = self.found[interval][1]
        return [leaf for tile in tiles for leaf in tile.leaves(start, stop)]

    def path(self, interval: Interval, start: int, stop: int) -> list[bytes]:
        """The proof of these leaves."""
        return prove_leaves(self.records[interval].key_count, start, stop, self.found[interval][1])

    def children(self, interval: Interval, place: bytes) -> list[tuple[Interval, Leaf]]:
        """The key's leaves in the children of the largest interval, this one or inside it, several of whose children
        have rows of the key; or its leaf in the interval of level 0 that has all of them.
        """
        assert place == self.place
        return self.divisions[interval]

    def rows(self, interval: Interval, place: bytes) -> Sequence[bytes]:
        """The rows of the key in an interval of level 0 that the page touches."""
        assert place == self.place
        return self.rows_of[interval]

    def groups(self, interval: Interval, place: bytes) -> Sequence[bytes]:
        """The hashes of their groups."""
        assert place == self.place
        return self.groups_of[interval]

    @property
    def total(self) -> int:
        """The number of rows of the listing."""
        return sum(leaf.count for each in self.found if (leaf := self.leaf(each)) is not None)

    def leaf(self, interval: Interval) -> Leaf | None:
        """The key's leaf in an interval of the cover; None if it is absent."""
        index = self.found[interval][0]
        leaf = next(iter(self.leaves(interval, index, index + 1)), None)
        return leaf if leaf is not None and leaf.place == self.place else None

    def add_rows(self, interval: Interval, leaf: Leaf, rows: Sequence[bytes]) -> None:
        """Adds all rows of the key in an interval, and their divisions.

        Raises:
            ValueError: they are not in order or not of the interval, or have another root than the leaf.
        """
        is_inside = rows and interval.start <= milestone_of(rows[0]) and milestone_of(rows[-1]) <= interval.end
        if not is_inside or any(map(ge, rows, rows[1:])) or self._divide(interval, rows) != leaf:
            raise self._other_root(interval)

    def add_groups(self, interval: Interval, leaf: Leaf, rows: Sequence[bytes], groups: Sequence[bytes]) -> None:
        """Adds all rows of the key in an interval of level 0, and the hashes of their groups.

        Raises:
            ValueError: they have another root than the leaf.
        """
        self.rows_of[interval], self.groups_of[interval] = rows, groups
        if Leaf(self.place, len(rows), tree_root(groups)) != leaf:
            raise self._other_root(interval)

    def add_division(self, interval: Interval, leaf: Leaf, division: Sequence[tuple[Interval, Leaf]]) -> None:
        """Adds a result of `children`.

        Raises:
            ValueError: these have another root than the leaf.
        """
        self.divisions[interval] = [*division]
        if self._joined(division) != leaf:
            raise self._other_root(interval)

    def _divide(self, interval: Interval, rows: Sequence[bytes]) -> Leaf:
        """Adds rows, at least one, and returns the leaf of the key in the interval."""
        first, last = (milestone_of(each) // size_of(0) for each in (rows[0], rows[-1]))
        if first == last:
            own = Interval(0, first)
            groups = groups_of(rows)
            self.rows_of[own], self.groups_of[own] = rows, groups
            leaf = Leaf(self.place, len(rows), tree_root(groups))
            if interval.level:
                self.divisions[interval] = [(own, leaf)]
            return leaf
        level = 0
        while first // FACTOR != last // FACTOR:
            first, last, level = first // FACTOR, last // FACTOR, level + 1
        division, start = [], 0
        for number in range(first, last + 1):
            child = Interval(level, number)
            stop = bisect_left(rows, (child.end + 1).to_bytes(U32_BYTES, "big"), start)
            if start < stop:
                division.append((child, self._divide(child, rows[start:stop])))
            start = stop
        self.divisions[interval] = division
        return self._joined(division)

    def _joined(self, division: Sequence[tuple[Interval, Leaf]]) -> Leaf:
        if len(division) == 1:
            return division[0][1]
        children = [Child(each.number, leaf.count, leaf.root) for each, leaf in division]
        root = children_root(division[0][0].level, children)
        return Leaf(self.place, sum(each.count for each in children), root)

    def _other_root(self, interval: Interval) -> ValueError:
        return ValueError(f"the rows of {self.place.hex()} in {interval} have another root")
