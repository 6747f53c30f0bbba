"""Tiles: 32 adjacent leaves of an interval's tree, with the audit path from them to the root.

A tile is a subtree, because 32 is a power of two. So one tile is enough to prove one leaf, and two adjacent tiles are
enough to prove that two adjacent leaves are neighbours.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ledger.completeness.families import U16_BYTES, U32_BYTES
from ledger.completeness.trees import Leaf
from ledger.crypto.log_tree import HASH_BYTES, beside_leaf, beside_range, leaf_hash, node_hash, tree_root

WIDTH = 32
"""Leaves per tile. The last one may have fewer. Of tiles with 64, a row would not fit on a page of SQLite, and a proof
would hash twice as many.
"""

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
