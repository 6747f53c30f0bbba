"""Counts, indices and types at their limits, in every form: the last valid value passes, the next one is rejected."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ledger.chrysalis.archive_json import message_from_archive
from ledger.chrysalis.codec import (
    CodecError,
    Message,
    Milestone,
    ReferenceUnlock,
    Transaction,
    decode_message,
    decode_payload,
    encode_message,
)
from ledger.chrysalis.json import message_json, parse_message_json
from ledger.json_reader import JsonError
from tests.ledger.cases import load


def message_of(kind: type, *, receipt: bool = False) -> Message:
    """A vector's message whose payload is of that kind."""
    for vector in load("message")["vectors"]:
        message = decode_message(bytes.fromhex(vector["bytes_hex"]))
        if isinstance(message.payload, kind) and (not receipt or getattr(message.payload, "receipt", None)):
            return message
    raise AssertionError(kind)


def transaction(change: Callable[[Transaction], Transaction]) -> Message:
    message = message_of(Transaction)
    assert isinstance(message.payload, Transaction)
    return replace(message, payload=change(message.payload))


def inputs_and_unlocks(count: int) -> Message:
    def change(payload: Transaction) -> Transaction:
        inputs = payload.essence.inputs[:1] * count
        return Transaction(replace(payload.essence, inputs=inputs), payload.unlock_blocks[:1] * count)

    return transaction(change)


def outputs(count: int) -> Message:
    return transaction(
        lambda payload: replace(payload, essence=replace(payload.essence, outputs=payload.essence.outputs[:1] * count))
    )


def input_index(index: int) -> Message:
    def change(payload: Transaction) -> Transaction:
        first, *others = payload.essence.inputs
        return replace(payload, essence=replace(payload.essence, inputs=(replace(first, index=index), *others)))

    return transaction(change)


def reference(index: int) -> Message:
    return transaction(
        lambda payload: replace(payload, unlock_blocks=(ReferenceUnlock(index), *payload.unlock_blocks[1:]))
    )


def unlocks(difference: int) -> Message:
    def change(payload: Transaction) -> Transaction:
        return replace(payload, unlock_blocks=payload.unlock_blocks[:1] * (len(payload.essence.inputs) + difference))

    return transaction(change)


def address_type(number: int) -> Message:
    def change(payload: Transaction) -> Transaction:
        first, *others = payload.essence.outputs
        changed = replace(first, address=bytes([number]) + first.address[1:])
        return replace(payload, essence=replace(payload.essence, outputs=(changed, *others)))

    return transaction(change)


def milestone(change: Callable[[Milestone], Milestone]) -> Message:
    message = message_of(Milestone, receipt=True)
    assert isinstance(message.payload, Milestone)
    return replace(message, payload=change(message.payload))


def keys(count: int, signatures: int) -> Message:
    return milestone(
        lambda payload: replace(payload, public_keys=(bytes(32),) * count, signatures=(bytes(64),) * signatures)
    )


def funds(count: int, address: int = 0) -> Message:
    def change(payload: Milestone) -> Milestone:
        assert payload.receipt
        first = payload.receipt.funds[0]
        changed = replace(first, address=bytes([address]) + first.address[1:])
        return replace(payload, receipt=replace(payload.receipt, funds=(changed,) * count))

    return milestone(change)


GOOD = [
    pytest.param(outputs(1), id="1 output"),
    pytest.param(outputs(127), id="127 outputs"),
    pytest.param(inputs_and_unlocks(127), id="127 inputs"),
    pytest.param(input_index(126), id="output index 126"),
    pytest.param(reference(126), id="reference 126"),
    pytest.param(keys(1, 1), id="1 key"),
    pytest.param(keys(255, 255), id="255 keys"),
    pytest.param(funds(1), id="1 fund"),
    pytest.param(funds(127), id="127 funds"),
]
BAD = [
    pytest.param(outputs(0), "found 0", id="no output"),
    pytest.param(outputs(128), "found 128", id="128 outputs"),
    pytest.param(inputs_and_unlocks(0), "found 0", id="no input"),
    pytest.param(inputs_and_unlocks(128), "found 128", id="128 inputs"),
    pytest.param(input_index(127), "output index below 127, found 127", id="output index 127"),
    pytest.param(reference(127), "below 127, found 127", id="reference 127"),
    pytest.param(unlocks(1), "one for each input", id="an unlock block too many"),
    pytest.param(unlocks(-1), "one for each input", id="an unlock block too few"),
    pytest.param(address_type(1), "address type 0", id="address type 1"),
    pytest.param(keys(0, 0), "found 0", id="no key"),
    pytest.param(keys(2, 1), "one for each public key", id="a signature too few"),
    pytest.param(keys(1, 2), "one for each public key", id="a signature too many"),
    pytest.param(funds(0), "found 0", id="no fund"),
    pytest.param(funds(128), "found 128", id="128 funds"),
    pytest.param(funds(1, address=8), "address type 0", id="funds for an alias"),
]


@pytest.mark.parametrize("message", GOOD)
def test_the_last_good_value_passes(message: Message) -> None:
    assert decode_message(encode_message(message)) == message
    assert parse_message_json(message_json(message)) == message


@pytest.mark.parametrize(("message", "expected"), BAD)
def test_the_first_bad_value_is_rejected(message: Message, expected: str) -> None:
    with pytest.raises(CodecError, match=expected):
        decode_message(encode_message(message))
    with pytest.raises(JsonError):
        parse_message_json(message_json(message))


def test_a_receipt_needs_its_treasury_transaction() -> None:
    data = bytes.fromhex(load("receipt")["vectors"][0]["bytes_hex"])
    with pytest.raises(CodecError, match="treasury transaction, found 0"):
        decode_payload(data[:-50] + bytes(4))


def archived(kind: str) -> Any:
    """An archived message with a payload of that kind; the milestone has a receipt."""
    for vector in load("message")["vectors"]:
        payload = vector.get("archive", {}).get("payload") or {}
        if payload.get("type") == kind and (kind != "Milestone" or payload["data"]["essence"]["receipt"]):
            return copy.deepcopy(vector["archive"])
    raise AssertionError(kind)


ESSENCE = ("payload", "data", "essence", "data")
RECEIPT = ("payload", "data", "essence", "receipt", "data")
FUND = (*RECEIPT, "funds", 0)
BLOCKS = ("payload", "data", "unlock_blocks")


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("Transaction", (*ESSENCE, "inputs", 0, "data"), "00" * 32 + "7f00"),
        ("Transaction", (*ESSENCE, "inputs", 0, "data"), "00" * 32 + "0001"),
        ("Transaction", (*ESSENCE, "inputs", 0, "type"), "Treasury"),
        ("Transaction", (*ESSENCE, "inputs"), []),
        ("Transaction", (*ESSENCE, "outputs"), []),
        ("Transaction", (*ESSENCE, "outputs", 0, "data", "amount"), True),
        ("Transaction", (*ESSENCE, "outputs", 0, "data", "amount"), 2**64),
        ("Transaction", (*ESSENCE, "outputs", 0, "data", "amount"), 1.0),
        ("Transaction", (*ESSENCE, "outputs", 0, "data", "address", "type"), "Alias"),
        ("Transaction", (*BLOCKS, 0), {"type": "Reference", "data": 127}),
        ("Transaction", (*BLOCKS, 0), {"type": "Reference", "data": True}),
        ("Transaction", (*BLOCKS, 0), {"type": "Reference", "data": -1}),
        ("Transaction", BLOCKS, []),
        ("Transaction", ("payload", "data", "essence", "type"), "Other"),
        ("Transaction", ("payload", "type"), "Receipt"),
        ("Transaction", ("parents",), ["01" + "00" * 31, "00" * 32]),
        ("Transaction", ("parents",), ["00" * 32, "00" * 32]),
        ("Indexation", ("payload", "data", "index"), []),
        ("Indexation", ("payload", "data", "index"), [0] * 65),
        ("Indexation", ("payload", "data", "data"), [256]),
        ("Indexation", ("payload", "data", "data"), 5),
        ("Milestone", (*FUND, "tail_transaction_hash", 0), 2),
        ("Milestone", (*FUND, "tail_transaction_hash", 0), -2),
        ("Milestone", (*FUND, "tail_transaction_hash", 0), True),
        ("Milestone", (*RECEIPT, "funds"), []),
        ("Milestone", (*RECEIPT, "last"), 1),
        ("Milestone", ("payload", "data", "signatures"), []),
    ],
)
def test_archive_json_is_held_to_the_same_limits(kind: str, place: tuple[str | int, ...], value: Any) -> None:
    message = archived(kind)
    message_from_archive(message)
    holder = message
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    with pytest.raises(JsonError):
        message_from_archive(message)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nonce", True),
        ("nonce", -1),
        ("nonce", "-1"),
        ("nonce", " 1"),
        ("nonce", "1_0"),
        ("nonce", "0" * 20 + "1"),
        ("nonce", "١"),
        ("nonce", str(2**64)),
        ("networkId", None),
        ("networkId", ""),
        ("parentMessageIds", []),
        ("parentMessageIds", ["00" * 31 + "  "]),
        ("parentMessageIds", ["0x" + "00" * 31]),
        ("payload", {"type": 2, "index": "69 6f", "data": ""}),
        ("payload", {"type": 2, "index": "", "data": ""}),
        ("payload", {"type": 2, "index": "00" * 65, "data": ""}),
        ("payload", {"type": True, "index": "69", "data": ""}),
        ("payload", {"type": "2", "index": "69", "data": ""}),
        ("payload", {"type": 3}),
    ],
)
def test_node_json_is_held_to_the_same_limits(key: str, value: Any) -> None:
    good = {"networkId": "1", "parentMessageIds": ["00" * 32], "payload": None, "nonce": "1"}
    assert parse_message_json(good).nonce == 1
    with pytest.raises(JsonError):
        parse_message_json({**good, key: value})
