"""The log of another archive over HTTP: checkpoint, tiles and records, which are proved against the checkpoint."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import Any

from db.together import together
from etl.fetch.http import Fault, Http
from ledger.crypto.log_tree import leaf_hash, root_of_audit_path, tree_root
from ledger.transparency.checkpoint import SignedCheckpoint, open_checkpoint, parse_checkpoint, parse_origin
from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.keys import VerifierKey
from ledger.transparency.note import parse_note
from ledger.transparency.positions import last_milestone
from ledger.transparency.records import Record, parse_record
from ledger.transparency.tiled_tree import TiledTree, proved_root
from ledger.transparency.tiles import (
    TILE_WIDTH,
    Place,
    narrow,
    places_in_post_order,
    split_bundle,
    split_tile,
    width_at,
)

TIMEOUT_S = 30.0

AT_ONCE = 16

BYTES, TEXT = "application/octet-stream", "text/plain"


class RemoteLog:
    """A log at a URL, the prefix of its C2SP paths. `open` must succeed before the other methods.

    Attributes:
        url: the prefix.
        signed: the verified checkpoint.
        key: the key that signed it.
        is_key_given: whether the key was given, and not taken from the archive.
        first: the log's first milestone.
        last: the last milestone in it.
        is_whole: whether the archive has all records, and not only the tiles of a copy (etl/kept_proofs.py).
    """

    signed: SignedCheckpoint
    key: VerifierKey
    is_key_given: bool
    network: str
    first: int
    last: int
    is_whole: bool

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        self._http = Http(url, at_once=AT_ONCE, timeout_s=TIMEOUT_S)
        self.url = self._http.url
        self._tiles: dict[Place, bytes] = {}

    def __enter__(self) -> "RemoteLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._http.__aexit__(kind, value, trace))
        self._runner.close()

    @property
    def size(self) -> int:
        """The number of signed records."""
        return self.signed.checkpoint.size

    @property
    def origin(self) -> str:
        """The name of the log."""
        return self.signed.checkpoint.origin

    def open(
        self, keys: Sequence[VerifierKey], witnesses: Sequence[VerifierKey] = (), *, is_selective: bool = False
    ) -> None:
        """Reads the checkpoint, and verifies its signature and that the tiles at its edge lead to its root.

        Args:
            keys: known keys of logs. Without one for this log, the archive states its key.
            witnesses: known keys of witnesses.
            is_selective: the archive may have a copy of another log, without its records and all tiles.

        Raises:
            SignatureError: the signature is missing or invalid.
            LogError: the checkpoint or a tile is invalid.
            Fault: a request failed.
        """
        data = self._get(f"{self.url}/checkpoint", TEXT)
        note = parse_note(data)
        origin = parse_checkpoint(note.text).origin
        known = [key for key in keys if any(key.is_of(each) for each in note.signatures)]
        self.is_key_given = bool(known)
        if keys and not known:
            raise SignatureError("expected a signature of one of the given keys")
        self.key = known[0] if known else self._stated_key()
        self.signed = open_checkpoint(data, origin, self.key, witnesses)
        self.network, self.first = parse_origin(origin)
        try:
            self.last = last_milestone(self.first, self.size)
        except ValueError as error:
            raise LogError(str(error)) from error
        self.is_whole = not is_selective or self._has_records()
        if self.is_whole and TiledTree(self.size, self.tile).root() != self.signed.checkpoint.root:
            raise LogError(f"the tiles of size {self.size} do not lead to the signed root")

    def read_json(self, url: str) -> dict[str, Any]:
        """A JSON object of the same server. Raises Fault."""
        return self._runner.run(self._http.json(url))

    def root_at(self, size: int) -> bytes:
        """The root of the first `size` records, proved against the signed one. Raises LogError if it is not."""
        return proved_root(size, self.size, self.signed.checkpoint.root, self.tile)

    def tile(self, level: int, number: int, width: int) -> bytes:
        """The first hashes of a tile. Raises LogError if the archive does not have it."""
        whole = self.place(Place(level, number, width_at(self.size, level, number)))
        return narrow(whole, Place(level, number, width))

    def place(self, place: Place) -> bytes:
        """The content of a place. Raises LogError if the archive does not have it, Fault if the request failed."""
        if place not in self._tiles:
            self._tiles[place] = self._read([place])[0]
        return self._tiles[place]

    def record(self, index: int) -> bytes:
        """A record. Raises LogError unless its audit path leads to the signed root."""
        number, within = divmod(index, TILE_WIDTH)
        width = width_at(self.size, 0, number)
        found = split_bundle(self.place(Place(None, number, width)), width)[within]
        path = TiledTree(self.size, self.tile).audit_path(index)
        if root_of_audit_path(self.size, index, leaf_hash(found), path) != self.signed.checkpoint.root:
            raise LogError(f"record {index} is not proved: its audit path does not lead to the signed root")
        return found

    def parsed(self, index: int) -> Record:
        """A record. Raises what `record` raises, and LogError for unknown types."""
        return parse_record(self.record(index))

    def check_all(self, done: Callable[[int], None]) -> None:
        """Reads all bundles and tiles, and verifies that they lead to the signed root. `done` receives the number of
        records. Memory does not grow with the size of the log, which is not proved before the log is read.

        Raises:
            LogError: the first bundle or tile that differs.
        """
        hashes, places = defaultdict[int, bytes](bytes), places_in_post_order(self.size)
        while some := [*islice(places, AT_ONCE)]:
            for place, data in zip(some, self._read(some), strict=True):
                if place.level is None:
                    hashes[0] = b"".join(map(leaf_hash, split_bundle(data, place.width)))
                    done(place.number * TILE_WIDTH + place.width)
                    continue
                if data != hashes.pop(place.level, b""):
                    raise LogError(f"{place.path} differs from what it is computed from")
                if place.width == TILE_WIDTH:
                    hashes[place.level + 1] += tree_root(split_tile(data, TILE_WIDTH))

    def _has_records(self) -> bool:
        """Whether the archive has the first records. A copy has none."""
        try:
            self.place(Place(None, 0, width_at(self.size, 0, 0)))
        except LogError:
            return not self.size
        return True

    def _stated_key(self) -> VerifierKey:
        """The key that the server states, or a static archive in the file `verifier`."""
        try:
            stated = self.read_json(self.url).get("verifier")
        except Fault:
            stated = self._verifier_file()
        if not isinstance(stated, str):
            raise SignatureError("the archive states no key: give one with --key")
        return VerifierKey.parse(stated.strip())

    def _verifier_file(self) -> str | None:
        try:
            return self._get(f"{self.url}/verifier", TEXT).decode()
        except (Fault, UnicodeDecodeError):
            return None

    def _read(self, places: Sequence[Place]) -> list[bytes]:
        async def read() -> list[bytes]:
            return await together(*map(self._read_one, places))

        try:
            return self._runner.run(read())
        except Fault as fault:
            if fault.is_for_good:
                raise LogError(f"a tile of the signed size {self.size} is missing: {fault}") from fault
            raise

    async def _read_one(self, place: Place) -> bytes:
        """A place. A log that has grown may have only the full one, which begins with the partial one."""
        try:
            return await self._http.get(f"{self.url}/{place.path}", BYTES)
        except Fault as fault:
            if not fault.is_for_good or place.width == TILE_WIDTH:
                raise
        return narrow(await self._http.get(f"{self.url}/{replace(place, width=TILE_WIDTH).path}", BYTES), place)

    def _get(self, url: str, accept: str) -> bytes:
        async def read() -> bytes:
            return await self._http.get(url, accept)

        return self._runner.run(read())
