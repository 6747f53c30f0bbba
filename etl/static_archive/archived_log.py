"""The transparency log in an archive, read from its files. Whatever is returned leads to the root of the checkpoint."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from etl.static_archive.published_log import LOG
from etl.static_client import MANIFEST, ArchiveError, Reader
from ledger.crypto.log_tree import leaf_hash, tree_root
from ledger.transparency.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint, parse_origin
from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.growth import LogBuilder
from ledger.transparency.keys import VerifierKey
from ledger.transparency.note import parse_note
from ledger.transparency.positions import last_milestone
from ledger.transparency.tiled_tree import TiledTree
from ledger.transparency.tiles import TILE_WIDTH, Place, narrow, right_edge, split_bundle, split_tile, width_at

PLACE_MOST = TILE_WIDTH * (2 + 65_535)
"""Bytes of the largest bundle."""


class ArchivedLog:
    """The log that the manifest of an archive names.

    Attributes:
        head: what the checkpoint says. Its signature is verified by `check_signature` only.
        first: the first milestone.
        last: the last milestone.
    """

    def __init__(self, reader: Reader, head: Checkpoint, checkpoint: bytes, verifier: str) -> None:
        self._reader, self._checkpoint, self._verifier = reader, checkpoint, verifier
        self.head = head
        self.network, self.first = parse_origin(head.origin)
        self.last = last_milestone(self.first, head.size)
        self._tiles: dict[tuple[int, int], list[bytes]] = {}

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
        note = parse_note(self._checkpoint)
        known = [*keys] or [VerifierKey.parse(self._verifier)]
        signer = next((key for key in known if any(key.is_of(each) for each in note.signatures)), None)
        if signer is None:
            raise SignatureError("expected a signature of one of the given keys")
        open_checkpoint(self._checkpoint, self.head.origin, signer)
        size = self.head.size
        if TiledTree(size, lambda *at: self._read(Place(*at))).root() != self.head.root:
            raise LogError(f"the tiles of size {size} do not lead to the signed root")
        for place in right_edge(size):
            assert place.level is not None
            self._tiles[place.level, place.number] = split_tile(self._read(place), place.width)

    def bundle(self, place: Place) -> bytes:
        """A bundle, proved by the tiles above it. Call `check_signature` first. Raises LogError, OSError."""
        data = self._read(place)
        hashes = [leaf_hash(each) for each in split_bundle(data, place.width)]
        if place.width < TILE_WIDTH:
            is_right = hashes == self._tile(0, place.number)
        else:
            is_right = tree_root(hashes) == self._tile(1, place.number // TILE_WIDTH)[place.number % TILE_WIDTH]
        if not is_right:
            raise LogError(f"{LOG}/{place.path}: other records than those that were signed")
        return data

    def records(self) -> Iterator[bytes]:
        """All records, in order. Raises what `bundle` raises."""
        size = self.head.size
        for number in range(-(-size // TILE_WIDTH)):
            place = Place(None, number, width_at(size, 0, number))
            yield from split_bundle(self.bundle(place), place.width)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yields name and cause of each file that differs from what its records lead to, after `check_signature`."""
        builder = LogBuilder()
        try:
            for place, data in builder.extend(self.records()):
                yield from self._compare(place, data)
        except (LogError, OSError) as error:
            yield f"{LOG}/checkpoint", str(error)
            return
        for place, data in builder.edge():
            yield from self._compare(place, data)
        if builder.root() != self.head.root:
            yield f"{LOG}/checkpoint", "the records do not lead to the signed root"

    def _compare(self, place: Place, data: bytes) -> Iterator[tuple[str, str]]:
        try:
            if self._read(place) != data:
                yield f"{LOG}/{place.path}", "other hashes than those of its records"
        except (OSError, LogError) as error:
            yield f"{LOG}/{place.path}", str(error)

    def _tile(self, level: int, number: int) -> list[bytes]:
        """The hashes of a tile: at the right edge those of `check_signature`, others proved by the tile above."""
        if (level, number) not in self._tiles:
            hashes = split_tile(self._read(Place(level, number)), TILE_WIDTH)
            if tree_root(hashes) != self._tile(level + 1, number // TILE_WIDTH)[number % TILE_WIDTH]:
                raise LogError(f"{LOG}/{Place(level, number).path}: other hashes than those that were signed")
            self._tiles[level, number] = hashes
        return self._tiles[level, number]

    def _read(self, place: Place) -> bytes:
        """A place. The beginning of the full one replaces a partial one, which a later run may have deleted."""
        try:
            data = self._reader.whole(f"{LOG}/{place.path}", PLACE_MOST)
        except OSError:
            if place.width == TILE_WIDTH:
                raise
            data = self._reader.whole(f"{LOG}/{Place(place.level, place.number).path}", PLACE_MOST)
        return narrow(data, place)
