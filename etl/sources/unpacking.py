"""Opens input files as streams of unpacked bytes. Compression (gzip, zstd) is detected from the first bytes, not from
the name.
"""

import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import zstandard

from etl.sources.limits import DEFAULT, Limits, TooLarge
from etl.sources.raw_blocks import pack_folder

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_MAGIC = b"\x50\x2a\x4d\x18"
"""Begins a frame of zstd without content. Static archives begin with one."""

GZIP_STEP, ZSTD_STEP = 1 << 14, 1 << 9
"""Compressed bytes that are unpacked at a time. The result is in memory: at most 17 MiB, because a byte of gzip
gives at most 1,032 bytes, and the four bytes of the smallest block of zstd give 128 KiB.
"""

BUFFER_BYTES = 1 << 17


def open_stream(path: str, limits: Limits = DEFAULT) -> io.BufferedReader:
    """Opens the uncompressed bytes of a file, or the packed form of a directory of raw blocks. Reading raises EOFError
    for a truncated compressed file, OSError for a damaged one, and TooLarge for one that unpacks to too many bytes.
    """
    if Path(path).is_dir():
        return io.BufferedReader(io.BytesIO(pack_folder(Path(path))), BUFFER_BYTES)
    raw = Path(path).open("rb")  # noqa: SIM115 (the caller closes it)
    try:
        magic = raw.read(4)
        raw.seek(0)
    except OSError:
        raw.close()
        raise
    if magic.startswith(GZIP_MAGIC):
        return io.BufferedReader(_Unpacked(raw, _gzip_member, GZIP_STEP, limits.unpacked_bytes), BUFFER_BYTES)
    if magic in (ZSTD_MAGIC, SKIPPABLE_MAGIC):
        return io.BufferedReader(_Unpacked(raw, _zstd_frame, ZSTD_STEP, limits.unpacked_bytes), BUFFER_BYTES)
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

    def __init__(self, raw: BinaryIO, begin: Callable[[], _Piece], step: int, most: int | None) -> None:
        self._raw, self._begin, self._step, self._most = raw, begin, step, most
        self._piece: _Piece | None = None
        self._packed = b""
        self._ready = memoryview(b"")
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            packed = self._packed or self._raw.read(self._step)
            if not packed:
                if self._piece is not None:
                    raise EOFError("the compressed file is cut off")
                return 0
            self._unpack(packed)
        count = min(len(buffer), len(self._ready))
        self._given += count
        if self._most is not None and self._given > self._most:
            raise TooLarge(
                f"file: at most {self._most} bytes expected after decompression (etl.max_unpacked_bytes), found more"
            )
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
