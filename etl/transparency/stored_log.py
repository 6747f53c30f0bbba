"""The log of a network in its two places: files in the lake, which are the original, and rows in the store.

Files are written before rows. Whatever ends a run in between, the next one compares the shorter copy with the longer
one and completes it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from db import schema
from db.queries.log import LogHead, head_values, key_of
from db.store import WritableStore
from etl.store_reads import StoreReads
from etl.transparency.history import LogForked, check_same
from etl.transparency.log_files import LogFiles
from ledger.transparency.checkpoint import Checkpoint, parse_origin
from ledger.transparency.errors import LogError
from ledger.transparency.positions import milestone_at
from ledger.transparency.tiled_tree import TiledTree
from ledger.transparency.tiles import (
    TILE_WIDTH,
    Place,
    TileReader,
    narrow,
    places_of,
    split_bundle,
    width_at,
)

AT_ONCE = 500
"""Tiles and bundles per transaction of the store: at most 15 MB."""

LAKE, STORE = "the lake", "the store"


class StoredLog:
    """Both copies of a log. `head` is what both have since `open`; None without a log."""

    def __init__(self, files: LogFiles, store: WritableStore, reads: StoreReads) -> None:
        self.files = files
        self.head: LogHead | None = None
        self._store = store
        self._reads = reads

    def find(self) -> LogHead | None:
        """Compares the copies, and returns the head of the longer one. Changes nothing.

        Raises:
            LogForked: the copies differ, or a checkpoint was signed that the log does not extend.
            LogError: tiles are missing or do not lead to their root.
        """
        in_lake, in_store = self.files.head(), self._reads.log_head()
        copies = [
            (each, read(each.newest.size))
            for each, read in ((in_lake, self.files.tiles), (in_store, self._rows_of))
            if each is not None
        ]
        if len(copies) == 2:
            (one, tiles), (other, other_tiles) = copies
            check_same(one.newest, tiles, other.newest, other_tiles, (LAKE, STORE))
        if not copies:
            return None
        longest, tiles = max(copies, key=lambda each: each[0].newest.size)
        for each, _ in copies:
            if each.signed is not None:
                _check_signed(each.signed, longest.newest, tiles)
        signed = max((each for each, _ in copies), key=lambda each: -1 if each.signed is None else each.signed.size)
        cosigned = [each.cosigned for each, _ in copies if each.cosigned is not None]
        return LogHead(
            longest.newest, signed.verifier, signed.checkpoint, max(cosigned, key=_size_of) if cosigned else None
        )

    def is_in_lake(self, head: LogHead) -> bool:
        """Whether the files contain the log up to this head."""
        in_lake = self.files.head()
        return in_lake is not None and in_lake.newest == head.newest

    def read_bundle(self, place: Place) -> bytes:
        """A bundle of the newest size, from the copy that has it."""
        data = self.files.read(place.path)
        return self._row(place) if data is None else data

    def open(self, *, again: bool = False) -> None:
        """Completes the shorter copy. `again`: writes all rows of the store. Raises what `find` raises."""
        head = self.find()
        if head is None:
            return
        in_lake, in_store = self.files.head(), self._reads.log_head()
        if in_lake != head:
            for place in places_of(head.newest.size, 0 if in_lake is None else in_lake.newest.size):
                if in_lake is None or in_lake.newest != head.newest:
                    self.files.write_place(place, self._row(place))
            self.files.write_head(head)
        if again or in_store != head:
            older = 0 if again or in_store is None else in_store.newest.size
            pieces = ((place, self.files.read_place(place)) for place in places_of(head.newest.size, older))
            self.write_rows(pieces)
            self._write_head_row(head)
        self.head = head

    def records(self) -> Iterator[bytes]:
        """The records up to the head, from the files."""
        size = 0 if self.head is None else self.head.newest.size
        for number in range(-(-size // TILE_WIDTH)):
            place = Place(None, number, width_at(size, 0, number))
            yield from split_bundle(self.files.read_place(place), place.width)

    def write_rows(self, pieces: Iterable[tuple[Place, bytes]]) -> None:
        """Writes tiles and bundles to the store."""
        rest = ((*key_of(place), place.width, data) for place, data in pieces)
        while rows := list(islice(rest, AT_ONCE)):
            with self._store.batch() as batch:
                batch.upsert(schema.log_tiles, schema.log_tiles.names, rows)

    def publish(self, head: LogHead) -> None:
        """Writes the head to the files, then to the store. All its tiles must be in both."""
        if head != self.head:
            self.files.write_head(head)
            self._write_head_row(head)
            self.head = head

    def accept(self, cosigned: bytes, size: int) -> None:
        """Stores a checkpoint with cosignatures; it replaces the newest one of the same size."""
        assert self.head is not None
        is_newest = self.head.signed is not None and self.head.signed.size == size
        checkpoint = cosigned if is_newest else self.head.checkpoint
        self.publish(replace(self.head, cosigned=cosigned, checkpoint=checkpoint))

    def _write_head_row(self, head: LogHead) -> None:
        with self._store.batch() as batch:
            batch.upsert(schema.log_heads, schema.log_heads.names, [head_values(self._reads.network, head)])

    def _rows_of(self, size: int) -> TileReader:
        return lambda level, number, width: narrow(
            self._row(Place(level, number, width_at(size, level, number))), Place(level, number, width)
        )

    def _row(self, place: Place) -> bytes:
        return row_of(self._reads, place)


def row_of(reads: StoreReads, place: Place) -> bytes:
    """The content of a place in a store. Raises LogError if it does not have it."""
    (row,) = reads.many(schema.log_tiles, [key_of(place)])
    if row is None or row["width"] < place.width:
        raise LogError(f"expected {place.path} in the store")
    return narrow(row["data"], place)


def _size_of(cosigned: bytes) -> int:
    size = LogHead(Checkpoint("", 0, b""), checkpoint=cosigned).signed
    assert size is not None
    return size.size


def _check_signed(signed: Checkpoint, newest: Checkpoint, tiles: TileReader) -> None:
    """Raises LogForked if the log does not extend what was signed."""
    if signed.origin != newest.origin or signed.size > newest.size:
        raise LogForked(
            f"fork: a checkpoint of {signed.origin} with {signed.size} records was signed, and the log is "
            f"{newest.origin} with {newest.size}. Nothing was changed"
        )
    if signed != newest and TiledTree(signed.size, tiles).root() != signed.root:
        milestone = milestone_at(parse_origin(signed.origin)[1], signed.size - 1)
        raise LogForked(
            f"fork of the log {signed.origin} at milestone {milestone} or before it: its {signed.size} records do not "
            "lead to the root that was signed. Nothing was changed"
        )
