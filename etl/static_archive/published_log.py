"""The signed transparency log in an archive: tiles and bundles at their C2SP paths below `log/`.

`log/` is a log of its own for every client of C2SP tlog-tiles. Files of partial tiles stay until the tile is full.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from db import schema
from db.queries.log import key_of
from etl.report import Notify, Progress
from etl.static_archive.names import PARTIAL
from etl.store_reads import StoreReads
from ledger.crypto.log_tree import from_left
from ledger.transparency.checkpoint import Checkpoint, parse_checkpoint, parse_origin
from ledger.transparency.errors import LogError
from ledger.transparency.note import parse_note
from ledger.transparency.positions import last_milestone
from ledger.transparency.tiled_tree import TiledTree
from ledger.transparency.tiles import TILE_WIDTH, Place, narrow, places_of

LOG, CHECKPOINT, VERIFIER = "log", "checkpoint", "verifier"

AT_ONCE = 500
"""Tiles and bundles that one query reads: at most 15 MB."""


class PublishedLog:
    """The log of a store as it was signed.

    Attributes:
        checkpoint: the signed note.
        verifier: the key that signed it, as text.
        head: what was signed.
        first: its first milestone.
        last: its last milestone.
    """

    def __init__(self, reads: StoreReads, checkpoint: bytes, verifier: str) -> None:
        self._reads = reads
        self.checkpoint, self.verifier = checkpoint, verifier
        self.head = parse_checkpoint(parse_note(checkpoint).text)
        self.first = parse_origin(self.head.origin)[1]
        self.last = last_milestone(self.first, self.head.size)

    @classmethod
    def find(cls, reads: StoreReads) -> "PublishedLog | None":
        """The log of a store; None if it was not signed yet."""
        head = reads.log_head()
        if head is None or head.checkpoint is None or head.verifier is None:
            return None
        found = cls(reads, head.checkpoint, head.verifier)
        return found if found.head.size else None

    def prove(self, index: int) -> list[bytes]:
        """The proof of a record, from left to right."""
        size = self.head.size
        return from_left(size, index, TiledTree(size, self._tile).audit_path(index))

    def write(self, folder: Path, notify: Notify) -> int:
        """Writes what the folder does not have, then the checkpoint. Returns the number of new files.

        Raises LogError if the folder has a log that this one does not extend.
        """
        older = self._older(folder)
        if (folder / LOG / CHECKPOINT).is_file() and (folder / LOG / CHECKPOINT).read_bytes() == self.checkpoint:
            return 0
        places = [*places_of(self.head.size, older)]
        for at in range(0, len(places), AT_ONCE):
            some = places[at : at + AT_ONCE]
            for place, data in zip(some, self._read(some), strict=True):
                _write(folder / LOG / place.path, data)
                if place.width == TILE_WIDTH:
                    _delete(folder / LOG / f"{place.path}.p")
            notify(Progress("log", min(at + AT_ONCE, len(places)), len(places), "tiles"))
        _write(folder / LOG / VERIFIER, f"{self.verifier}\n".encode())
        _write(folder / LOG / CHECKPOINT, self.checkpoint)
        return len(places) + 2

    def _older(self, folder: Path) -> int:
        """The size of the log in a folder, which this one extends."""
        held = find_checkpoint(folder)
        if held is None:
            return 0
        if held.origin != self.head.origin or held.size > self.head.size or self._root(held.size) != held.root:
            raise LogError(
                f"{folder / LOG / CHECKPOINT}: the log {held.origin} with {held.size} records is not the beginning of "
                f"{self.head.origin} with {self.head.size}; publish into another folder, and compare both with "
                "`permanode audit`"
            )
        return held.size

    def _root(self, size: int) -> bytes:
        return TiledTree(size, self._tile).root()

    def _tile(self, level: int, number: int, width: int) -> bytes:
        (data,) = self._read([Place(level, number, width)])
        return data

    def _read(self, places: list[Place]) -> Iterator[bytes]:
        rows = self._reads.many(schema.log_tiles, [key_of(place) for place in places])
        for place, row in zip(places, rows, strict=True):
            if row is None or row["width"] < place.width:
                raise LogError(f"expected {place.path} in the store")
            yield narrow(row["data"], place)


def find_checkpoint(folder: Path) -> Checkpoint | None:
    """What the checkpoint in an archive contains; None without one. Raises LogError for another file."""
    try:
        data = (folder / LOG / CHECKPOINT).read_bytes()
    except FileNotFoundError:
        return None
    return parse_checkpoint(parse_note(data).text)


def delete_partial(folder: Path, size: int) -> int:
    """Deletes the files of partial tiles that the log of `size` records does not have. Returns their number."""
    kept = {place.path for place in places_of(size) if place.width < TILE_WIDTH}
    deleted = 0
    for path in (folder / LOG).glob("tile/**/*.p/*"):
        if str(path.relative_to(folder / LOG)) not in kept:
            path.unlink()
            deleted += 1
    return deleted


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}{PARTIAL}")
    with growing.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    growing.replace(path)


def _delete(folder: Path) -> None:
    if folder.is_dir():
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()
