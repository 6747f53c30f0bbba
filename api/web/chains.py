"""Aliases, foundries and NFTs as pages show them: their ids, their features, and the JSON in their metadata."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from api.web import formats
from api.web.exact_json import exact_json
from ledger.ids import chain_id

SENDER, ISSUER, METADATA, TAG = range(4)
"""Types of features."""

CONTROLLER, GOVERNOR = 4, 5
"""Types of an alias's unlock conditions."""

FIELDS_MAX = 100
"""The most fields of metadata that are shown as such; its text has all of them."""

VALUE_MAX = 500
"""Characters of a field's value that are shown; the text of the metadata has all of them."""

DECIMALS_MAX = 38
"""The most decimals of a native token that its amounts are written with."""


def chain_id_of(output_id: str, given: str) -> str:
    """The id of an alias or NFT, with 0x. The output that creates it has only zeros in place of the id."""
    return given if given.strip("0x") else f"0x{chain_id(formats.hex_bytes(output_id)).hex()}"


def feature(output: Mapping[str, Any], type_: int, *, immutable: bool = False) -> Mapping[str, Any] | None:
    """The feature of a type in an output's JSON, if it has one."""
    features: Sequence[Mapping[str, Any]] = output.get("immutableFeatures" if immutable else "features", ())
    return next((each for each in features if each["type"] == type_), None)


def condition(output: Mapping[str, Any], type_: int) -> Mapping[str, Any] | None:
    """The unlock condition of a type in an output's JSON, if it has one."""
    conditions: Sequence[Mapping[str, Any]] = output.get("unlockConditions", ())
    return next((each for each in conditions if each["type"] == type_), None)


def fields_of(metadata: str | None) -> list[tuple[str, str]]:
    """Names and values of the JSON object in metadata (hex), as in IRC-27 and IRC-30. Empty if it is something else.

    Values that are not texts are JSON. URLs are texts like all others.
    """
    found = json_object(metadata)
    return [(shortened(name), shortened(text_of(value))) for name, value in list(found.items())[:FIELDS_MAX]]


def json_object(metadata: str | None) -> Mapping[str, Any]:
    """The JSON object in metadata (hex); empty without one."""
    try:
        found = exact_json(formats.hex_bytes(metadata or "").decode())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def text_of(value: object) -> str:
    """A value of JSON as text."""
    return value if isinstance(value, str) else json.dumps(value)


def shortened(text: str) -> str:
    """The first VALUE_MAX characters, without characters that no text can have."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= VALUE_MAX else f"{whole[:VALUE_MAX]}…"


def token_unit(metadata: str | None) -> tuple[int, str] | None:
    """Decimals and symbol of a native token by its metadata (IRC-30); None if it does not have both."""
    found = json_object(metadata)
    decimals, symbol = found.get("decimals"), found.get("symbol")
    if type(decimals) is int and 0 <= decimals <= DECIMALS_MAX and isinstance(symbol, str) and symbol:
        return decimals, shortened(symbol)[:16]
    return None
