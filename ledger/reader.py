"""A cursor over bytes. Bad bytes raise only CodecError.

Invariants:
1. A read beyond the end raises. It never returns fewer bytes than requested.
2. Integers are little-endian, as everywhere in the protocol.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, BinaryIO, NoReturn, TypeVar

Value = TypeVar("Value")

_U32 = Struct("<I")


class CodecError(ValueError):
    """Bytes that do not follow the layout. `offset` is the position of the fault, `expected` what belongs there."""

    def __init__(self, offset: int, expected: str) -> None:
        super().__init__(f"at byte {offset}: expected {expected}")
        self.offset = offset
        self.expected = expected

    def __reduce__(self) -> tuple[type["CodecError"], tuple[int, str]]:
        # Pickling would rebuild the error from its message alone, and the error must survive the way back from a
        # worker.
        return CodecError, (self.offset, self.expected)


class Reader:
    """Reads `data` from its first byte. `offset` is public, so that a decoder can report where a field began."""

    __slots__ = ("data", "end", "offset")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0
        self.end = len(data)

    def unpack(self, layout: Struct, expected: str) -> tuple[Any, ...]:
        """Reads the fields of a fixed layout."""
        start = self.offset
        stop = start + layout.size
        if stop > self.end:
            self.fail(start, f"{expected} ({layout.size} bytes), found {self.end - start} bytes")
        self.offset = stop
        return layout.unpack_from(self.data, start)

    def take(self, size: int, expected: str) -> bytes:
        """Reads `size` raw bytes."""
        start = self.offset
        stop = start + size
        if stop > self.end:
            self.fail(start, f"{expected} ({size} bytes), found {self.end - start} bytes")
        self.offset = stop
        return self.data[start:stop]

    def u32(self, expected: str) -> int:
        """Reads a four-byte unsigned integer: a length or a payload tag."""
        value: int = self.unpack(_U32, expected)[0]
        return value

    def peek(self, expected: str) -> int:
        """Returns the next byte without reading it. A tag chooses the decoder, which then reads the tag as its first
        field.
        """
        if self.offset >= self.end:
            self.fail(self.offset, f"{expected}, found the end")
        return self.data[self.offset]

    def finish(self) -> None:
        """Rejects trailing bytes."""
        if self.offset != self.end:
            self.fail(self.offset, f"the end, found {self.end - self.offset} more bytes")

    def fail(self, offset: int, expected: str) -> NoReturn:
        """Raises CodecError."""
        raise CodecError(offset, expected)


class StreamReader:
    """A `Reader` for a buffered binary file. Offsets count from the first byte read. Memory does not grow with the
    file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.offset = 0

    def unpack(self, layout: Struct, expected: str) -> tuple[Any, ...]:
        """Reads the fields of a fixed layout."""
        return layout.unpack(self.take(layout.size, expected))

    def take(self, size: int, expected: str) -> bytes:
        """Reads `size` raw bytes."""
        data = self._file.read(size)
        if len(data) != size:
            self.fail(self.offset, f"{expected} ({size} bytes), found {len(data)} bytes")
        self.offset += size
        return data

    def nested(self, size: int, most: int, expected: str, decode: Callable[[Reader], Value]) -> Value:
        """Decodes the next `size` bytes, which `decode` must consume entirely. The size was just read as four bytes."""
        start = self.offset
        if size > most:  # check before allocating that much memory
            self.fail(start - 4, f"a {expected} of at most {most} bytes, found {size}")
        reader = Reader(self.take(size, expected))
        try:
            value = decode(reader)
            reader.finish()
        except CodecError as error:
            raise CodecError(start + error.offset, error.expected) from None
        return value

    def finish(self) -> None:
        """Rejects trailing bytes."""
        if self._file.read(1):
            self.fail(self.offset, "the end, found more bytes")

    def fail(self, offset: int, expected: str) -> NoReturn:
        """Raises CodecError."""
        raise CodecError(offset, expected)
