"""The inputs of these tests: vectors that the repository ships, and the full data set where it is."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import chrysalis, layout, rest_json
from ledger.archive_json import VARIANTS, message_from_archive
from ledger.reader import Reader
from ledger.rest_parse import PARSE
from tests.conftest import ROOT, SHARED, needs_shared

VECTORS = ROOT / "tests" / "vectors" / "chrysalis"
IOTA = SHARED / "iota"


class Codec(NamedTuple):
    """One kind's functions, in one shape for all."""

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    render: Callable[[Any], Any]
    parse: Callable[[Any], Any]
    parse_archive: Callable[[Any], Any]


def codec(family: str, tag: int | None) -> Codec:
    if family == "message":
        return Codec(
            chrysalis.decode_message,
            chrysalis.encode_message,
            rest_json.message_json,
            rest_json.parse_message_json,
            message_from_archive,
        )
    assert tag is not None

    def decode_item(data: bytes) -> Any:
        reader = Reader(data)
        value = layout.decode_item(reader, chrysalis.KINDS[family], family)
        reader.finish()
        return value

    decode: dict[str, Callable[[bytes], Any]] = {
        "payload": chrysalis.decode_payload,
        "output": chrysalis.decode_output,
        "input": decode_item,
        "unlock": decode_item,
    }
    encode: dict[str, Callable[[Any], bytes]] = {
        "payload": chrysalis.encode_payload,
        "output": chrysalis.encode_output,
        "input": chrysalis.encode_input,
        "unlock": chrysalis.encode_unlock,
    }
    return Codec(
        decode[family],
        encode[family],
        rest_json.RENDER[family][tag],
        PARSE[family][tag],
        lambda value: VARIANTS[family][value["type"]](value["data"]),
    )


@cache
def load(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text())


class Case(NamedTuple):
    family: str
    tag: int | None
    vector: dict[str, Any]

    @property
    def codec(self) -> Codec:
        return codec(self.family, self.tag)

    @property
    def data(self) -> bytes:
        return bytes.fromhex(self.vector["bytes_hex"])


def cases() -> list[Any]:
    """A parameter for every vector of every kind, and of whole messages."""
    files = [json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))]
    return [
        pytest.param(Case(file["family"], file["tag"], vector), id=f"{file['family']}-{file['tag']}-{number}")
        for file in files
        if "family" in file
        for number, vector in enumerate(file["vectors"], 1)
    ]


def lines(path: Path) -> list[dict[str, Any]]:
    with path.open() as file:
        return [json.loads(line) for line in file]


def entries(*names: str) -> list[Any]:
    """A parameter for every Chrysalis entry of the full data set's files, or a skipped one where it is missing."""
    if not SHARED.is_dir():
        return [pytest.param({}, marks=needs_shared, id="missing")]
    return [
        pytest.param(entry, id=f"{name}:{number}")
        for name in names
        for number, entry in enumerate(lines(IOTA / "chrysalis" / f"{name}.jsonl"), 1)
    ]
