"""Trees of which a reader has only what one key needs: tiles around its place, and its rows where a page is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ledger.completeness.families import milestone_of
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
        inner: the key's leaves in the intervals inside those of the cover.
        rows_of: its rows in intervals of level 0.
    """

    place: bytes
    records: dict[Interval, IntervalRecord] = field(default_factory=dict)
    found: dict[Interval, tuple[int, list[Tile]]] = field(default_factory=dict)
    inner: dict[Interval, Leaf] = field(default_factory=dict)
    rows_of: dict[Interval, list[bytes]] = field(default_factory=dict)

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
        """The key's leaves in the children of an interval."""
        assert place == self.place
        return [(child, self.inner[child]) for child in interval.children() if child in self.inner]

    def rows(self, interval: Interval, place: bytes) -> list[bytes]:
        """The rows of the key in an interval of level 0 that the page touches."""
        assert place == self.place
        return self.rows_of[interval]

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
        """Adds all rows of the key in an interval, and its leaves in all intervals inside it.

        Raises:
            ValueError: they have another root than the leaf.
        """
        leaves: dict[int, Leaf] = {}
        for number, each in groupby(rows, key=lambda row: milestone_of(row) // size_of(0)):
            of_number = [*each]
            self.rows_of[Interval(0, number)] = of_number
            leaves[number] = Leaf(leaf.place, len(of_number), tree_root(groups_of(of_number)))
        for level in range(interval.level):
            self.inner.update({Interval(level, number): each for number, each in leaves.items()})
            leaves = {
                number: _joined(leaf.place, level, [(each, leaves[each]) for each in inside])
                for number, inside in groupby(sorted(leaves), key=lambda each: each // FACTOR)
            }
        if leaves != {interval.number: leaf}:
            raise ValueError(f"the rows of {leaf.place.hex()} in {interval} have another root")


def _joined(place: bytes, level: int, leaves: Sequence[tuple[int, Leaf]]) -> Leaf:
    if len(leaves) == 1:
        return leaves[0][1]
    children = [Child(number, each.count, each.root) for number, each in leaves]
    return Leaf(place, sum(each.count for each in children), children_root(level, children))
