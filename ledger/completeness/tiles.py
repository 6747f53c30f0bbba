"""Tiles: 32 adjacent leaves of an interval's tree, with the audit path from them to the root.

A tile is a subtree, because 32 is a power of two. So one tile is enough to prove one leaf, and two adjacent tiles are
enough to prove that two adjacent leaves are neighbours.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ledger.completeness.families import U16_BYTES, U32_BYTES
from ledger.completeness.trees import Leaf
from ledger.crypto.log_tree import HASH_BYTES, leaf_hash, levels_of

WIDTH = 32
"""Leaves per tile. The last one may have fewer. Of tiles with 64, a row would not fit on a page of SQLite, and a proof
would hash twice as many.
"""

HEIGHT = 5
"""Levels of nodes below the root of a whole tile: WIDTH is two to this power."""

VALUE_BYTES = U32_BYTES + HASH_BYTES
"""Count and root, at the end of an encoded leaf."""


@dataclass(frozen=True)
class Tile:
    """Leaves `number` · 32 and the following ones.

    Attributes:
        number: of the tile in its tree.
        encoded: 1 to 32 encoded leaves, in order.
        places: those of the leaves.
        path: the audit path of the tile, from the leaves to the root (RFC 9162 2.1.3).
    """

    number: int
    encoded: Sequence[bytes]
    places: Sequence[bytes]
    path: Sequence[bytes]

    @property
    def start(self) -> int:
        """The index of its first leaf."""
        return self.number * WIDTH

    @property
    def stop(self) -> int:
        """The index after its last leaf."""
        return self.start + len(self.encoded)

    def find(self, place: bytes) -> int:
        """The index of the first leaf of the tile that is not before the place, if it is in this tile; else that after
        the tile.
        """
        return self.start + bisect_left(self.places, place)

    def leaves(self, start: int, stop: int) -> list[Leaf]:
        """The leaves of the tile from index `start` to before `stop`, which may exceed it on both sides."""
        inside = range(max(start, self.start) - self.start, min(stop, self.stop) - self.start)
        return [Leaf(self.places[at], *_values(self.encoded[at])) for at in inside]

    @cached_property
    def hashes(self) -> list[bytes]:
        """The hashes of the leaves."""
        return [leaf_hash(each) for each in self.encoded]

    @cached_property
    def nodes(self) -> list[list[bytes]]:
        """The hashes of the leaves, and of the nodes above them up to the tile's root."""
        return levels_of(self.hashes)


def decode_tile(number: int, leaves: bytes, path: bytes) -> Tile:
    """The tile of these encoded leaves, one after another, and of this path."""
    encoded, places = [], []
    at = 0
    while at < len(leaves):
        key = at + 1 + U16_BYTES
        key_end = key + (leaves[at + 1] << 8 | leaves[at + 2])
        end = key_end + VALUE_BYTES
        encoded.append(leaves[at:end])
        places.append(leaves[at : at + 1] + leaves[key:key_end])
        at = end
    hashes = [path[start : start + HASH_BYTES] for start in range(0, len(path), HASH_BYTES)]
    return Tile(number, encoded, places, hashes)


def _values(leaf: bytes) -> tuple[int, bytes]:
    """The count and the root of an encoded leaf."""
    return int.from_bytes(leaf[-VALUE_BYTES:-HASH_BYTES], "big"), leaf[-HASH_BYTES:]


def paths_of(roots: Sequence[bytes]) -> Iterator[bytes]:
    """Yields the encoded path of each tile. `roots`: those of all tiles of a tree."""
    levels = levels_of(roots)
    for number in range(len(roots)):
        path = []
        at = number
        for level in levels[:-1]:
            # The last node of a level with an odd number of nodes has no sibling.
            if at ^ 1 < len(level):
                path.append(level[at ^ 1])
            at >>= 1
        yield b"".join(path)


def prove_leaves(size: int, start: int, stop: int, tiles: Sequence[Tile]) -> list[bytes]:
    """`prove_range` of one leaf or two adjacent ones, from the tiles that contain them.

    Args:
        size: the number of leaves of the tree.
        start: the index of the first leaf.
        stop: the index after the last leaf.
        tiles: one or two, which contain these leaves.
    """
    first, last = start, stop - 1
    before = _siblings(size, _holding(tiles, first), first)
    after = before if first == last else _siblings(size, _holding(tiles, last), last)
    left = [beside for level, beside in enumerate(before) if first >> level & 1]
    right = [beside for level, beside in enumerate(after) if not last >> level & 1]
    return [each for each in (*left[::-1], *right) if each is not None]


def _holding(tiles: Sequence[Tile], index: int) -> Tile:
    return next(each for each in tiles if each.start <= index < each.stop)


def _siblings(size: int, tile: Tile, index: int) -> list[bytes | None]:
    """The hash of the sibling of each node from a leaf of the tile up to the root, without that; None where it has no
    sibling, because it is the last one of an odd number.
    """
    found: list[bytes | None] = []
    nodes, above = size, 0
    while nodes > 1:
        level = len(found)
        beside = index >> level ^ 1
        if beside >= nodes:
            found.append(None)
        elif level < HEIGHT:
            found.append(tile.nodes[level][beside % (WIDTH >> level)])
        else:
            found.append(tile.path[above])
            above += 1
        nodes = -(-nodes // 2)
    return found
