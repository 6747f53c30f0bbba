"""Chrysalis, bytes ⇄ values: ids, extracted parts, invalid fields. test_kinds.py tests what applies to every kind."""

import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from ledger import ids
from ledger.chrysalis.codec import (
    CodecError,
    Indexation,
    Milestone,
    Transaction,
    decode_message,
    decode_payload,
    encode_essence,
    encode_message,
    encode_milestone_essence,
    encode_payload,
    encode_unlock,
    payload_bytes,
)
from tests.ledger.cases import Case, cases, load

MESSAGES = [case for case in cases() if case.values[0].family == "message"]


@pytest.mark.parametrize("case", MESSAGES)
def test_ids_are_those_of_other_implementations(case: Case) -> None:
    vector = case.vector
    assert ids.message_id(case.data).hex() == vector["id"]
    payload = payload_bytes(case.data)
    if "transaction_id" in vector:
        assert ids.transaction_id(payload).hex() == vector["transaction_id"]
    if "milestone_id" in vector:
        assert ids.milestone_id(payload).hex() == vector["milestone_id"]


@pytest.mark.parametrize("case", MESSAGES)
def test_a_payload_can_be_cut_out_unread(case: Case) -> None:
    payload = decode_message(case.data).payload
    assert payload_bytes(case.data) == (b"" if payload is None else encode_payload(payload))


@pytest.mark.parametrize("vector", load("transaction")["vectors"])
def test_a_transaction_is_its_type_its_essence_and_its_unlock_blocks(vector: dict[str, Any]) -> None:
    transaction = decode_payload(bytes.fromhex(vector["bytes_hex"]))
    assert isinstance(transaction, Transaction)
    unlocks = b"".join(map(encode_unlock, transaction.unlock_blocks))
    count = len(vector["json"]["unlockBlocks"]).to_bytes(2, "little")
    assert (bytes(4) + encode_essence(transaction.essence) + count + unlocks).hex() == vector["bytes_hex"]


@pytest.mark.parametrize("vector", load("milestone")["vectors"])
def test_a_milestone_is_its_type_its_essence_and_its_signatures(vector: dict[str, Any]) -> None:
    milestone = decode_payload(bytes.fromhex(vector["bytes_hex"]))
    assert isinstance(milestone, Milestone)
    signatures = bytes([len(vector["json"]["signatures"])]) + b"".join(milestone.signatures)
    data = b"\1\0\0\0" + encode_milestone_essence(milestone) + signatures
    assert data.hex() == vector["bytes_hex"]


def indexation_message() -> bytes:
    """TIP-6's example: two parents, index "IOTA"."""
    (vector,) = [each for each in load("message")["vectors"] if each["source"] == "chrysalis/2_spec.jsonl:1"]
    return bytes.fromhex(vector["bytes_hex"])


@pytest.mark.parametrize(
    ("position", "value", "offset", "expected"),
    [
        (8, b"\0", 8, "1 to 8 parents, found 0"),
        (8, b"\x09", 8, "1 to 8 parents, found 9"),
        (41, bytes(32), 9, "ascending"),
        (73, b"\xff", 73, "payload length"),
        (77, b"\x03", 77, "payload type"),
        (77, b"\x05", 77, "payload type"),
        (81, b"\0", 81, "index of 1 to 64 bytes, found 0"),
        (81, b"\x41", 81, "index of 1 to 64 bytes, found 65"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(position: int, value: bytes, offset: int, expected: str) -> None:
    data = bytearray(indexation_message())
    data[position : position + len(value)] = value
    with pytest.raises(CodecError, match=expected) as rejected:
        decode_message(bytes(data))
    assert rejected.value.offset == offset


def test_parents_twice_the_same_are_rejected() -> None:
    message = decode_message(indexation_message())
    twice = replace(message, parents=(message.parents[0],) * 2)
    with pytest.raises(CodecError, match="each once"):
        decode_message(encode_message(twice))


def test_a_message_over_32_kib_is_neither_read_nor_written() -> None:
    message = decode_message(indexation_message())
    room = 32_768 - len(encode_message(replace(message, payload=Indexation(b"i", b""))))
    largest = replace(message, payload=Indexation(b"i", bytes(room)))
    assert decode_message(encode_message(largest)) == largest
    with pytest.raises(CodecError):
        encode_message(replace(message, payload=Indexation(b"i", bytes(room + 1))))
    with pytest.raises(CodecError):
        decode_message(bytes(32_769))


def test_values_are_frozen_and_hashable() -> None:
    message = decode_message(indexation_message())
    assert hash(message) == hash(decode_message(indexation_message()))
    with pytest.raises(FrozenInstanceError):
        message.nonce = 1  # type: ignore[misc]


def test_errors_survive_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(CodecError(7, "a tag")))  # noqa: S301 - our own bytes
    assert (error.offset, error.expected, str(error)) == (7, "a tag", "at byte 7: expected a tag")
