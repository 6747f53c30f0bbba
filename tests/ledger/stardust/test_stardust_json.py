"""Stardust's JSON: damage at each place, optional keys, and each limit."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.json import block_json, output_json, payload_json
from ledger.stardust.json_parse import (
    PACK,
    pack_block_json,
    pack_output_json,
    parse_address_json,
    parse_block_json,
    parse_milestone_json,
    parse_output_json,
    parse_payload_json,
)
from ledger.stardust.values import Transaction
from tests.ledger.cases import Case, cases, load
from tests.ledger.chrysalis.test_json import GARBAGE, parent_of, path, places

ALL = cases("stardust")
BLOCKS = [case for case in ALL if case.values[0].family == "block"]

OPTIONAL = {
    "payload",
    "tag",
    "data",
    "nativeTokens",
    "features",
    "immutableFeatures",
    "stateMetadata",
    "foundryCounter",
    "metadata",
    "options",
    "unlockConditions",
    "params",
}
"""Absent means empty; if the protocol does not allow an empty value, decoding says so."""


@pytest.mark.thorough
@pytest.mark.parametrize("case", BLOCKS)
def test_garbage_at_any_place_is_rejected_or_kept(case: Case) -> None:
    for place in places(case.vector["json"]):
        for garbage in GARBAGE:
            damaged = copy.deepcopy(case.vector["json"])
            parent_of(damaged, place)[place[-1]] = garbage
            try:
                block = parse_block_json(damaged)
            except (JsonError, CodecError):
                continue
            assert stardust.decode_block(stardust.encode_block(block)) == block


@pytest.mark.parametrize("case", BLOCKS)
def test_a_missing_key_is_named_by_its_path(case: Case) -> None:
    for place in places(case.vector["json"]):
        if isinstance(place[-1], int) or place[-1] in OPTIONAL:
            continue
        damaged = copy.deepcopy(case.vector["json"])
        del parent_of(damaged, place)[place[-1]]
        with pytest.raises(JsonError) as rejected:
            pack_block_json(damaged)
        assert rejected.value.path == path(place)


@pytest.mark.parametrize("case", BLOCKS)
def test_a_wrong_item_is_named_by_its_path(case: Case) -> None:
    for place in places(case.vector["json"]):
        if not isinstance(place[-1], int):
            continue
        damaged = copy.deepcopy(case.vector["json"])
        parent_of(damaged, place)[place[-1]] = "0x00" if place[-2] == "parents" else {"type": 99}
        with pytest.raises(JsonError) as rejected:
            pack_block_json(damaged)
        assert rejected.value.path.startswith(path(place))


@pytest.mark.parametrize("case", BLOCKS)
@pytest.mark.parametrize("number", [True, False, 1.0, "1", "0", -1])
def test_a_type_is_a_whole_number(case: Case, number: Any) -> None:
    for place in places(case.vector["json"]):
        if place[-1] == "type":
            damaged = copy.deepcopy(case.vector["json"])
            parent_of(damaged, place)["type"] = number
            with pytest.raises(JsonError) as rejected:
                pack_block_json(damaged)
            assert rejected.value.path == path(place)


@pytest.mark.parametrize(
    "parse",
    [parse_block_json, parse_payload_json, parse_milestone_json, parse_output_json, parse_address_json],
)
@pytest.mark.parametrize("garbage", GARBAGE)
def test_an_unknown_object_is_rejected(parse: Callable[[Any], Any], garbage: Any) -> None:
    with pytest.raises(JsonError):
        parse(garbage)


def vector(name: str) -> Any:
    return copy.deepcopy(load(name, "stardust")["vectors"][0]["json"])


@pytest.mark.parametrize("empty", [[], None])
@pytest.mark.parametrize("name", ["basic_output", "alias_output", "foundry_output", "nft_output"])
def test_empty_lists_are_read_and_never_written(name: str, empty: Any) -> None:
    plain = {key: value for key, value in vector(name).items() if key not in OPTIONAL or key == "unlockConditions"}
    filled = plain | {"nativeTokens": empty, "features": empty}
    if name != "basic_output":
        filled["immutableFeatures"] = empty
    output = parse_output_json(filled)
    assert output == parse_output_json(plain)
    assert not OPTIONAL - {"unlockConditions", "foundryCounter"} & output_json(output).keys()
    assert pack_output_json(filled) == stardust.encode_output(output)


def test_empty_bytes_are_read_and_never_written() -> None:
    bare = parse_payload_json({"type": 5})
    assert bare == parse_payload_json({"type": 5, "tag": "0x", "data": ""})
    assert payload_json(bare) == {"type": 5}
    without = parse_block_json({"protocolVersion": 2, "parents": ["0x" + "00" * 32], "nonce": "1", "payload": None})
    assert without.payload is None
    assert "payload" not in block_json(without)
    option = PACK["milestone option"][1]({"type": 1, "targetMilestoneIndex": 9, "protocolVersion": 2, "params": ""})
    assert option.endswith(b"\0\0")


def test_a_wrong_value_is_named_by_its_path_and_survives_between_processes() -> None:
    for case in BLOCKS:
        block = case.values[0].vector["json"]
        if isinstance(parse_block_json(block).payload, Transaction):
            damaged = copy.deepcopy(block)
            damaged["payload"]["essence"]["outputs"][0]["unlockConditions"][0]["address"] = {"type": 1}
            with pytest.raises(JsonError, match="expected 0 or 8 or 16") as rejected:
                pack_block_json(damaged)
            assert rejected.value.path == "payload.essence.outputs[0].unlockConditions[0].address.type"
            assert pickle.loads(pickle.dumps(rejected.value)).path == rejected.value.path  # noqa: S301 - our own
            return
    raise AssertionError("no vector with a transaction")


HASH = "0x" + "ab" * 32


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("basic_output", "amount", ""),
        ("basic_output", "amount", "+1"),
        ("basic_output", "amount", "1_0"),
        ("basic_output", "amount", "\u0661"),
        ("basic_output", "amount", str(2**64)),
        ("basic_output", "amount", True),
        ("basic_output", "amount", 1.0),
        ("basic_output", "unlockConditions", {}),
        ("basic_output", "nativeTokens", {}),
        ("basic_output", "nativeTokens", [{"id": "0x" + "00" * 38, "amount": "1"}]),
        ("basic_output", "nativeTokens", [{"id": "0x" + "00" * 38, "amount": "0x"}]),
        ("basic_output", "nativeTokens", [{"id": "0x" + "00" * 38, "amount": "0x1_0"}]),
        ("basic_output", "nativeTokens", [{"id": "0x" + "00" * 38, "amount": "0x1" + "0" * 64}]),
        ("basic_output", "nativeTokens", [{"id": "0x" + "00" * 37, "amount": "0x1"}]),
        ("alias_output", "aliasId", HASH[2:]),
        ("alias_output", "aliasId", HASH[2:] + "00"),
        ("alias_output", "aliasId", "1x" + HASH[2:]),
        ("alias_output", "aliasId", HASH[:-2] + "  "),
        ("alias_output", "aliasId", HASH[:-2]),
        ("alias_output", "aliasId", HASH[:-2] + "gg"),
        ("alias_output", "stateMetadata", "00"),
        ("alias_output", "stateMetadata", "0x0"),
        ("alias_output", "stateMetadata", "0x" + "00" * 8193),
        ("alias_output", "stateIndex", 2**32),
        ("foundry_output", "serialNumber", "1"),
        ("foundry_output", "tokenScheme", {"type": 1}),
        ("nft_output", "nftId", None),
        ("tagged_data", "tag", "0x" + "00" * 256),
        ("tagged_data", "tag", 5),
        ("tagged_data", "data", ["0", "x"]),
        ("milestone", "timestamp", 2**32),
        ("milestone", "parents", []),
        ("milestone", "parents", [HASH] * 9),
        ("milestone", "signatures", []),
        ("milestone", "options", [{"type": 2}]),
        ("transaction", "unlocks", []),
    ],
)
def test_json_is_held_to_its_limits(name: str, key: str, value: Any) -> None:
    family = load(name, "stardust")["family"]
    good = vector(name)
    PACK[family][good["type"]](good)
    with pytest.raises(JsonError) as rejected:
        PACK[family][good["type"]](good | {key: value})
    assert rejected.value.path.startswith(key)


def test_numbers_of_64_and_256_bits_survive() -> None:
    token = {"id": "0x" + "01" * 38, "amount": hex(2**256 - 1)}
    answer = {**vector("basic_output"), "amount": str(2**64 - 1), "nativeTokens": [token]}
    output = parse_output_json(answer)
    assert output_json(output) == answer
    assert parse_output_json(answer | {"amount": 2**64 - 1}) == output


@pytest.mark.parametrize("entry", load("refused", "stardust"), ids=lambda entry: entry["source"])
def test_what_other_implementations_reject_is_rejected(entry: dict[str, Any]) -> None:
    parse: dict[str, Callable[[Any], Any]] = {"block": parse_block_json, "output": parse_output_json}
    with pytest.raises((JsonError, CodecError)):
        parse.get(entry["kind"], parse_payload_json)(entry["json"])
