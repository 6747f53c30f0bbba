"""Field decoders for payloads, and the decoding of a layout: named fields in sequence.

Invariants:
1. Integers are big-endian.
2. A truncated field raises CodecError with its name and offset. The caller decides whether trailing bytes are allowed.
3. Padding is removed from texts. Bytes that are not UTF-8 (a name cut inside a character) become U+FFFD.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, TypeAlias

from ledger.reader import Reader

Field: TypeAlias = tuple[str, Callable[[Reader, str], Any]]
"""A field's name and decoder."""

Layout: TypeAlias = Sequence[Field]

PADDING = b"\0\x02\x06\t\x12"
"""Bytes that some emitters use as padding before and after names."""


def decode_fields(reader: Reader, layout: Layout) -> dict[str, Any]:
    """Decodes the fields in order, by name. Raises CodecError."""
    return {name: read(reader, name) for name, read in layout}


def _number(code: str) -> Callable[[Reader, str], int]:
    layout = Struct(">" + code)

    def read(reader: Reader, name: str) -> int:
        value: int = reader.unpack(layout, name)[0]
        return value

    return read


u8, u16, u32, u64 = (_number(code) for code in "BHIQ")


def u256(reader: Reader, name: str) -> int:
    """Decodes a 32-byte integer."""
    return int.from_bytes(reader.take(32, name))


def raw(size: int) -> Callable[[Reader, str], bytes]:
    """Creates a decoder of `size` bytes."""
    return lambda reader, name: reader.take(size, name)


ADDRESS = raw(32)
EVM_ADDRESS = raw(20)


def rest(reader: Reader, name: str) -> bytes:
    """Decodes all remaining bytes."""
    return reader.take(reader.end - reader.offset, name)


def sized(length: Callable[[Reader, str], int]) -> Callable[[Reader, str], bytes]:
    """Creates a decoder of bytes after their length."""
    return lambda reader, name: reader.take(length(reader, f"{name} length"), name)


def text(size: int) -> Callable[[Reader, str], str]:
    """Creates a decoder of a name in a field of `size` bytes."""
    return lambda reader, name: clean(reader.take(size, name))


def clean(data: bytes) -> str:
    """Decodes a text and removes its padding."""
    return data.strip(PADDING).decode("utf-8", "replace")


def listed(count: Callable[[Reader, str], int], item: Callable[[Reader, str], Any]) -> Callable[[Reader, str], Any]:
    """Creates a decoder of a count followed by that many items."""
    return lambda reader, name: tuple([item(reader, name) for _ in range(count(reader, f"{name} count"))])
