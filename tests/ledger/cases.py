"""Inputs of the ledger tests: the shipped vectors, and the full data set if present."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import layout
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis import json as rest_json
from ledger.chrysalis.archive_json import VARIANTS, message_from_archive
from ledger.chrysalis.json_parse import PARSE
from ledger.reader import Reader
from ledger.stardust import codec as stardust
from ledger.stardust import json as stardust_json
from ledger.stardust.json_parse import PACK, parse_block_json
from tests.conftest import ROOT, SHARED, needs_shared

VECTORS = ROOT / "tests" / "vectors"
IOTA = SHARED / "iota"


class Codec(NamedTuple):
    """One kind's functions, with the same signatures for all kinds."""

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    render: Callable[[Any], Any]
    parse: Callable[[Any], Any]


class Era(NamedTuple):
    """One protocol's codec: its tables, and the functions for what the tables do not cover."""

    kinds: Mapping[str, layout.Kinds]
    render: Mapping[str, Mapping[int, Callable[[Any], Any]]]
    parse: Callable[[str, int], Callable[[Any], Any]]
    whole: dict[str, Codec]  # by family: the vertex of the tangle, which has no tag


def decoder(kinds: layout.Kinds, family: str) -> Callable[[bytes], Any]:
    """Reads one value of a family and all of the bytes."""

    def decode(data: bytes) -> Any:
        reader = Reader(data)
        value = (
            layout.decode_payload(reader, kinds) if family == "payload" else layout.decode_item(reader, kinds, family)
        )
        reader.finish()
        return value

    return decode


def stardust_parser(family: str, tag: int) -> Callable[[Any], Any]:
    decode = decoder(stardust.KINDS[family], family)
    return lambda value: decode(PACK[family][tag](value))


ERAS = {
    "chrysalis": Era(
        chrysalis.KINDS,
        rest_json.RENDER,
        lambda family, tag: PARSE[family][tag],
        {
            "message": Codec(
                chrysalis.decode_message,
                chrysalis.encode_message,
                rest_json.message_json,
                rest_json.parse_message_json,
            )
        },
    ),
    "stardust": Era(
        stardust.KINDS,
        stardust_json.RENDER,
        stardust_parser,
        {"block": Codec(stardust.decode_block, stardust.encode_block, stardust_json.block_json, parse_block_json)},
    ),
}


def codec(era: str, family: str, tag: int | None) -> Codec:
    kinds, render, parse, whole = ERAS[era]
    if tag is None:
        return whole[family]
    return Codec(decoder(kinds[family], family), kinds[family][tag].encode, render[family][tag], parse(family, tag))


@cache
def load(name: str, era: str = "chrysalis") -> Any:
    return json.loads((VECTORS / era / f"{name}.json").read_text())


class Case(NamedTuple):
    era: str
    family: str
    tag: int | None
    vector: dict[str, Any]

    @property
    def codec(self) -> Codec:
        return codec(self.era, self.family, self.tag)

    @property
    def data(self) -> bytes:
        return bytes.fromhex(self.vector["bytes_hex"])

    def parse_archive(self, value: Any) -> Any:
        """The value of the archive's JSON, which only Chrysalis has."""
        return message_from_archive(value) if self.tag is None else VARIANTS[self.family][value["type"]](value["data"])


def cases(*eras: str) -> list[Any]:
    """A parameter for every vector of every kind, and of whole messages, of these eras; without Chrysalis there are
    none.
    """
    files = [
        (era, json.loads(path.read_text()))
        for era in eras or ("chrysalis",)
        for path in sorted((VECTORS / era).glob("*.json"))
    ]
    return [
        pytest.param(
            Case(era, file["family"], file["tag"], vector), id=f"{era}-{file['family']}-{file['tag']}-{number}"
        )
        for era, file in files
        if "family" in file
        for number, vector in enumerate(file["vectors"], 1)
    ]


def lines(path: Path) -> list[dict[str, Any]]:
    with path.open() as file:
        return [json.loads(line) for line in file]


def entries(*names: str, era: str = "chrysalis") -> list[Any]:
    """A parameter for every entry of an era in the full data set's files, or a skipped one if the
    data set is missing.
    """
    if not SHARED.is_dir():
        return [pytest.param({}, marks=needs_shared, id="missing")]
    return [
        pytest.param(entry, id=f"{name}:{number}")
        for name in names
        for number, entry in enumerate(lines(IOTA / era / f"{name}.jsonl"), 1)
    ]
