"""Pieces that payloads are laid out with, and the reading of a layout: fields one after the other, by name.

Rules of this file: integers are big-endian; a field that is cut short raises CodecError with its name and offset; the
caller decides whether anything may follow. A text's padding goes, as does what some emitters pad with; what is no UTF-8
(a name cut inside a character) becomes U+FFFD.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, TypeAlias

from ledger.reader import Reader

Field: TypeAlias = tuple[str, Callable[[Reader, str], Any]]
"""A name, and what reads its value."""

Layout: TypeAlias = Sequence[Field]

PADDING = b"\0\x02\x06\t\x12"
"""What stood before and behind names that were met."""


def decode_fields(reader: Reader, layout: Layout) -> dict[str, Any]:
    """Name → value of each field, in their order. Raises CodecError."""
    return {name: read(reader, name) for name, read in layout}


def _number(code: str) -> Callable[[Reader, str], int]:
    layout = Struct(">" + code)

    def read(reader: Reader, name: str) -> int:
        value: int = reader.unpack(layout, name)[0]
        return value

    return read


u8, u16, u32, u64 = (_number(code) for code in "BHIQ")


def u256(reader: Reader, name: str) -> int:
    """A number of 32 bytes."""
    return int.from_bytes(reader.take(32, name))


def raw(size: int) -> Callable[[Reader, str], bytes]:
    """So many bytes."""
    return lambda reader, name: reader.take(size, name)


ADDRESS = raw(32)
EVM_ADDRESS = raw(20)


def rest(reader: Reader, name: str) -> bytes:
    """All that is left."""
    return reader.take(reader.end - reader.offset, name)


def sized(length: Callable[[Reader, str], int]) -> Callable[[Reader, str], bytes]:
    """Bytes behind their length."""
    return lambda reader, name: reader.take(length(reader, f"{name} length"), name)


def text(size: int) -> Callable[[Reader, str], str]:
    """A name in a field of that many bytes."""
    return lambda reader, name: clean(reader.take(size, name))


def clean(data: bytes) -> str:
    """A text without its padding."""
    return data.strip(PADDING).decode("utf-8", "replace")


def listed(count: Callable[[Reader, str], int], item: Callable[[Reader, str], Any]) -> Callable[[Reader, str], Any]:
    """A count, and so many items."""
    return lambda reader, name: tuple([item(reader, name) for _ in range(count(reader, f"{name} count"))])
