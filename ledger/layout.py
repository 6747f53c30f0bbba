"""Pieces of layout that several objects share: tagged items, payloads behind a length, sorted parents, limits.

Rules of this file: it knows no object of any protocol; tables of kinds come in as arguments.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any, NoReturn, TypeAlias

from ledger.reader import CodecError, Reader

MAX_PARENTS = 8
MAX_ITEMS = 127  # of Chrysalis: inputs, outputs, unlock blocks; an index of one is below it. Of both: migrated funds

_IDS = tuple(Struct("32s" * count) for count in range(MAX_PARENTS + 1))
_U32 = Struct("<I")


@dataclass(frozen=True, slots=True)
class Kind:
    """One tag of one family: what it is called, its class, and how it leaves and enters bytes."""

    name: str
    value: type
    decode: Callable[[Reader], Any]
    encode: Callable[[Any], bytes]


Kinds: TypeAlias = Mapping[int, Kind]  # by tag


def check_size(data: bytes, what: str, most: int) -> None:
    """Refuse bytes that are more than such an object may have."""
    if len(data) > most:
        raise CodecError(most, f"the end of a {what} of at most {most} bytes")


def decode_item(reader: Reader, kinds: Kinds, family: str) -> Any:
    """A value whose first byte is its tag."""
    tag = reader.peek(f"{family} type")
    kind = kinds.get(tag)
    if kind is None:
        refuse_tag(reader, kinds, family, tag)
    return kind.decode(reader)


def refuse_tag(reader: Reader, kinds: Kinds, family: str, tag: int) -> NoReturn:
    """Raise CodecError: at the reader stands the tag of no such kind."""
    raise CodecError(reader.offset, f"{family} type {_names(kinds)}, found {tag}")


def decode_items(reader: Reader, kinds: Kinds, family: str, count: int, most: int = MAX_ITEMS) -> tuple[Any, ...]:
    """`count` tagged values; the count was read just before, as two bytes."""
    if not 1 <= count <= most:
        raise CodecError(reader.offset - 2, f"1 to {most} of {family}, found {count}")
    return tuple([decode_item(reader, kinds, family) for _ in range(count)])


def decode_payload(reader: Reader, kinds: Kinds) -> Any:
    """A value whose first four bytes are its tag."""
    start = reader.offset
    tag = reader.u32("payload type")
    kind = kinds.get(tag)
    if kind is None:
        raise CodecError(start, f"payload type {_names(kinds)}, found {tag}")
    reader.offset = start
    return kind.decode(reader)


def decode_nested(reader: Reader, kinds: Kinds) -> Any:
    """A payload behind its length in four bytes, where 0 means none."""
    length = reader.u32("payload length")
    if length == 0:
        return None
    start = reader.offset
    payload = decode_payload(reader, kinds)
    if reader.offset != start + length:
        raise CodecError(start - 4, f"payload length {reader.offset - start}, as its payload has, found {length}")
    return payload


def encode_nested(payload: bytes) -> bytes:
    """An encoded payload, empty for none, behind its length."""
    return _U32.pack(len(payload)) + payload


def decode_parents(reader: Reader, count: int) -> tuple[bytes, ...]:
    """`count` ids; the count was read just before, as one byte."""
    start = reader.offset
    if not 1 <= count <= MAX_PARENTS:
        raise CodecError(start - 1, f"1 to {MAX_PARENTS} parents, found {count}")
    parents: tuple[bytes, ...] = reader.unpack(_IDS[count], "parents")
    if not ascending(parents):
        raise CodecError(start, "parents in ascending order, each once")
    return parents


def ascending(ids: tuple[bytes, ...]) -> bool:
    """Whether ids are sorted and unique, as parents must be."""
    last = b""
    for each in ids:
        if each <= last:
            return False
        last = each
    return True


def _names(kinds: Kinds) -> str:
    return " or ".join(f"{tag} ({kind.name})" for tag, kind in kinds.items())
