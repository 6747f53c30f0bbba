"""The directory of an interval's file: pages of separators that lead from the root to the tile of a key.

A page has up to FANOUT children: pages, or at depth 0 tiles. A separator is a short text of bytes between the first two
places of a tile, so a place from the separator on is in the tile or behind it, and one before it is at most the tile's
first one. That is why a reader may find a place at the beginning of the tile after the one that it was led to.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from etl.static_archive.names import HashingFile

FANOUT = 256

HEAD_BYTES, POSITION_BYTES = 9, 6
"""Head of a page: u8 depth, u16 children, u48 end of the last child."""

PAGE_MOST = HEAD_BYTES + FANOUT * (1 + 255 + POSITION_BYTES)
"""Bytes of the largest page: a separator has a length of one byte, up to 255 bytes, and a position."""


@dataclass(frozen=True)
class Page:
    """A page of a directory.

    Attributes:
        depth: 0 if the children are tiles.
        separators: of the children, ascending; the first one of a file is empty.
        positions: where each child begins in the file, and where the last one ends.
    """

    depth: int
    separators: Sequence[bytes]
    positions: Sequence[int]

    def child(self, place: bytes) -> tuple[int, int]:
        """Begin and end of the child that a place leads to."""
        at = max(0, bisect_right(self.separators, place) - 1)
        return self.positions[at], self.positions[at + 1]


def decode_page(data: bytes) -> Page:
    """Decodes a page. Raises ValueError for other bytes."""
    depth, count = data[0], int.from_bytes(data[1:3], "little")
    separators, positions, at = list[bytes](), list[int](), HEAD_BYTES
    for _ in range(count):
        end = at + 1 + data[at]
        separators.append(data[at + 1 : end])
        at = end + POSITION_BYTES
        positions.append(int.from_bytes(data[end:at], "little"))
    if at != len(data) or not count:
        raise ValueError("a page of a directory expected")
    return Page(depth, separators, [*positions, int.from_bytes(data[3:HEAD_BYTES], "little")])


def separator(first: bytes, second: bytes | None) -> bytes:
    """The shortest bytes from the first place of a tile to before its second one, None if it has only one."""
    for size in range(1, len(first)):
        last = first[size - 1]
        # At least `first`, because a byte is greater.
        found = first[: size - 1] + bytes([last + 1]) if last < 255 else b""
        if found and second is not None and found < second:
            return found
    return first


class DirectoryBuilder:
    """Collects the tiles of a file. Memory: about 12 bytes for each."""

    def __init__(self) -> None:
        self._pages: list[tuple[bytes, bytes]] = []
        self._entries: list[tuple[bytes, int]] = []

    def add(self, first: bytes, second: bytes | None, position: int) -> None:
        """Adds a tile with its first two places, after those before it."""
        if len(self._entries) == FANOUT:
            self._close(position)
        is_first = not self._pages and not self._entries
        self._entries.append((b"" if is_first else separator(first, second), position))

    def write(self, file: HashingFile) -> int:
        """Appends the pages behind the tiles, and returns the position of the root, which is the last one."""
        if not self._entries:
            return file.size
        self._close(file.size)
        depth, pages = 0, self._pages
        while True:
            entries = []
            for first, data in pages:
                entries.append((first, file.size))
                file.write(data)
            if len(entries) == 1:
                return entries[0][1]
            depth, pages = depth + 1, []
            for start in range(0, len(entries), FANOUT):
                own, behind = entries[start : start + FANOUT], entries[start + FANOUT : start + FANOUT + 1]
                pages.append((own[0][0], _encode(depth, own, behind[0][1] if behind else file.size)))

    def _close(self, end: int) -> None:
        self._pages.append((self._entries[0][0], _encode(0, self._entries, end)))
        self._entries = []


def _encode(depth: int, entries: Sequence[tuple[bytes, int]], end: int) -> bytes:
    head = bytes([depth]) + len(entries).to_bytes(2, "little") + end.to_bytes(POSITION_BYTES, "little")
    return head + b"".join(
        bytes([len(each)]) + each + position.to_bytes(POSITION_BYTES, "little") for each, position in entries
    )
