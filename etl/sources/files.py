"""Lists archive files and reads their lines by offset, plain or compressed.

A line is identified by (file, line number from 1, offset, length) in the uncompressed stream, so any task can read it
again. Compression is detected from the first bytes, not from the name.
"""

import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import zstandard

from etl.sources.raw_blocks import BLOCK_SUFFIX, MILESTONE_SUFFIX, groups, is_packed, pack_folder
from etl.sources.raw_blocks import HEAD as RAW_HEAD

SUFFIXES = (".log", ".log.fin", ".log.active", ".part", ".jsonl", ".blocks")
COMPRESSIONS = (".gz", ".zst")

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

VAA_HEAD = b"\x01\0\0\0"
"""The first bytes of a binary VAA: its version and a guardian set below 256. As packed blocks they would be a record of
1 byte.
"""

PACKED_BYTES = 1 << 15
"""Compressed bytes that are unpacked at a time. The result is in memory."""

BUFFER_BYTES = 1 << 17


def archive_files(paths: list[Path]) -> list[Path]:
    """Lists the files below `paths`, sorted. A named file is used whatever its suffix; a directory contributes the
    files with a known suffix; a directory of raw blocks is a single file. Raises FileNotFoundError for a missing path,
    and ValueError if there are no files.
    """
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or directory")
        if path.is_file():
            found.add(path)
        else:
            for child in filter(Path.is_file, path.rglob("*")):
                if child.suffix in (BLOCK_SUFFIX, MILESTONE_SUFFIX):
                    found.add(child.parent)
                elif _is_archive(child.name):
                    found.add(child)
    if not found:
        kinds = ", ".join(SUFFIXES)
        raise ValueError(
            f"{', '.join(map(str, paths))}: no archive file ({kinds}, also with .gz or .zst; {BLOCK_SUFFIX}, "
            f"{MILESTONE_SUFFIX})"
        )
    return sorted(found)


def _is_archive(name: str) -> bool:
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name.endswith(SUFFIXES)


def open_stream(path: str) -> io.BufferedReader:
    """Opens the uncompressed bytes of a file, or the packed form of a directory of raw blocks. Reading raises EOFError
    for a truncated compressed file, and OSError for a damaged one.
    """
    if Path(path).is_dir():
        return io.BufferedReader(io.BytesIO(pack_folder(Path(path))), BUFFER_BYTES)
    raw = Path(path).open("rb")  # noqa: SIM115 (the caller closes it)
    magic = raw.read(4)
    raw.seek(0)
    if magic.startswith(GZIP_MAGIC):
        return io.BufferedReader(_Unpacked(raw, _gzip_member), BUFFER_BYTES)
    if magic == ZSTD_MAGIC:
        return io.BufferedReader(_Unpacked(raw, _zstd_frame), BUFFER_BYTES)
    return raw


class _Piece(Protocol):
    """The decompressor of a gzip member or zstd frame."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _gzip_member() -> _Piece:
    return cast(_Piece, zlib.decompressobj(wbits=31))


def _zstd_frame() -> _Piece:
    return cast(_Piece, zstandard.ZstdDecompressor().decompressobj())


class _Unpacked(io.RawIOBase):
    """Decompresses members one after another. The streams of both libraries accept truncated files or leak them."""

    def __init__(self, raw: BinaryIO, begin: Callable[[], _Piece]) -> None:
        self._raw, self._begin = raw, begin
        self._piece: _Piece | None = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            packed = self._packed or self._raw.read(PACKED_BYTES)
            if not packed:
                if self._piece is not None:
                    raise EOFError("the compressed file is cut off")
                return 0
            self._unpack(packed)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unpack(self, packed: bytes) -> None:
        piece = self._piece or self._begin()
        try:
            self._ready = memoryview(piece.decompress(packed))
        except (zlib.error, zstandard.ZstdError) as error:
            raise OSError(f"the compressed file is damaged: {error}") from error
        self._packed = piece.unused_data if piece.eof else b""
        self._piece = None if piece.eof else piece

    def close(self) -> None:
        self._raw.close()
        super().close()


def lines(stream: io.BufferedReader) -> Iterator[tuple[int, int, bytes]]:
    """Yields (line number from 1, offset, bytes) of each line that is not blank. A JSON document over several lines, a
    binary VAA and the records of one milestone of packed blocks also count as a line; records are numbered by record.
    """
    head = stream.peek(RAW_HEAD)[:RAW_HEAD]
    if head.startswith(VAA_HEAD):
        yield 1, 0, stream.read()
        return
    if is_packed(head):
        yield from groups(stream)
        return
    offset = 0
    for number, line in enumerate(stream, 1):
        if number == 1 and line.strip() in (b"{", b"["):
            yield 1, 0, line + stream.read()
            return
        if not line.isspace():
            yield number, offset, line
        offset += len(line)


class LineReader:
    """Reads lines by offset. Ascending offsets need a single pass over the file, even if it is compressed."""

    def __init__(self) -> None:
        self._path = ""
        self._stream: io.BufferedReader | None = None
        self._position = 0

    def read(self, path: str, offset: int, length: int) -> bytes:
        """Reads the bytes of a line. Raises EOFError if the file no longer contains them."""
        if self._stream is None or path != self._path or offset < self._position:
            self.close()
            self._path, self._stream, self._position = path, open_stream(path), 0
        try:
            _skip(self._stream, offset - self._position)
            data = self._stream.read(length)
        except (OSError, EOFError):
            self.close()
            raise
        self._position = offset + len(data)
        if len(data) != length:
            raise EOFError(f"{path}: {length} bytes expected at {offset}, found {len(data)}")
        return data

    def close(self) -> None:
        """Closes the open file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _skip(stream: BinaryIO, count: int) -> None:
    if stream.seekable():
        stream.seek(count, io.SEEK_CUR)
        return
    while count > 0 and (chunk := stream.read(min(count, 1 << 20))):
        count -= len(chunk)
