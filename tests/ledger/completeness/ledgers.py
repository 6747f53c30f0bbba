"""Small ledgers of keys and rows, archives of them, and proofs of their pages."""

from base64 import b64encode
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from ledger.completeness.check import LogHead
from ledger.completeness.document import render_document
from ledger.completeness.families import BY_NAME, FAMILIES, Family
from ledger.completeness.intervals import Interval, closing, cover, log_place_of_cover
from ledger.completeness.proof import Listing, ListingProof, prove_page
from ledger.completeness.records import IntervalRecord
from ledger.completeness.trees import (
    Leaf,
    Leaves,
    cover_record,
    groups_of,
    hash_rows,
    merge_leaves,
    place_of,
    record_of,
)
from ledger.crypto.log_tree import leaf_hash, prove_range, tree_root

Rows = Mapping[bytes, Sequence[bytes]]
"""Place → row ids in order."""

NETWORK = "permatest-1"


def random_key(rng: Random, family: Family) -> bytes:
    return rng.randbytes(rng.randint(family.key_least, family.key_most))


def random_rows(rng: Random, last: int, first: int = 1, keys: int = 12) -> dict[bytes, list[bytes]]:
    """Rows of random keys in milestones from `first` to `last`: keys with few and many rows, prefixes of each other."""
    found: dict[bytes, list[bytes]] = {}
    tags = [b"", b"a", b"ab", b"ab\0", b"abc", b"b"]
    for _ in range(keys):
        family = rng.choice(FAMILIES)
        key = rng.choice(tags) if family.key_least == 0 else random_key(rng, family)
        count = rng.choice((1, 1, 2, 5, 16, 17, 60))
        bounds = rng.choice(((first, last), (first, min(last, first + 50)), (max(first, last - 150), last)))
        rows = {rng.randint(*bounds).to_bytes(4, "big") + rng.randbytes(family.row_bytes - 4) for _ in range(count)}
        found[place_of(family, key)] = sorted({*found.get(place_of(family, key), ()), *rows})
    return found


@dataclass
class Archive:
    """An archive of a ledger from milestone `first` to `frontier`: its trees, and its log."""

    rows_of: Rows
    first: int
    frontier: int
    network: str = NETWORK
    built: dict[Interval, Leaves] = field(default_factory=dict)
    records: dict[Interval, IntervalRecord] = field(default_factory=dict)
    log_paths: dict[int, list[bytes]] = field(default_factory=dict)

    def tree(self, interval: Interval) -> Leaves:
        """Builds trees when they are needed, in any order."""
        if interval not in self.built:
            self.built[interval] = (
                hash_rows(self._rows_in(interval))
                if interval.level == 0
                else merge_leaves(interval.level - 1, [(each.number, self.tree(each)) for each in interval.children()])
            )
        return self.built[interval]

    def _rows_in(self, interval: Interval) -> Rows:
        found = {place: self.rows(interval, place) for place in self.rows_of}
        return {place: rows for place, rows in found.items() if rows}

    def record(self, interval: Interval) -> IntervalRecord:
        if interval not in self.records:
            self.records[interval] = record_of(interval, self.tree(interval))
        return self.records[interval]

    def find(self, interval: Interval, place: bytes) -> int:
        return bisect_left(self.tree(interval).places, place)

    def leaves(self, interval: Interval, start: int, stop: int) -> list[Leaf]:
        leaves = self.tree(interval)
        return [leaves[index] for index in range(start, min(stop, len(leaves)))]

    def path(self, interval: Interval, start: int, stop: int) -> list[bytes]:
        return prove_range(self.tree(interval).hashes, start, stop)

    def children(self, interval: Interval, place: bytes) -> list[tuple[Interval, Leaf]]:
        found = [(child, self.find(child, place)) for child in interval.children()]
        leaves = [(child, leaf) for child, index in found for leaf in self.leaves(child, index, index + 1)]
        return [(child, leaf) for child, leaf in leaves if leaf.place == place]

    def rows(self, interval: Interval, place: bytes) -> Sequence[bytes]:
        rows = self.rows_of[place]
        start, stop = (bisect_left(rows, each.to_bytes(4, "big")) for each in (interval.start, interval.end + 1))
        return rows[start:stop]

    def groups(self, interval: Interval, place: bytes) -> list[bytes]:
        return groups_of(self.rows(interval, place))

    @cached_property
    def log(self) -> list[bytes]:
        """The log's leaves. A milestone's record is here only its index."""
        leaves = []
        for milestone in range(self.first, self.frontier + 1):
            leaves.append(b"milestone %d" % milestone)
            closed = list(closing(self.first, milestone - 1, milestone))
            leaves += [bytes(self.record(each)) for each in closed]
            if closed:
                leaves.append(bytes(cover_record([self.record(each) for each in cover(self.first, milestone)])))
        return leaves

    @cached_property
    def log_hashes(self) -> list[bytes]:
        return [leaf_hash(leaf) for leaf in self.log]

    @cached_property
    def head(self) -> LogHead:
        return LogHead(len(self.log), tree_root(self.log_hashes))

    @property
    def checkpoint(self) -> str:
        root = b64encode(self.head.root).decode()
        return f"permanode/{self.network}/{self.first}\n{self.head.size}\n{root}\n\n— permanode signature\n"

    def prove(self, place: bytes, end: int, index: int, count: int) -> ListingProof:
        family = next(each for each in FAMILIES if each.number == place[0])
        listing = Listing(self.network, self.first, family, place[1:], end)
        if end not in self.log_paths:
            at = log_place_of_cover(self.first, end)
            self.log_paths[end] = prove_range(self.log_hashes, at, at + 1)
        return prove_page(self, listing, index, count, self.log_paths[end], self.checkpoint)

    def document(self, place: bytes, end: int, index: int = 0, count: int = 100) -> bytes:
        return render_document(self.prove(place, end, index, count)).encode()


TAGS = BY_NAME["messages_by_tag"]
