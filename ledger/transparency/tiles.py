"""Tiles and entry bundles (C2SP tlog-tiles): places, paths, contents.

A tile has up to 256 hashes of one level of the tree: at level 0 hashes of records, above the roots of full tiles. A
bundle has the records themselves. Full ones never change. Those at the right edge of a log are partial: they belong to
one size of the log.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ledger.crypto.log_tree import HASH_BYTES
from ledger.transparency.errors import LogError

TILE_WIDTH = 256

MAX_LEVEL = 63

MAX_ENTRY_BYTES = 2**16 - 1

TileReader: TypeAlias = Callable[[int, int, int], bytes]
"""Returns the content of the tile (level, number, width) with exactly `width` hashes."""

_PATH = re.compile(r"tile/(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


@dataclass(frozen=True)
class Place:
    """The place of a tile or of a bundle.

    Attributes:
        level: 0 to 63; None for a bundle.
        number: within the level.
        width: hashes or records, 1 to 256.
    """

    level: int | None
    number: int
    width: int = TILE_WIDTH

    @property
    def path(self) -> str:
        """The path below the address of the log."""
        digits = str(self.number)
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        *folders, last = (digits[place : place + 3] for place in range(0, len(digits), 3))
        number = "".join(f"x{folder}/" for folder in folders) + last
        level = "entries" if self.level is None else self.level
        partial = f".p/{self.width}" if self.width < TILE_WIDTH else ""
        return f"tile/{level}/{number}{partial}"


def parse_place(path: str) -> Place:
    """Parses the path of a tile or of a bundle.

    Raises:
        LogError: it is not `Place.path` of a place.
    """
    found = _PATH.fullmatch(path)
    if found and len(path) <= 80:
        level, number, width = found.groups()
        place = Place(
            None if level == "entries" else int(level),
            int(number.replace("x", "").replace("/", "")),
            int(width or TILE_WIDTH),
        )
        if place.path == path and (place.level or 0) <= MAX_LEVEL:
            return place
    raise LogError(f"expected the path of a tile, found {path[:80]!r}")


def count_at(size: int, level: int) -> int:
    """The number of hashes that the tiles of a level have in a log of `size` records."""
    return size >> 8 * level


def width_at(size: int, level: int, number: int) -> int:
    """The number of hashes of a tile in a log of `size` records, 0 to 256."""
    return max(0, min(TILE_WIDTH, count_at(size, level) - number * TILE_WIDTH))


def right_edge(size: int) -> Iterator[Place]:
    """The partial tiles of a log of `size` records, from level 0 upwards."""
    level = 0
    while count := count_at(size, level):
        if count % TILE_WIDTH:
            yield Place(level, count // TILE_WIDTH, count % TILE_WIDTH)
        level += 1


def places_of(size: int, older: int = 0) -> Iterator[Place]:
    """All bundles and tiles of a log of `size` records, level by level. `older`: only those that have changed since the
    log had that many records.
    """
    for level in (None, *range(MAX_LEVEL + 1)):
        count, before = count_at(size, level or 0), count_at(older, level or 0)
        if not count:
            return
        for number in range(before // TILE_WIDTH, -(-count // TILE_WIDTH) if count > before else 0):
            yield Place(level, number, width_at(size, level or 0, number))


def places_in_post_order(size: int) -> Iterator[Place]:
    """The places of `places_of`, each tile directly after the last of what it is computed from. A reader needs to keep
    at most 255 hashes of each level.
    """
    for number in range(-(-size // TILE_WIDTH)):
        width = width_at(size, 0, number)
        yield Place(None, number, width)
        yield Place(0, number, width)
        level, last = 0, number if width == TILE_WIDTH else 0
        while last % TILE_WIDTH == TILE_WIDTH - 1:
            level, last = level + 1, last // TILE_WIDTH
            yield Place(level, last)
    yield from (place for place in right_edge(size) if place.level)


def narrow(data: bytes, place: Place) -> bytes:
    """The content that a place had when it had `place.width` hashes or records: the beginning of what it has now.

    Raises:
        LogError: it has fewer.
    """
    length = place.width * HASH_BYTES
    if place.level is None:
        length = 0
        for _ in range(place.width):
            length += 2 + int.from_bytes(data[length : length + 2], "big")
    if len(data) < length:
        raise LogError(f"expected {place.width} hashes or records at {place.path}, found fewer")
    return data[:length]


def split_tile(data: bytes, width: int) -> list[bytes]:
    """The hashes of a tile.

    Raises:
        LogError: the tile does not have exactly `width` hashes.
    """
    if len(data) != width * HASH_BYTES:
        raise LogError(f"expected a tile of {width * HASH_BYTES} bytes, found {len(data)}")
    return [data[place : place + HASH_BYTES] for place in range(0, len(data), HASH_BYTES)]


def encode_bundle(entries: Sequence[bytes]) -> bytes:
    """The content of a bundle: each record after its length as u16.

    Raises:
        ValueError: a record has more than 65,535 bytes.
    """
    if any(len(entry) > MAX_ENTRY_BYTES for entry in entries):
        raise ValueError(f"expected records of at most {MAX_ENTRY_BYTES} bytes")
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def split_bundle(data: bytes, width: int) -> list[bytes]:
    """The records of a bundle.

    Raises:
        LogError: the bundle does not have exactly `width` records.
    """
    found = []
    place = 0
    while place < len(data):
        start = place + 2
        place = start + int.from_bytes(data[place:start], "big")
        found.append(data[start:place])
    if place != len(data) or len(found) != width:
        raise LogError(f"expected a bundle of {width} records")
    return found
