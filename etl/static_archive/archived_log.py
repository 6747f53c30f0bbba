"""The transparency log in an archive, read from its files. Whatever is returned leads to the root of the checkpoint."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from etl.static_archive.published_log import LOG
from etl.static_client import MANIFEST, ArchiveError, MissingFile, Reader
from ledger.transparency.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint, parse_origin
from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.keys import VerifierKey
from ledger.transparency.note import parse_note
from ledger.transparency.positions import last_milestone
from ledger.transparency.proved_tiles import ProvedTiles
from ledger.transparency.tiles import TILE_WIDTH, Place, narrow, width_at

PLACE_MOST = TILE_WIDTH * (2 + 65_535)
"""Bytes of the largest bundle."""


class ArchivedLog:
    """The log that the manifest of an archive names.

    Attributes:
        head: what the checkpoint says. Its signature is verified by `check_signature` only.
        first: the first milestone.
        last: the last milestone.
        checkpoint: the signed note.
        verifier: the key that the archive states.
    """

    _proved: ProvedTiles

    def __init__(self, reader: Reader, head: Checkpoint, checkpoint: bytes, verifier: str) -> None:
        self._reader, self.checkpoint, self.verifier = reader, checkpoint, verifier
        self.head = head
        self.network, self.first = parse_origin(head.origin)
        self.last = last_milestone(self.first, head.size)

    @classmethod
    def of(cls, reader: Reader, manifest: Mapping[str, Any]) -> "ArchivedLog | None":
        """The log of an archive; None if it has none. Raises ArchiveError for an invalid checkpoint."""
        values = manifest.get("log")
        if not values:
            return None
        try:
            checkpoint = values["checkpoint"].encode()
            return cls(reader, parse_checkpoint(parse_note(checkpoint).text), checkpoint, values["verifier"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ArchiveError(f"{MANIFEST}: a log with a checkpoint expected: {error!r}") from error

    def check_signature(self, keys: Sequence[VerifierKey] = ()) -> None:
        """Verifies the signature of the checkpoint, and that the tiles of the right edge lead to its root.

        `keys`: one of them must have signed. Without any, the key that the archive states.

        Raises:
            LogError: the signature is missing or invalid, or the tiles lead to another root.
            OSError: a tile cannot be read.
        """
        note = parse_note(self.checkpoint)
        known = [*keys] or [VerifierKey.parse(self.verifier)]
        signer = next((key for key in known if any(key.is_of(each) for each in note.signatures)), None)
        if signer is None:
            raise SignatureError("expected a signature of one of the given keys")
        open_checkpoint(self.checkpoint, self.head.origin, signer)
        self._proved = ProvedTiles(self.head, self._read)

    def bundle(self, place: Place) -> bytes:
        """A bundle, proved by the tiles above it. Call `check_signature` first. Raises LogError, OSError."""
        return self._proved.bundle(place)

    def tile(self, level: int, number: int, width: int) -> bytes:
        """The first hashes of a tile. They are not proved. Raises LogError, OSError."""
        whole = self._read(Place(level, number, width_at(self.head.size, level, number)))
        return narrow(whole, Place(level, number, width))

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yields name and cause of each file that differs from what was signed, after `check_signature`."""
        for fault in self._proved.faults():
            yield f"{LOG}/{fault.path}", fault.cause

    def _read(self, place: Place) -> bytes:
        """A place. The beginning of the full one replaces a partial one, which a later run may have deleted."""
        try:
            data = self._whole(place)
        except LogError:
            if place.width == TILE_WIDTH:
                raise
            data = self._whole(replace(place, width=TILE_WIDTH))
        return narrow(data, place)

    def _whole(self, place: Place) -> bytes:
        try:
            return self._reader.whole(f"{LOG}/{place.path}", PLACE_MOST)
        except (MissingFile, FileNotFoundError) as error:
            raise LogError("the file is missing") from error
