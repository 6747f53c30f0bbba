"""Documents of proofs, written directly from the definitions, with none of the project's code.

Everything is computed again for each document, without trees in memory.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any

Json = dict[str, Any]
Listing = tuple[int, bytes]
"""Number of the family, key."""


def mth(leaves: Sequence[bytes]) -> bytes:
    """The Merkle tree hash of RFC 6962 2.1."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    middle = 1
    while 2 * middle < len(leaves):
        middle *= 2
    return sha256(b"\x01" + mth(leaves[:middle]) + mth(leaves[middle:])).digest()


def base64_of(hashes: bytes) -> str:
    return base64.b64encode(hashes).decode()


def outside(leaves: Sequence[bytes], start: int, stop: int) -> str:
    """The largest subtrees without any of the leaves from `start` to before `stop`, as one base64 text."""
    return base64_of(subtrees(leaves, start, stop, 0))


def subtrees(leaves: Sequence[bytes], start: int, stop: int, offset: int) -> bytes:
    end = offset + len(leaves)
    if end <= start or stop <= offset:
        return mth(leaves)
    if start <= offset and end <= stop:
        return b""
    middle = 1
    while 2 * middle < len(leaves):
        middle *= 2
    return subtrees(leaves[:middle], start, stop, offset) + subtrees(leaves[middle:], start, stop, offset + middle)


class Ledger:
    """The rows of each listing, and an archive of all milestones from `first` to `frontier`."""

    def __init__(
        self, network: str, first: int, frontier: int, rows: Mapping[Listing, Sequence[bytes]], smallest: int = 100
    ) -> None:
        """`rows`: in any order. `smallest`: milestones of an interval of level 0."""
        self.smallest = smallest
        self.network, self.first, self.frontier = network, first, frontier
        self.of = {listing: sorted(each) for listing, each in rows.items()}
        self.tree = cache(self._tree)
        self.log = cache(self._log)

    def inside(self, listing: Listing, level: int, number: int) -> list[bytes]:
        """The rows of a listing in an interval."""
        size = self.smallest * 4**level
        return [row for row in self.of.get(listing, ()) if int.from_bytes(row[:4], "big") // size == number]

    def children(self, listing: Listing, level: int, number: int) -> list[int]:
        """The children of an interval that have rows of the listing."""
        return [each for each in range(4 * number, 4 * number + 4) if self.inside(listing, level - 1, each)]

    def root(self, listing: Listing, level: int, number: int) -> bytes:
        """The root of a listing's rows in an interval."""
        if level == 0:
            rows = self.inside(listing, 0, number)
            return mth([b"".join(rows[start : start + 16]) for start in range(0, len(rows), 16)])
        children = self.children(listing, level, number)
        if len(children) == 1:
            return self.root(listing, level - 1, children[0])
        text = b"\x02" + bytes([level - 1])
        for each in children:
            count = len(self.inside(listing, level - 1, each))
            text += each.to_bytes(4, "big") + count.to_bytes(4, "big") + self.root(listing, level - 1, each)
        return sha256(text).digest()

    def _tree(self, level: int, number: int) -> list[tuple[Listing, bytes]]:
        found = []
        for family, key in sorted(self.of):
            count = len(self.inside((family, key), level, number))
            if count:
                text = bytes([family]) + len(key).to_bytes(2, "big") + key + count.to_bytes(4, "big")
                found.append(((family, key), text + self.root((family, key), level, number)))
        return found

    def record(self, level: int, number: int) -> bytes:
        """The record of an interval."""
        leaves = [leaf for _, leaf in self.tree(level, number)]
        return bytes([level]) + number.to_bytes(4, "big") + len(leaves).to_bytes(8, "big") + mth(leaves)

    def has(self, level: int, number: int, end: int) -> bool:
        """Whether all milestones of an interval are in the archive up to `end`."""
        size = self.smallest * 4**level
        return max(1, size * number) >= self.first and size * (number + 1) - 1 <= end

    def cover(self, end: int) -> list[tuple[int, int]]:
        """The largest intervals up to `end`, in order: those whose parent is not complete."""
        found = [
            (self.smallest * 4**level * number, level, number)
            for level in range(6)
            for number in range(end // (self.smallest * 4**level) + 1)
            if self.has(level, number, end) and not self.has(level + 1, number // 4, end)
        ]
        return [(level, number) for _, level, number in sorted(found)]

    def _log(self) -> list[tuple[str, bytes]]:
        leaves = []
        for milestone in range(self.first, self.frontier + 1):
            leaves.append((f"milestone {milestone}", b"milestone %d" % milestone))
            closed = [
                (level, milestone // (self.smallest * 4**level))
                for level in range(8)
                if (milestone + 1) % (self.smallest * 4**level) == 0
                and self.has(level, milestone // (self.smallest * 4**level), milestone)
            ]
            leaves += [(f"interval {level} {number}", self.record(level, number)) for level, number in closed]
            if closed:
                records = [self.record(*each) for each in self.cover(milestone)]
                text = (
                    b"\xff"
                    + (milestone // self.smallest).to_bytes(4, "big")
                    + len(records).to_bytes(8, "big")
                    + mth(records)
                )
                leaves.append((f"cover {milestone}", text))
        return leaves

    def head(self) -> tuple[int, bytes]:
        """Size and root of the log."""
        leaves = [leaf for _, leaf in self.log()]
        return len(leaves), mth(leaves)

    def document(self, family: str, listing: Listing, end: int, index: int, count: int) -> str:
        """The document of a page."""
        leaves = [leaf for _, leaf in self.log()]
        place = [name for name, _ in self.log()].index(f"cover {end}")
        size, root = self.head()
        intervals = self.cover(end)
        rows = [row for each in intervals for row in self.inside(listing, *each)]
        found = []
        passed = 0
        for level, number in intervals:
            found.append(self.interval(listing, level, number, index - passed, index + count - passed))
            passed += len(self.inside(listing, level, number))
        value = {
            "version": 1,
            "network": self.network,
            "first": self.first,
            "family": family,
            "key": listing[1].hex(),
            "to": end,
            "total": len(rows),
            "index": index,
            "rows": [base64_of(row) for row in rows[index : index + count]],
            "intervals": found,
            "log_path": outside(leaves, place, place + 1),
            "checkpoint": f"permanode/{self.network}/{self.first}\n{size}\n{base64_of(root)}\n\n"
            "— permanode signature\n",
        }
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    def interval(self, listing: Listing, level: int, number: int, start: int, stop: int) -> Json:
        """What a document says about an interval; `start` and `stop` bound the page among its rows."""
        tree = self.tree(level, number)
        leaves = [leaf for _, leaf in tree]
        listings = [each for each, _ in tree]
        if listing in listings:
            place = listings.index(listing)
            inside = self.rows(listing, level, number, start, stop)
            present = {
                "index": place,
                "count": len(self.inside(listing, level, number)),
                **({} if inside is None else {"rows": inside}),
                "path": outside(leaves, place, place + 1),
            }
            return {"keys": len(leaves), "present": present}
        after = sum(each < listing for each in listings)
        first, last = max(0, after - 1), min(len(listings), after + 1)
        neighbours = [
            {
                "family": each[0],
                "key": each[1].hex(),
                "count": len(self.inside(each, level, number)),
                "root": base64_of(self.root(each, level, number)),
            }
            for each in listings[first:last]
        ]
        path = outside(leaves, first, last) if neighbours else ""
        return {"keys": len(leaves), "absent": {"index": first, "neighbours": neighbours, "path": path}}

    def rows(self, listing: Listing, level: int, number: int, start: int, stop: int) -> Json | str | None:
        """How a document proves the rows of an interval that are on the page."""
        rows = self.inside(listing, level, number)
        start, stop = max(0, start), min(len(rows), stop)
        if start >= stop:
            return base64_of(self.root(listing, level, number))
        if level == 0:
            groups = [b"".join(rows[each : each + 16]) for each in range(0, len(rows), 16)]
            first, last = start // 16, (stop + 15) // 16
            members = {
                "before": [base64_of(row) for row in rows[16 * first : start]],
                "after": [base64_of(row) for row in rows[stop : 16 * last]],
                "path": outside(groups, first, last),
            }
            return {name: each for name, each in members.items() if each} or None
        children = self.children(listing, level, number)
        if len(children) == 1:
            return self.rows(listing, level - 1, children[0], start, stop)
        parts = []
        passed = 0
        for each in children:
            count = len(self.inside(listing, level - 1, each))
            inside = self.rows(listing, level - 1, each, start - passed, stop - passed)
            parts.append([each, count] if inside is None else [each, count, inside])
            passed += count
        return {"level": level - 1, "parts": parts}
