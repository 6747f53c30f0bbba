"""Archive files: which there are, and their lines by offset, plain or compressed.

Rules of this file: a line is named by (file, line from 1, offset, length) in the uncompressed stream, so that any task
can read it again; compression is told by the first bytes, never by the name.
"""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

SUFFIXES = (".log", ".log.fin", ".log.active", ".part", ".jsonl")
COMPRESSIONS = (".gz", ".zst")

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def archive_files(paths: list[Path]) -> list[Path]:
    """The files below `paths`, sorted: a file named outright is taken as it is, a directory gives those with a known
    suffix. FileNotFoundError names a path that is not there; ValueError says when nothing was found."""
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or directory")
        if path.is_file():
            found.add(path)
        else:
            found.update(child for child in path.rglob("*") if child.is_file() and _is_archive(child.name))
    if not found:
        kinds = ", ".join(SUFFIXES)
        raise ValueError(f"{', '.join(map(str, paths))}: no archive file ({kinds}, also with .gz or .zst)")
    return sorted(found)


def _is_archive(name: str) -> bool:
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name.endswith(SUFFIXES)


def open_stream(path: str) -> BinaryIO:
    """The uncompressed bytes of a file."""
    raw = open(path, "rb")
    magic = raw.read(4)
    raw.seek(0)
    if magic.startswith(GZIP_MAGIC):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if magic == ZSTD_MAGIC:
        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True))
    return raw


def lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """(line from 1, offset, bytes without the line end) of each line that holds more than white space."""
    offset = 0
    for number, line in enumerate(stream, 1):
        if not line.isspace():
            yield number, offset, line
        offset += len(line)


class LineReader:
    """Reads lines by offset; ascending offsets of one file cost one pass, also when it is compressed."""

    def __init__(self) -> None:
        self._path = ""
        self._stream: BinaryIO | None = None
        self._position = 0

    def read(self, path: str, offset: int, length: int) -> bytes:
        """The bytes of one line; EOFError when the file no longer holds them."""
        if self._stream is None or path != self._path or offset < self._position:
            self.close()
            self._path, self._stream, self._position = path, open_stream(path), 0
        if offset != self._position:
            _skip(self._stream, offset - self._position)
        data = self._stream.read(length)
        self._position = offset + len(data)
        if len(data) != length:
            raise EOFError(f"{path}: {length} bytes expected at {offset}, found {len(data)}")
        return data

    def close(self) -> None:
        """Closes the file that is open."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _skip(stream: BinaryIO, count: int) -> None:
    if stream.seekable():
        stream.seek(count, io.SEEK_CUR)
        return
    while count > 0 and (chunk := stream.read(min(count, 1 << 20))):
        count -= len(chunk)
