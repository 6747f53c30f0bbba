"""Every value survives encoding to bytes and to JSON; invalid input raises only CodecError or JsonError."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.chrysalis.archive_json import message_from_archive, milestone_from_archive
from ledger.chrysalis.codec import (
    CodecError,
    Essence,
    Indexation,
    Message,
    MigratedFunds,
    Milestone,
    Receipt,
    ReferenceUnlock,
    SigLockedDustAllowance,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TreasuryInput,
    TreasuryOutput,
    TreasuryTransaction,
    UtxoInput,
    decode_message,
    decode_output,
    decode_payload,
    encode_message,
    encode_output,
    encode_payload,
    parents_of,
    payload_type,
)
from ledger.chrysalis.json import message_json, parse_message_json, parse_output_json, parse_payload_json
from ledger.chrysalis.json_text import message_text
from ledger.json_reader import JsonError
from tests.ledger.cases import Case, cases


def exactly(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
IDS, KEYS, SIGNATURES = exactly(32), exactly(32), exactly(64)
ADDRESSES = IDS.map(lambda key_hash: b"\0" + key_hash)
INDICES = st.integers(0, 126)
PARENTS = st.lists(IDS, min_size=1, max_size=8, unique=True).map(lambda ids: tuple(sorted(ids)))


def tuples(values: st.SearchStrategy[Any], most: int = 4) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, min_size=1, max_size=most).map(tuple)


INDEXATIONS = st.builds(Indexation, st.binary(min_size=1, max_size=64), st.binary(max_size=80))
OUTPUTS = st.builds(SigLockedSingle, ADDRESSES, U64) | st.builds(SigLockedDustAllowance, ADDRESSES, U64)
UNLOCKS = st.builds(SignatureUnlock, KEYS, SIGNATURES) | st.builds(ReferenceUnlock, INDICES)
TREASURIES = st.builds(TreasuryTransaction, st.builds(TreasuryInput, IDS), st.builds(TreasuryOutput, U64))
FUNDS = st.builds(MigratedFunds, exactly(49), ADDRESSES, U64)
RECEIPTS = st.builds(Receipt, U32, st.booleans(), tuples(FUNDS), TREASURIES)


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    inputs = draw(tuples(st.builds(UtxoInput, IDS, INDICES)))
    unlocks = draw(st.lists(UNLOCKS, min_size=len(inputs), max_size=len(inputs)))
    return Transaction(Essence(inputs, draw(tuples(OUTPUTS)), draw(st.none() | INDEXATIONS)), tuple(unlocks))


@st.composite
def milestones(draw: st.DrawFn) -> Milestone:
    keys = draw(tuples(KEYS))
    signatures = tuple(draw(st.lists(SIGNATURES, min_size=len(keys), max_size=len(keys))))
    receipt = draw(st.none() | RECEIPTS)
    return Milestone(draw(U32), draw(U64), draw(PARENTS), draw(IDS), draw(U32), draw(U32), keys, receipt, signatures)


PAYLOADS = transactions() | milestones() | INDEXATIONS
MESSAGES = st.builds(Message, U64, PARENTS, st.none() | PAYLOADS, U64)


@given(MESSAGES)
def test_a_message_comes_back_from_bytes_and_from_json(message: Message) -> None:
    data = encode_message(message)
    assert decode_message(data) == message
    assert encode_message(decode_message(data)) == data
    assert parse_message_json(json.loads(json.dumps(message_json(message)))) == message
    assert message_text(data) == json.dumps(message_json(message), separators=(",", ":"))
    assert parents_of(data) == [*message.parents]
    assert payload_type(data) == (None if message.payload is None else message.payload.KIND)


@given(RECEIPTS | TREASURIES)
def test_payloads_inside_payloads_come_back(payload: Receipt | TreasuryTransaction) -> None:
    assert decode_payload(encode_payload(payload)) == payload


@given(MESSAGES, st.data())
def test_a_message_cut_anywhere_is_rejected(message: Message, data: st.DataObject) -> None:
    whole = encode_message(message)
    size = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(CodecError) as rejected:
        decode_message(whole[:size])
    assert rejected.value.offset <= size


@given(st.binary(max_size=400))
def test_out_of_random_bytes_comes_nothing_but_codec_error(data: bytes) -> None:
    for decode, encode in (
        (decode_message, encode_message),
        (decode_payload, encode_payload),
        (decode_output, encode_output),
    ):
        try:
            value: Any = decode(data)
        except CodecError:
            continue
        assert encode(value) == data


@given(MESSAGES, st.lists(st.tuples(st.integers(0, 2**15), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_message_is_rejected_or_kept(message: Message, damage: list[tuple[int, int]]) -> None:
    data = bytearray(encode_message(message))
    for position, value in damage:
        data[position % len(data)] = value
    try:
        damaged = decode_message(bytes(data))
    except CodecError:
        return
    assert encode_message(damaged) == data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=70) | IDS.map(bytes.hex),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "data", "payload"]) | st.text(), inner)
    ),
    max_leaves=10,
)


@given(JSON)
def test_out_of_random_json_comes_nothing_but_json_error(value: Any) -> None:
    for parse in (
        parse_message_json,
        parse_payload_json,
        parse_output_json,
        message_from_archive,
        milestone_from_archive,
    ):
        try:
            parse(value)
        except JsonError:
            continue


ARCHIVED = [
    case.values[0] for case in cases() if case.values[0].family == "message" and "archive" in case.values[0].vector
]


def spoilt(value: Any, garbage: Any, data: st.DataObject) -> Any:
    """A copy of a JSON value with `garbage` in one place of it, at any depth."""
    copy = json.loads(json.dumps(value))
    holder = copy
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(holder[key], dict | list) or not holder[key] or data.draw(st.booleans()):
            break
        holder = holder[key]
    holder[key] = garbage
    return copy


@given(st.sampled_from(ARCHIVED), st.sampled_from(["json", "archive"]), JSON, st.data())
def test_garbage_inside_a_message_is_rejected_or_kept(case: Case, form: str, garbage: Any, data: st.DataObject) -> None:
    value = spoilt(case.vector[form], garbage, data)
    try:
        message = parse_message_json(value) if form == "json" else message_from_archive(value)
    except JsonError:
        return
    assert decode_message(encode_message(message)) == message
