"""Proofs from tiles, compared with proofs from all leaves."""

from random import Random

import pytest

from ledger.completeness.tiles import WIDTH, Tile, decode_tile, paths_of, prove_leaves
from ledger.completeness.trees import Leaf
from ledger.crypto.log_tree import leaf_hash, prove_range, tree_root


def tree_of(size: int) -> tuple[list[Leaf], list[Tile]]:
    rng = Random(size)
    places = sorted({bytes([rng.choice((1, 2, 112))]) + rng.randbytes(rng.randint(0, 40)) for _ in range(2 * size)})
    leaves = [Leaf(place, rng.randint(1, 1 << 31), rng.randbytes(32)) for place in places[:size]]
    parts = [leaves[start : start + WIDTH] for start in range(0, size, WIDTH)]
    roots = [tree_root([leaf_hash(each.encode()) for each in part]) for part in parts]
    encoded = [b"".join(each.encode() for each in part) for part in parts]
    return leaves, [
        decode_tile(number, data, path)
        for number, (data, path) in enumerate(zip(encoded, paths_of(roots), strict=True))
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 63, 64, 65, 96, 129, 200, 300, 1_025])
def test_tiles_prove_what_the_tree_proves(size: int) -> None:
    leaves, tiles = tree_of(size)
    hashes = [leaf_hash(each.encode()) for each in leaves]
    assert [leaf for tile in tiles for leaf in tile.leaves(0, size)] == leaves
    for start in range(size):
        for stop in range(start + 1, min(start + 2, size) + 1):
            needed = tiles[start // WIDTH : (stop - 1) // WIDTH + 1]
            assert prove_leaves(size, start, stop, needed) == prove_range(hashes, start, stop)


def test_a_tile_finds_places() -> None:
    leaves, tiles = tree_of(130)
    tile = tiles[1]
    assert tile.find(b"\0") == 32
    assert tile.find(leaves[32].place) == 32
    assert tile.find(leaves[32].place + b"\0") == 33
    assert tile.find(b"\xff") == 64
