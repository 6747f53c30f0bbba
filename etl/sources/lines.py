"""Reads the lines of files, and reads them again by offset.

A line is identified by (file, line number from 1, offset, length) in the unpacked stream, so any task can read it
again.
"""

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeAlias

from etl.sources.limits import CHUNK_BYTES, DEFAULT, UNLIMITED, Limits, TooLarge, line_fault, read_rest
from etl.sources.raw_blocks import HEAD as RAW_HEAD
from etl.sources.raw_blocks import groups, is_packed
from etl.sources.static_blocks import is_static_block, static_groups
from etl.sources.unpacking import open_stream

VAA_HEAD = b"\x01\0\0\0"
"""The first bytes of a binary VAA: its version and a guardian set below 256. As packed blocks they would be a record of
1 byte.
"""

UTF8_BOM = b"\xef\xbb\xbf"
"""Begins text files of some programs. It is not part of the first line."""

MAX_LINES = (1 << 31) - 1
"""The largest line number that the tables can store."""

Skipped: TypeAlias = Callable[[int, str], None]
"""Receives the number of a line that is too long, and the reason."""


def reject_stream(number: int, reason: str) -> None:
    """Raises TooLarge for a line that is too long."""
    raise TooLarge(f"line {number}: {reason}")


def lines(
    stream: io.BufferedReader, limits: Limits = DEFAULT, skipped: Skipped = reject_stream
) -> Iterator[tuple[int, int, bytes]]:
    """Yields (line number from 1, offset, bytes) of each line that is not blank. A JSON document over several lines, a
    binary VAA and the records of one milestone of packed blocks or of a static archive also count as a line; records
    are numbered by record.

    A line that is too long is read in pieces and passed to `skipped`. A document or VAA that is too long raises
    TooLarge.
    """
    most = limits.line_bytes
    head = stream.peek(RAW_HEAD)[:RAW_HEAD]
    if head.startswith(VAA_HEAD):
        yield 1, 0, read_rest(stream, b"", most)
        return
    if is_static_block(head):
        yield from static_groups(
            stream, most, lambda number, size: skipped(number, line_fault(most or 0, size, "blocks"))
        )
        return
    if is_packed(head):
        yield from groups(stream, most, lambda number, size: skipped(number, line_fault(most or 0, size, "blocks")))
        return
    number = 0
    offset = len(stream.read(len(UTF8_BOM))) if head.startswith(UTF8_BOM) else 0
    while line := stream.readline(-1 if most is None else most + 1):
        number += 1
        if number > MAX_LINES:
            raise TooLarge(f"file: at most {MAX_LINES} lines expected, found more")
        if most is not None and len(line) > most:
            length = len(line) + _rest_of_line(stream, line)
            skipped(number, line_fault(most, length))
            offset += length
            continue
        if number == 1 and line.strip() in (b"{", b"["):
            yield 1, offset, read_rest(stream, line, most)
            return
        if not line.isspace():
            yield number, offset, line
        offset += len(line)


def _rest_of_line(stream: io.BufferedReader, begun: bytes) -> int:
    """Reads to the end of a line. Returns the number of bytes."""
    count, piece = 0, begun
    while not piece.endswith(b"\n") and (piece := stream.readline(CHUNK_BYTES)):
        count += len(piece)
    return count


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
            self._path, self._stream, self._position = path, open_stream(path, UNLIMITED), 0
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
    while count > 0 and (chunk := stream.read(min(count, CHUNK_BYTES))):
        count -= len(chunk)
