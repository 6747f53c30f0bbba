"""Trees of an archive of any size, computed when they are read: sizes of proofs need no real hashes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from ledger.completeness.families import Family, milestone_of
from ledger.completeness.intervals import Interval, size_of
from ledger.completeness.records import IntervalRecord
from ledger.completeness.trees import Leaf, groups_of, place_of
from ledger.crypto.log_tree import beside_range


@dataclass
class SyntheticTrees:
    """Trees with `keys_per_milestone` keys for each milestone. `rows_of_key`: of the key of the proof."""

    family: Family
    key: bytes
    rows_of_key: Sequence[bytes]
    keys_per_milestone: int
    rng: Random = field(default_factory=lambda: Random(28))

    def record(self, interval: Interval) -> IntervalRecord:
        return IntervalRecord(interval, self._keys(interval), self.rng.randbytes(32))

    def _keys(self, interval: Interval) -> int:
        return self.keys_per_milestone * size_of(interval.level)

    def find(self, interval: Interval, place: bytes) -> int:
        return Random(f"{interval} {self.key.hex()}").randrange(1, self._keys(interval))

    def leaves(self, interval: Interval, start: int, stop: int) -> list[Leaf]:
        rows, own = self.rows(interval, b""), self.find(interval, b"")
        return [
            Leaf(place_of(self.family, self.key), len(rows), self.rng.randbytes(32))
            if rows and index == own
            else Leaf(place_of(self.family, self.rng.randbytes(self.family.key_most)), 1, self.rng.randbytes(32))
            for index in range(start, stop)
        ]

    def path(self, interval: Interval, start: int, stop: int) -> list[bytes]:
        return [self.rng.randbytes(32) for _ in beside_range(self._keys(interval), start, stop)]

    def children(self, interval: Interval, place: bytes) -> list[tuple[Interval, Leaf]]:
        found = [(child, self.find(child, place)) for child in interval.children()]
        leaves = [(child, leaf) for child, index in found for leaf in self.leaves(child, index, index + 1)]
        return [(child, leaf) for child, leaf in leaves if leaf.place == place]

    def rows(self, interval: Interval, place: bytes) -> list[bytes]:
        return [row for row in self.rows_of_key if interval.start <= milestone_of(row) <= interval.end]

    def groups(self, interval: Interval, place: bytes) -> list[bytes]:
        return groups_of(self.rows(interval, place))
