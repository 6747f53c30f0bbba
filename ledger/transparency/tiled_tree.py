"""Roots and proofs of a log from its tiles, and the first record in which two logs differ.

An audit path in a log of up to 2^40 records is read from at most 5 tiles and, unless the size is a power of 256, from
at most 4 more of the right edge, which are the same for all proofs of one checkpoint. Nothing read is believed: whoever
receives a proof verifies it against a checkpoint.
"""

from collections.abc import Callable

from ledger.crypto.log_tree import (
    EMPTY,
    HASH_BYTES,
    beside_leaf,
    beside_older,
    is_consistent,
    node_hash,
    split,
    tree_root,
)
from ledger.transparency.errors import LogError
from ledger.transparency.tiles import TILE_WIDTH, Place, TileReader, count_at, split_tile, width_at


class TiledTree:
    """The tree of a log. It keeps the tiles that it has read, so use one per response.

    Args:
        size: the number of records.
        tile: reads tiles of the log of this size.
    """

    def __init__(self, size: int, tile: TileReader) -> None:
        self._size = size
        self._tile = tile
        self._read: dict[tuple[int, int], list[bytes]] = {}

    def root(self) -> bytes:
        """The root of the tree.

        Raises:
            LogError: for this and all methods, if a tile has another width than the size requires.
        """
        return self._root_of(0, self._size) if self._size else EMPTY

    def leaf_hash(self, index: int) -> bytes:
        """The hash of a record."""
        return self._root_of(index, 1)

    def audit_path(self, index: int) -> list[bytes]:
        """The audit path of a record, from its sibling up to the root's child (RFC 9162 2.1.3).

        Raises:
            ValueError: there is no such record.
        """
        if not 0 <= index < self._size:
            raise ValueError(f"expected a record of {self._size}, found {index}")
        return [self._root_of(*subtree) for subtree in beside_leaf(self._size, index)]

    def consistency(self, older: int) -> list[bytes]:
        """The proof that the log extends its first `older` records (RFC 9162 2.1.4).

        Raises:
            ValueError: the log has fewer records, or `older` is 0.
        """
        if not 0 < older <= self._size:
            raise ValueError(f"expected a size from 1 to {self._size}, found {older}")
        return [self._root_of(*subtree) for subtree in beside_older(self._size, older)]

    def _root_of(self, first: int, count: int) -> bytes:
        """The root of a subtree: of 2^k records at a multiple of that, or of all records behind such a place."""
        if count & count - 1:
            left = split(count)
            return node_hash(self._root_of(first, left), self._root_of(first + left, count - left))
        # 2^(8l + r) records are 2^r hashes of one tile of level l.
        level, within = divmod(count.bit_length() - 1, 8)
        number, start = divmod(first >> 8 * level, TILE_WIDTH)
        return tree_root(self._hashes(level, number)[start : start + (1 << within)])

    def _hashes(self, level: int, number: int) -> list[bytes]:
        if (level, number) not in self._read:
            width = width_at(self._size, level, number)
            self._read[level, number] = split_tile(self._tile(level, number, width), width)
        return self._read[level, number]


def proved_root(older: int, newer: int, newer_root: bytes, tile: TileReader) -> bytes:
    """The root of the first `older` records of a log of `newer` records, proved against the root of all of them.

    Without the proof, whoever serves the tiles could serve those of another log below the newer root.

    Raises:
        LogError: the tiles do not lead from one root to the other, or have a wrong width.
    """
    found = TiledTree(older, tile).root()
    proof = TiledTree(newer, tile).consistency(older) if 0 < older < newer else []
    if not is_consistent(older, newer, found, newer_root, proof):
        raise LogError(f"the tiles of its first {older:,} records do not lead to the root of all {newer:,}")
    return found


def tiles_beside_leaf(size: int, index: int) -> list[Place]:
    """The tiles that the audit path of a record is read from, and its own.

    Raises:
        ValueError: there is no such record.
    """
    return _tiles_of(lambda tree: [tree.leaf_hash(index), *tree.audit_path(index)], size)


def tiles_beside_older(size: int, older: int) -> list[Place]:
    """The tiles that a consistency proof is read from.

    Raises:
        ValueError: the log has fewer records, or `older` is 0.
    """
    return _tiles_of(lambda tree: tree.consistency(older), size)


def _tiles_of(read: Callable[[TiledTree], object], size: int) -> list[Place]:
    found: list[Place] = []

    def note(level: int, number: int, width: int) -> bytes:
        found.append(Place(level, number, width))
        return bytes(width * HASH_BYTES)

    read(TiledTree(size, note))
    return found


def first_difference(size: int, one: TileReader, other: TileReader) -> int | None:
    """Returns the index of the first record that differs in two logs of a size; None if their tiles are equal.

    It reads at most one tile per level of each log. If one log is longer, its reader must return the tiles that it had
    at this size.

    Raises:
        LogError: a tile has the wrong width, or hashes of a level differ although all hashes below them are equal.
    """
    level, number, is_found = 0, 0, False
    while count_at(size, level + 1):
        level += 1
    while level >= 0:
        width = width_at(size, level, number)
        place = width
        if width:
            hashes = split_tile(one(level, number, width), width), split_tile(other(level, number, width), width)
            place = next((at for at, pair in enumerate(zip(*hashes, strict=True)) if pair[0] != pair[1]), width)
        if is_found and place == width:
            raise LogError(f"tile {number} of level {level} is equal in both logs, the hash above it is not")
        is_found = is_found or place < width
        number = number * TILE_WIDTH + place
        level -= 1
    return number if is_found else None
