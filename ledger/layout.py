"""Layout elements that several objects share: tagged items, payloads with a length prefix, sorted parents, limits.

The module knows no protocol's objects. Callers pass the tables of kinds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any, NoReturn, TypeAlias

from ledger.reader import CodecError, Reader

MAX_PARENTS = 8
MAX_ITEMS = 127  # Chrysalis: inputs, outputs, unlock blocks; indices are below it. Both eras: migrated funds

_IDS = tuple(Struct("32s" * count) for count in range(MAX_PARENTS + 1))
_U32 = Struct("<I")


@dataclass(frozen=True, slots=True)
class Kind:
    """One tag of one family: its name, its class, its decoder and its encoder."""

    name: str
    value: type
    decode: Callable[[Reader], Any]
    encode: Callable[[Any], bytes]


Kinds: TypeAlias = Mapping[int, Kind]  # by tag


def check_size(data: bytes, what: str, most: int) -> None:
    """Rejects data that is longer than such an object may be."""
    if len(data) > most:
        raise CodecError(most, f"the end of a {what} of at most {most} bytes")


def decode_item(reader: Reader, kinds: Kinds, family: str) -> Any:
    """Decodes a value whose first byte is its tag."""
    tag = reader.peek(f"{family} type")
    kind = kinds.get(tag)
    if kind is None:
        reject_tag(reader, kinds, family, tag)
    return kind.decode(reader)


def reject_tag(reader: Reader, kinds: Kinds, family: str, tag: int) -> NoReturn:
    """Raises CodecError for an unknown tag at the reader's position."""
    raise CodecError(reader.offset, f"{family} type {_names(kinds)}, found {tag}")


def decode_items(reader: Reader, kinds: Kinds, family: str, count: int, most: int = MAX_ITEMS) -> tuple[Any, ...]:
    """Decodes `count` tagged values. The count was just read as two bytes."""
    if not 1 <= count <= most:
        raise CodecError(reader.offset - 2, f"1 to {most} of {family}, found {count}")
    return tuple([decode_item(reader, kinds, family) for _ in range(count)])


def decode_payload(reader: Reader, kinds: Kinds) -> Any:
    """Decodes a value whose first four bytes are its tag."""
    start = reader.offset
    tag = reader.u32("payload type")
    kind = kinds.get(tag)
    if kind is None:
        raise CodecError(start, f"payload type {_names(kinds)}, found {tag}")
    reader.offset = start
    return kind.decode(reader)


def decode_nested(reader: Reader, kinds: Kinds) -> Any:
    """Decodes a payload after its four-byte length; None if the length is 0."""
    length = reader.u32("payload length")
    if length == 0:
        return None
    start = reader.offset
    payload = decode_payload(reader, kinds)
    if reader.offset != start + length:
        raise CodecError(start - 4, f"payload length {reader.offset - start}, as its payload has, found {length}")
    return payload


def encode_nested(payload: bytes) -> bytes:
    """Prefixes an encoded payload with its length. Empty bytes encode a missing payload."""
    return _U32.pack(len(payload)) + payload


def decode_parents(reader: Reader, count: int) -> tuple[bytes, ...]:
    """Decodes `count` ids. The count was just read as one byte."""
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
