"""Node JSON and archive JSON: each vector in every form, and damage at each place of each form."""

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger.chrysalis.archive_json import VARIANTS, message_from_archive, milestone_from_archive
from ledger.chrysalis.codec import KINDS, CodecError, Message, Milestone, decode_message, encode_message
from ledger.chrysalis.json import milestone_json, parse_message_json, parse_milestone_json, parse_output_json
from ledger.chrysalis.json_parse import parse_payload_json
from ledger.json_reader import JsonError
from tests.ledger.cases import Case, cases, load

ARCHIVED = [case for case in cases() if "archive" in case.values[0].vector]
MESSAGES = [case for case in cases() if case.values[0].family == "message"]
ARCHIVED_MESSAGES = [case for case in ARCHIVED if case.values[0].family == "message"]

OPTIONAL = {"payload", "receipt", "networkId", "nextPoWScore", "nextPoWScoreMilestoneIndex"}
GARBAGE: list[Any] = [
    None,
    True,
    -1,
    1.5,
    2**64,
    "",
    "0",
    "zz",
    "00 00",
    "ß",
    [],
    [[]],
    {},
    {"type": []},
    {"type": 9, "data": 0},
]

Place = tuple[str | int, ...]


@pytest.mark.parametrize("case", ARCHIVED)
def test_archive_json_gives_the_same_value(case: Case) -> None:
    assert case.parse_archive(case.vector["archive"]) == case.codec.decode(case.data)


@pytest.mark.parametrize("case", MESSAGES)
def test_keys_come_in_the_order_of_the_api_examples(case: Case) -> None:
    rendered = case.codec.render(case.codec.decode(case.data))
    assert list(rendered) == ["networkId", "parentMessageIds", "payload", "nonce"]
    if rendered["payload"]:
        assert next(iter(rendered["payload"])) == "type"


def test_the_archive_has_every_kind() -> None:
    tags = {family: set(kinds) for family, kinds in KINDS.items()}
    assert {family: len(table) for family, table in VARIANTS.items()} == {k: len(v) for k, v in tags.items()}
    archived = {(case.values[0].family, case.values[0].tag) for case in ARCHIVED} - {("message", None)}
    assert archived == {(family, tag) for family, kinds in KINDS.items() for tag in kinds}


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place inside a JSON value; the first item represents a whole list of numbers."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield (*at, key)
            yield from places(each, (*at, key))
    elif isinstance(value, list):
        for position, each in enumerate(value[:1] if value and isinstance(value[0], int) else value):
            yield (*at, position)
            yield from places(each, (*at, position))


def path(place: Place) -> str:
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in place).lstrip(".")


def parent_of(value: Any, place: Place) -> Any:
    for key in place[:-1]:
        value = value[key]
    return value


def check_rejected_or_kept(parse: Callable[[Any], Message], value: Any) -> None:
    """Invalid JSON gives JsonError, or a value whose bytes are a message."""
    try:
        message = parse(value)
    except JsonError:
        return
    assert decode_message(encode_message(message)) == message


@pytest.mark.parametrize("case", MESSAGES)
def test_garbage_at_any_place_of_node_json_is_rejected_or_kept(case: Case) -> None:
    for place in places(case.vector["json"]):
        for garbage in GARBAGE:
            damaged = copy.deepcopy(case.vector["json"])
            parent_of(damaged, place)[place[-1]] = garbage
            check_rejected_or_kept(parse_message_json, damaged)


@pytest.mark.thorough
@pytest.mark.parametrize("case", ARCHIVED_MESSAGES)
def test_garbage_at_any_place_of_archive_json_is_rejected_or_kept(case: Case) -> None:
    for place in places(case.vector["archive"]):
        for garbage in GARBAGE:
            damaged = copy.deepcopy(case.vector["archive"])
            parent_of(damaged, place)[place[-1]] = garbage
            check_rejected_or_kept(message_from_archive, damaged)


@pytest.mark.parametrize("case", MESSAGES)
@pytest.mark.parametrize("form", ["json", "archive"])
def test_a_missing_key_is_named_by_its_path(case: Case, form: str) -> None:
    if form not in case.vector:
        return
    parse = parse_message_json if form == "json" else message_from_archive
    for place in places(case.vector[form]):
        if isinstance(place[-1], int) or place[-1] in OPTIONAL:
            continue
        damaged = copy.deepcopy(case.vector[form])
        del parent_of(damaged, place)[place[-1]]
        with pytest.raises(JsonError) as rejected:
            parse(damaged)
        assert rejected.value.path == path(place)


@pytest.mark.parametrize(
    "parse", [parse_message_json, message_from_archive, milestone_from_archive, parse_payload_json]
)
@pytest.mark.parametrize("garbage", GARBAGE)
def test_an_invalid_message_is_rejected(parse: Callable[[Any], Any], garbage: Any) -> None:
    with pytest.raises(JsonError):
        parse(garbage)


def test_a_wrong_value_is_named_by_its_path() -> None:
    message = copy.deepcopy(load("message")["vectors"][2]["json"])
    message["payload"]["essence"]["outputs"][0]["amount"] = "1"
    with pytest.raises(
        JsonError, match=r"^payload\.essence\.outputs\[0\]\.amount: expected a whole number from 0 to"
    ) as e:
        parse_message_json(message)
    assert e.value.path == "payload.essence.outputs[0].amount"
    assert pickle.loads(pickle.dumps(e.value)).path == e.value.path  # noqa: S301 - our own bytes


def test_numbers_of_64_bits_survive() -> None:
    vector = next(case.values[0].vector for case in ARCHIVED_MESSAGES)
    largest = 2**64 - 1
    archived = json.loads(json.dumps({**vector["archive"], "network_id": largest, "nonce": largest}))
    assert message_from_archive(archived).nonce == largest
    rest = {**vector["json"], "networkId": str(largest), "nonce": str(largest)}
    assert parse_message_json(rest) == message_from_archive(archived)
    with pytest.raises(JsonError):
        parse_message_json({**rest, "nonce": str(largest + 1)})


def test_absent_keys_have_their_meaning() -> None:
    milestone = load("milestone")["vectors"][-1]["json"]
    short = {key: value for key, value in milestone.items() if not key.startswith("next") and key != "receipt"}
    parsed = parse_milestone_json(short)
    assert (parsed.next_pow_score, parsed.next_pow_score_milestone_index, parsed.receipt) == (0, 0, None)
    bare = parse_message_json({"parentMessageIds": ["00" * 32], "nonce": "1", "protocolVersion": 2})
    assert bare == Message(0, (bytes(32),), None, 1)


def test_a_milestone_is_alone_in_an_archive_line() -> None:
    vectors = [each for each in load("milestone")["vectors"] if "archive" in each]
    assert vectors
    for vector in vectors:
        milestone = milestone_from_archive(vector["archive"]["data"])
        assert isinstance(milestone, Milestone)
        assert milestone_json(milestone) == vector["json"]


def test_archive_messages_may_name_their_era() -> None:
    vector = next(case.values[0].vector for case in ARCHIVED_MESSAGES)
    assert message_from_archive({"Chrysalis": vector["archive"]}) == message_from_archive(vector["archive"])
    with pytest.raises(JsonError):
        message_from_archive({"Shimmer": vector["archive"]})
    with pytest.raises(JsonError) as rejected:
        message_from_archive({"Chrysalis": {**vector["archive"], "nonce": None}})
    assert rejected.value.path == "Chrysalis.nonce"


def test_outputs_parse_outside_of_transactions_too() -> None:
    with pytest.raises(JsonError, match="type: expected 0 or 1 or 2"):
        parse_output_json({"type": 3, "amount": 1})


@pytest.mark.parametrize("entry", load("refused"), ids=lambda entry: entry["source"])
def test_what_other_implementations_reject_is_rejected(entry: dict[str, Any]) -> None:
    parse: Callable[[Any], Any] = parse_message_json if entry["kind"] == "message" else parse_payload_json
    if "json" in entry:
        with pytest.raises(JsonError):
            parse(entry["json"])
    if "bytes_hex" in entry:
        with pytest.raises(CodecError):
            decode_message(bytes.fromhex(entry["bytes_hex"]))
