"""Every Chrysalis entry of the full data set: real messages, the specification's, and other implementations' tests."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger import ids
from ledger.chrysalis.codec import (
    CodecError,
    decode_message,
    decode_output,
    decode_payload,
    encode_message,
    encode_output,
    encode_payload,
    payload_bytes,
)
from ledger.chrysalis.json import (
    message_json,
    output_json,
    parse_message_json,
    parse_output_json,
    parse_payload_json,
    payload_json,
)
from ledger.chrysalis.json_parse import renumber_ed25519
from ledger.crypto.bech32 import format_address, parse_address
from ledger.json_reader import JsonError
from tests.ledger.cases import entries

ACCEPTED = ("1_real", "2_spec", "3_tests_and_docs")

FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "message": (decode_message, encode_message, parse_message_json, message_json),
    "transaction": (decode_payload, encode_payload, parse_payload_json, payload_json),
    "milestone": (decode_payload, encode_payload, parse_payload_json, payload_json),
    "output": (decode_output, encode_output, parse_output_json, output_json),
}


def of_kind(kinds: set[str], *names: str) -> list[Any]:
    return [param for param in entries(*names) if not param.values[0] or param.values[0]["kind"] in kinds]


def own_json(entry: dict[str, Any]) -> Any:
    """The object itself: an output's entry contains the API's response around it."""
    return entry["json"]["output"] if entry["kind"] == "output" else entry["json"]


def is_alphanet(entry: dict[str, Any]) -> bool:
    """Entries whose JSON numbers Ed25519 as 1, which one client reads as 0 and another rejects."""
    return "Unrecognized address type 1" in entry.get("errors", {}).get("iota.js", "")


def assert_same(rendered: Any, stated: Any) -> None:
    """Equal, except that a source may omit null or 0, and may have keys of other protocol versions."""
    if isinstance(stated, dict):
        assert set(stated) - set(rendered) <= {"protocolVersion"}
        for key, value in rendered.items():
            if key in stated:
                assert_same(value, stated[key])
            else:
                assert value in (None, 0, "0"), key
    elif isinstance(stated, list):
        assert len(rendered) == len(stated)
        for own, theirs in zip(rendered, stated, strict=True):
            assert_same(own, theirs)
    else:
        assert rendered == stated


@pytest.mark.parametrize("entry", of_kind(set(FORMS), *ACCEPTED))
def test_bytes_ids_and_json_agree(entry: dict[str, Any]) -> None:
    decode, encode, parse, render = FORMS[entry["kind"]]
    stated = own_json(entry)
    if is_alphanet(entry):
        with pytest.raises(JsonError, match=r"address\.type: expected 0"):
            parse(stated)
        stated = renumber_ed25519(stated)
    value = parse(stated)
    data = encode(value)
    assert decode(data) == value
    assert_same(render(value), stated)
    if "bytes_hex" in entry:
        assert data.hex() == entry["bytes_hex"]
    if entry["kind"] != "output":
        assert ids.message_id(data).hex() == entry["id"]
    if "transaction_id" in entry:
        assert ids.transaction_id(payload_bytes(data)).hex() == entry["transaction_id"]
    if "milestone_id" in entry:
        assert ids.milestone_id(payload_bytes(data)).hex() == entry["milestone_id"]


@pytest.mark.parametrize("entry", of_kind({"output"}, *ACCEPTED))
def test_output_ids_are_put_together(entry: dict[str, Any]) -> None:
    answer = entry["json"]
    assert ids.output_id(bytes.fromhex(answer["transactionId"]), answer["outputIndex"]).hex() == entry["id"]


@pytest.mark.parametrize("entry", of_kind({"address"}, *ACCEPTED))
def test_addresses_agree_with_their_text(entry: dict[str, Any]) -> None:
    key_hash = entry["json"].get("hash") or entry["json"]["address"]
    if entry["id"] == key_hash:
        return  # an answer for /addresses/ed25519/{hex}: no text in it
    hrp, address = parse_address(entry["id"])
    assert address.hex() == "00" + key_hash
    assert format_address(hrp, address) == entry["id"]


@pytest.mark.parametrize("entry", of_kind({"message"}, *ACCEPTED))
def test_a_network_id_is_the_hash_of_its_name(entry: dict[str, Any]) -> None:
    if entry.get("network") and "networkId" in entry["json"]:
        assert ids.network_id(entry["network"]) == int(entry["json"]["networkId"])


def messages_within(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if {"parentMessageIds", "nonce"} <= set(value):
            yield value
        for each in value.values():
            yield from messages_within(each)
    elif isinstance(value, list):
        for each in value:
            yield from messages_within(each)


@pytest.mark.parametrize("entry", of_kind({"vector"}, *ACCEPTED))
def test_messages_inside_recorded_answers_survive_the_way_through_bytes(entry: dict[str, Any]) -> None:
    for stated in messages_within(entry.get("json")):
        message = parse_message_json(stated)
        assert decode_message(encode_message(message)) == message
        assert_same(message_json(message), stated)


@pytest.mark.parametrize("entry", entries("4_unverified"))
def test_what_no_implementation_accepts_is_rejected(entry: dict[str, Any]) -> None:
    decode, encode, parse, _ = FORMS[entry["kind"]]
    if entry["status"] != "no implementation accepts it":
        # Its source gives another id, because its JSON lost digits of the nonce. The bytes are a message all the same.
        data = bytes.fromhex(entry["bytes_hex"])
        assert encode(decode(data)) == data
        assert ids.message_id(data).hex() != entry["id"]
        return
    assert "json" in entry or "bytes_hex" in entry
    if "json" in entry:
        with pytest.raises(JsonError):
            parse(entry["json"])
    if "bytes_hex" in entry:
        with pytest.raises(CodecError):
            decode(bytes.fromhex(entry["bytes_hex"]))
