"""Tiles: 64 adjacent leaves of an interval's tree, with the audit path from them to the root.

A tile is a subtree, because 64 is a power of two. So one tile is enough to prove one leaf, and two adjacent tiles are
enough to prove that two adjacent leaves are neighbours.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ledger.completeness.families import U16_BYTES, U32_BYTES
from ledger.completeness.trees import Leaf
from ledger.crypto.log_tree import HASH_BYTES, beside_leaf, beside_range, leaf_hash, node_hash, tree_root

WIDTH = 64
"""Leaves per tile. The last one may have fewer."""


@dataclass(frozen=True)
class Tile:
    """Leaves `number` · 64 and the following ones.

    Attributes:
        number: of the tile in its tree.
        leaves: 1 to 64 leaves, in order.
        path: the audit path of the tile, from the leaves to the root (RFC 9162 2.1.3).
    """

    number: int
    leaves: Sequence[Leaf]
    path: Sequence[bytes]

    @property
    def start(self) -> int:
        """The index of its first leaf."""
        return self.number * WIDTH

    def find(self, place: bytes) -> int:
        """The index of the first leaf of the tree that is not before the place, if it is in this tile; else that after
        the tile.
        """
        return self.start + bisect_left(self.leaves, place, key=lambda leaf: leaf.place)

    @cached_property
    def hashes(self) -> list[bytes]:
        """The hashes of the leaves."""
        return [leaf_hash(each.encode()) for each in self.leaves]


def decode_tile(number: int, leaves: bytes, path: bytes) -> Tile:
    """The tile of these encoded leaves, one after another, and of this path."""
    hashes = [path[start : start + HASH_BYTES] for start in range(0, len(path), HASH_BYTES)]
    return Tile(number, [*_decode(leaves)], hashes)


def _decode(data: bytes) -> Iterator[Leaf]:
    at = 0
    while at < len(data):
        key = at + 1 + U16_BYTES
        end = key + int.from_bytes(data[at + 1 : key], "big")
        root = end + U32_BYTES
        place = data[at : at + 1] + data[key:end]
        yield Leaf(place, int.from_bytes(data[end:root], "big"), data[root : root + HASH_BYTES])
        at = root + HASH_BYTES


def paths_of(roots: Sequence[bytes]) -> Iterator[bytes]:
    """Yields the encoded path of each tile. `roots`: those of all tiles of a tree."""
    levels = [list(roots)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        pairs = [node_hash(left, right) for left, right in zip(below[::2], below[1::2], strict=False)]
        levels.append([*pairs, *below[2 * len(pairs) :]])
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
        tiles: the tiles of these leaves, one or two.
    """
    above: dict[tuple[int, int], bytes] = {}
    for tile in tiles:
        above.update(_subtrees(size, tile))
    return [
        above[first, count] if (first, count) in above else _inside(tiles, first, count)
        for first, count in beside_range(size, start, stop)
    ]


def _subtrees(size: int, tile: Tile) -> Mapping[tuple[int, int], bytes]:
    """The hashes of the tile's path, by their subtree: index of the first leaf, number of leaves."""
    beside = beside_leaf(-(-size // WIDTH), tile.number)
    return {
        (first * WIDTH, min(count * WIDTH, size - first * WIDTH)): each
        for (first, count), each in zip(beside, tile.path, strict=True)
    }


def _inside(tiles: Sequence[Tile], first: int, count: int) -> bytes:
    tile = next(each for each in tiles if each.start <= first < each.start + WIDTH)
    return tree_root(tile.hashes[first - tile.start : first - tile.start + count])
