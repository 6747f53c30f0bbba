"""A network's base token as in info: JSON ⇄ value, and rejected values."""

from typing import Any

import pytest

from ledger.base_token import IOTA, SHIMMER, base_token_json, known_token, parse_base_token_json
from ledger.json_reader import JsonError

OF_A_NODE = {
    "name": "Shimmer",
    "tickerSymbol": "SMR",
    "unit": "SMR",
    "subunit": "glow",
    "decimals": 6,
    "useMetricPrefix": False,
}
"""TIP-25's example."""


def test_a_token_is_what_a_node_returns() -> None:
    assert parse_base_token_json(OF_A_NODE) == SHIMMER
    assert base_token_json(SHIMMER) == OF_A_NODE


def test_a_token_without_a_part_of_its_own_has_none_in_json() -> None:
    plain = {key: value for key, value in OF_A_NODE.items() if key != "subunit"}
    assert base_token_json(parse_base_token_json(plain)) == plain


def test_tokens_of_public_networks_are_known() -> None:
    assert [known_token(name) for name in ("shimmer", "mainnet", "some-test-network")] == [SHIMMER, IOTA, IOTA]


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"name": 1}, "name"),
        ({"tickerSymbol": None}, "tickerSymbol"),
        ({"subunit": 6}, "subunit"),
        ({"decimals": "6"}, "decimals"),
        ({"decimals": -1}, "decimals"),
        ({"useMetricPrefix": 0}, "useMetricPrefix"),
    ],
)
def test_an_invalid_token_is_rejected_by_the_key_that_is_wrong(changed: dict[str, Any], path: str) -> None:
    with pytest.raises(JsonError) as rejected:
        parse_base_token_json(OF_A_NODE | changed)
    assert rejected.value.path == path


@pytest.mark.parametrize("key", sorted(set(OF_A_NODE) - {"subunit"}))
def test_every_key_but_the_subunit_is_needed(key: str) -> None:
    with pytest.raises(JsonError, match=key):
        parse_base_token_json({name: value for name, value in OF_A_NODE.items() if name != key})
