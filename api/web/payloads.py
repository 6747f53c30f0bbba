"""Payloads and their data as text for people, in both eras."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.web import formats
from api.web.exact_json import exact_json

NAMES: Mapping[int | None, str] = {
    None: "no payload",
    0: "transaction",
    1: "milestone",
    2: "indexation",
    4: "treasury transaction",
    5: "tagged data",
    6: "transaction",
    7: "milestone",
}
"""Type of a payload → name. Types 0 to 2 are of Chrysalis, 5 to 7 of Stardust."""

INDEXATION, TAGGED_DATA = 2, 5
"""Payload types of data with a tag."""

SHOWN_BYTES = 4_096
"""Bytes of data in a hex dump. Everything is in the raw bytes."""

JSON_CHARACTERS = 65_536
"""Characters of indented JSON; longer JSON is shown as text only."""


def name_of(kind: int | None) -> str:
    """Returns the name of a payload type."""
    return NAMES.get(kind, f"payload of type {kind}")


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a payload, tag or feature.

    Attributes:
        size: their number.
        text: the text in them; None if they are not readable text.
        json: the JSON in them, indented; None if they are no JSON object or list.
        dump: a hex dump of the first SHOWN_BYTES.
        hex: all of them as hex.
        is_cut: whether the dump is not complete.
    """

    size: int
    text: str | None
    json: str | None
    dump: str
    hex: str
    is_cut: bool


def tag_of(payload: Mapping[str, Any] | None) -> Data | None:
    """Returns the tag of tagged data (in Chrysalis: the index); None if the payload has none."""
    return _member(payload, "index" if payload and payload["type"] == INDEXATION else "tag")


def tagged_data_of(payload: Mapping[str, Any] | None) -> Data | None:
    """Returns the data of tagged data; None if the payload has none."""
    return _member(payload, "data")


def _member(payload: Mapping[str, Any] | None, name: str) -> Data | None:
    if payload is None or payload["type"] not in {INDEXATION, TAGGED_DATA} or not payload.get(name):
        return None
    return data_of(payload[name])


def data_of(text: str) -> Data:
    """Returns the bytes of hex digits, with or without 0x, in all forms."""
    data = formats.hex_bytes(text)
    readable = formats.readable(data) if data else None
    return Data(
        len(data),
        readable,
        indented(readable) if readable else None,
        formats.hex_lines(data[:SHOWN_BYTES]),
        data.hex(),
        len(data) > SHOWN_BYTES,
    )


def indented(text: str) -> str | None:
    """Returns a JSON object or list with a value a line; None for all other texts, and for JSON that is too long or
    cannot be shown exactly.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = exact_json(text)
        found = json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    if formats.readable(found.encode("utf-8", "surrogatepass")) is None:
        found = json.dumps(value, indent=2)
    return found if len(found) <= JSON_CHARACTERS else None
