"""The files of a log below a lake: tiles and bundles at their paths of C2SP tlog-tiles, `head` and `checkpoint`.

Invariants:
1. A file is replaced as a whole, and is durable before the next one that depends on it.
2. `head` is written after all tiles of its size, `checkpoint` after `head`. Files beyond the head do not count.
3. Any HTTP server that delivers the folder serves the log.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pyarrow.fs import FileType

from db.queries.log import LogHead
from etl.engine.file_systems import file_system
from ledger.transparency.checkpoint import parse_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.tiles import TILE_WIDTH, Place, TileReader, narrow, width_at

HEAD, CHECKPOINT, COSIGNED, VERIFIER = "head", "checkpoint", "cosigned", "verifier"
"""Names of the files beside the tiles. `head` is the text of a checkpoint without signatures."""


class LogFiles:
    """The files of a network's log, below a local lake or the URL of one."""

    def __init__(self, lake: str, network: str) -> None:
        self.network = network
        self.folder = f"{lake}/log/{network}"
        self._local = None if "://" in lake else Path(self.folder)
        self._files = None if self._local else file_system(self.folder)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if it does not exist."""
        if self._local is not None:
            try:
                return (self._local / name).read_bytes()
            except FileNotFoundError:
                return None
        assert self._files is not None
        if self._files.get_file_info(name).type == FileType.NotFound:
            return None
        with self._files.open_input_stream(name) as file:
            return bytes(file.read())

    def write(self, name: str, data: bytes) -> None:
        """Creates or replaces a file as a whole."""
        if self._local is None:
            assert self._files is not None
            # delta-rs takes bytes, which only a buffered stream passes on.
            with self._files.open_output_stream(name, buffer_size=len(data) + 1) as file:
                file.write(data)
            return
        path = self._local / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.new")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def write_place(self, place: Place, data: bytes) -> None:
        """Writes a tile or bundle. The partial ones before a full one are deleted."""
        self.write(place.path, data)
        if place.width == TILE_WIDTH:
            self._delete_folder(f"{place.path}.p")

    def read_place(self, place: Place) -> bytes:
        """A tile or bundle. The beginning of a full one replaces a partial one. Raises LogError if neither exists."""
        data = self.read(place.path)
        if data is not None:
            return data
        data = self.read(replace(place, width=TILE_WIDTH).path)
        if data is None:
            raise LogError(f"expected a file {self.folder}/{place.path}")
        return narrow(data, place)

    def tiles(self, size: int) -> TileReader:
        """Reads tiles of the log of `size` records, and of any smaller log."""

        def read(level: int, number: int, width: int) -> bytes:
            stored = Place(level, number, width_at(size, level, number))
            return narrow(self.read_place(stored), Place(level, number, width))

        return read

    def head(self) -> LogHead | None:
        """What was written last; None if there is no log.

        Raises:
            LogError: the file `head` is not a checkpoint's text.
        """
        newest = self.read(HEAD)
        if newest is None:
            return None
        verifier = self.read(VERIFIER)
        return LogHead(
            parse_checkpoint(newest.decode()),
            None if verifier is None else verifier.decode().strip(),
            self.read(CHECKPOINT),
            self.read(COSIGNED),
        )

    def write_head(self, head: LogHead) -> None:
        """Writes what differs from the files: `head` first, `checkpoint` after it."""
        for name, data in _texts(head):
            if data is not None and self.read(name) != data:
                self.write(name, data)

    def _delete_folder(self, name: str) -> None:
        if self._local is not None:
            folder = self._local / name
            with suppress(FileNotFoundError):
                for each in folder.iterdir():
                    each.unlink()
                folder.rmdir()
        elif self._files is not None and self._files.get_file_info(name).type == FileType.Directory:
            self._files.delete_dir(name)


def _texts(head: LogHead) -> Iterator[tuple[str, bytes | None]]:
    yield HEAD, head.newest.text.encode()
    yield VERIFIER, None if head.verifier is None else f"{head.verifier}\n".encode()
    yield CHECKPOINT, head.checkpoint
    yield COSIGNED, head.cosigned
