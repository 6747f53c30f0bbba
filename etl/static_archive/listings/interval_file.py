"""The file of an interval: its tiles, behind each one the rows of its keys, then the pages of the directory, and
the position of its root as u48.

A tile has u32 number, u16 bytes of its leaves, u16 bytes of its path, then leaves and path as in the store. The rows of
its keys follow in the order of the leaves. Where those of a key are follows from the counts before it and the bytes of
a row of each family.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etl.completeness.leaves import packed
from etl.static_archive.listings.pages import POSITION_BYTES, DirectoryBuilder
from etl.static_archive.names import HashingFile
from ledger.completeness.families import BY_NUMBER, U16_BYTES
from ledger.completeness.intervals import LEVELS, Interval, size_of
from ledger.completeness.tiles import VALUE_BYTES, WIDTH, Tile, decode_tile
from ledger.completeness.trees import Leaf
from ledger.crypto.log_tree import HASH_BYTES, beside_leaf

HEAD = struct.Struct("<IHH")

TILE_MOST = 8_192
"""Bytes that a reader requests for a tile: more than any has, so that the rows of most keys come with it."""


@dataclass(frozen=True)
class StoredTile:
    """A tile of a file. `position`: where it begins. `rows_at`: where the rows of its keys begin."""

    tile: Tile
    position: int
    rows_at: int

    def rows_of(self, index: int) -> tuple[int, int]:
        """Position and bytes of the rows of the leaf with this index in the tree."""
        leaves = self.tile.leaves(self.tile.start, index + 1)
        before = sum(map(bytes_of_rows, leaves[:-1]))
        return self.rows_at + before, bytes_of_rows(leaves[-1])


def bytes_of_rows(leaf: Leaf) -> int:
    """The bytes of the rows of a key."""
    return leaf.count * BY_NUMBER[leaf.place[0]].row_bytes


def read_tile(data: bytes, position: int, keys: int) -> StoredTile:
    """The tile that `data` begins with.

    Args:
        data: the tile, with or without bytes behind it.
        position: of `data` in the file.
        keys: the leaves of the tree.

    Raises:
        ValueError: it cannot be a tile of such a tree.
    """
    if len(data) < HEAD.size:
        raise ValueError(f"a tile expected at byte {position}")
    number, leaves, path = HEAD.unpack_from(data)
    size = HEAD.size + leaves + path
    found = data[HEAD.size : HEAD.size + leaves]
    tile = decode_tile(number, found, data[HEAD.size + leaves : size])
    is_whole = (
        len(data) >= size and len(tile.places) == min(WIDTH, keys - tile.start) and all(map(_is_leaf, tile.encoded))
    )
    if not is_whole or path != HASH_BYTES * len(beside_leaf(-(-keys // WIDTH), number)):
        raise ValueError(f"a tile of {keys} keys expected at byte {position}")
    return StoredTile(tile, position, position + size)


def _is_leaf(encoded: bytes) -> bool:
    """Whether bytes encode a leaf with rows of a known family."""
    size = 1 + U16_BYTES + int.from_bytes(encoded[1 : 1 + U16_BYTES], "big") + VALUE_BYTES
    return len(encoded) == size and encoded[0] in BY_NUMBER and any(encoded[-VALUE_BYTES:-HASH_BYTES])


def interval_of(first: int, last: int) -> Interval:
    """The interval with these milestones. Raises ValueError if they are not an interval."""
    for level in range(LEVELS):
        found = Interval(level, first // size_of(level))
        if (found.start, found.end) == (first, last):
            return found
    raise ValueError(f"an interval with the milestones {first} to {last} expected")


def write_interval(file: HashingFile, tiles: Iterable[Mapping[str, Any]], rows: Iterable[pa.Table]) -> int:
    """Writes the file of an interval.

    Args:
        file: a new file.
        tiles: the rows of `listing_tiles` of the interval, in order.
        rows: etl.completeness.rows.ROWS by place and row id.

    Returns:
        The number of keys.

    Raises:
        ValueError: the tiles have other keys or counts than the rows.
    """
    directory, keys, left = DirectoryBuilder(), 0, _by_key(rows)
    for row in tiles:
        tile = decode_tile(row["tile"], row["leaves"], row["path"])
        directory.add(tile.places[0], tile.places[1] if len(tile.places) > 1 else None, file.size)
        file.write(HEAD.pack(row["tile"], len(row["leaves"]), len(row["path"])) + row["leaves"] + row["path"])
        for place, leaf in zip(tile.places, tile.encoded, strict=True):
            count = int.from_bytes(leaf[-VALUE_BYTES : -VALUE_BYTES + 4], "big")
            found = next(left, None)
            if found is None or found[:2] != (place, count):
                what = "none" if found is None else f"{found[1]} of {found[0].hex()}"
                raise ValueError(f"listings: {count} rows of {place.hex()} expected in the lake, found {what}")
            file.write(found[2])
        keys += len(tile.places)
    found = next(left, None)
    if found is not None:
        raise ValueError(f"listings: the tree has no key {found[0].hex()}, the lake has rows of it")
    root = directory.write(file)
    file.write(root.to_bytes(POSITION_BYTES, "little"))
    return keys


def find_root(path: Path) -> int:
    """The position of the root page of a file."""
    with path.open("rb") as file:
        file.seek(-POSITION_BYTES, SEEK_END)
        return int.from_bytes(file.read(), "little")


def _by_key(tables: Iterable[pa.Table]) -> Iterator[tuple[bytes, int, bytes]]:
    """Yields each place, the number of its rows, and the rows."""
    held: list[tuple[bytes, int, bytes]] = []
    for table in tables:
        if not table.num_rows:
            continue
        runs = pc.run_end_encode(table["place"].combine_chunks())
        if isinstance(runs, pa.ChunkedArray):
            runs = pa.concat_arrays(runs.chunks)
        data, lengths = packed(table["row"]), pc.binary_length(table["row"]).to_numpy().cumsum()
        start = at = 0
        for place, stop in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            end = int(lengths[stop - 1])
            if held and held[0][0] != place:
                yield _joined(held)
                held = []
            held.append((place, stop - start, data[at:end]))
            start, at = stop, end
    if held:
        yield _joined(held)


def _joined(parts: list[tuple[bytes, int, bytes]]) -> tuple[bytes, int, bytes]:
    if len(parts) == 1:
        return parts[0]
    return parts[0][0], sum(each[1] for each in parts), b"".join(each[2] for each in parts)
