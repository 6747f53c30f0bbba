"""Appends records to a log and computes the tiles that change.

The builder keeps the right edge of the log: for each level the hashes behind the last full tile, and the records of the
last bundle. That is at most 8 kB a level and 256 records, for a log of any size.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Self

from ledger.crypto.log_tree import EMPTY, leaf_hash, tree_root
from ledger.transparency.errors import LogError
from ledger.transparency.tiles import TILE_WIDTH, Place, encode_bundle, right_edge, split_bundle, split_tile


class LogBuilder:
    """A log that grows. A new one is empty; `resume` continues a stored one."""

    def __init__(self) -> None:
        self._size = 0
        self._levels: list[list[bytes]] = [[]]
        self._entries: list[bytes] = []

    @classmethod
    def resume(cls, size: int, root: bytes, read: Callable[[Place], bytes]) -> Self:
        """Reads the right edge of a stored log.

        Args:
            size: the number of its records.
            root: of its tree; both are of the last checkpoint.
            read: returns the content of a partial tile or of the partial bundle of this size.

        Raises:
            LogError: the stored tiles do not lead to the root, or the bundle does not have the records of its tile.
        """
        builder = cls()
        builder._size = size
        for place in right_edge(size):
            assert place.level is not None
            missing = place.level + 1 - len(builder._levels)
            builder._levels += [[] for _ in range(missing)]
            builder._levels[place.level] = split_tile(read(place), place.width)
        if width := size % TILE_WIDTH:
            builder._entries = split_bundle(read(Place(None, size // TILE_WIDTH, width)), width)
        if [leaf_hash(entry) for entry in builder._entries] != builder._levels[0]:
            raise LogError(f"the last bundle of the log of size {size} differs from its last tile")
        if builder.root() != root:
            raise LogError(f"the tiles of the log of size {size} do not lead to its root")
        return builder

    @property
    def size(self) -> int:
        """The number of records so far."""
        return self._size

    def root(self) -> bytes:
        """The root of the tree of all records so far."""
        found: list[bytes] = []
        for hashes in self._levels:
            # Behind the full tiles of a level, the tree has one more node: the root of everything to their right.
            found = [tree_root([*hashes, *found])] if hashes or found else []
        return found[0] if found else EMPTY

    def extend(self, records: Iterable[bytes]) -> Iterator[tuple[Place, bytes]]:
        """Appends records and yields each bundle and tile that becomes full: its place and content.

        The records are read as the iterator is; write all tiles, and then those of `edge`, before you sign a
        checkpoint.

        Raises:
            ValueError: a record has more than 65,535 bytes.
        """
        for record in records:
            self._entries.append(record)
            self._levels[0].append(leaf_hash(record))
            self._size += 1
            if len(self._entries) == TILE_WIDTH:
                yield Place(None, self._size // TILE_WIDTH - 1), encode_bundle(self._entries)
                self._entries = []
                yield from self._carry()

    def edge(self) -> Iterator[tuple[Place, bytes]]:
        """Yields the partial bundle and the partial tiles of the log of this size: place and content."""
        if self._entries:
            yield Place(None, self._size // TILE_WIDTH, len(self._entries)), encode_bundle(self._entries)
        for place in right_edge(self._size):
            assert place.level is not None
            yield place, b"".join(self._levels[place.level])

    def _carry(self) -> Iterator[tuple[Place, bytes]]:
        """Moves the root of each full tile to the level above."""
        level = 0
        while len(hashes := self._levels[level]) == TILE_WIDTH:
            number = (self._size >> 8 * (level + 1)) - 1
            self._levels[level] = []
            if level + 1 == len(self._levels):
                self._levels.append([])
            self._levels[level + 1].append(tree_root(hashes))
            yield Place(level, number), b"".join(hashes)
            level += 1
