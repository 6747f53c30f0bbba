"""Every line format gives the same cone, and every invalid line raises JsonError and nothing else."""

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl.sources import milestones_of, read_cone
from etl.sources.cone import Cone
from ledger.chrysalis.codec import encode_message, encode_payload
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from tests.etl.archives import (
    ARCHIVE_FORMS,
    Json,
    dump,
    entries_of,
    format_c,
    format_d,
    of_state,
    oracle,
    own_id,
    pending,
    sample,
)

FORMS = {**ARCHIVE_FORMS, "node JSON": lambda line: oracle()[line["milestone_index"] - 1]}
RECEIPTS = [each["milestone"]["index"] for each in oracle() if each["milestone"]["payload"]["receipt"]]
CHOSEN = sorted({1, 2, 50, *RECEIPTS[:1]})


def found(cone: Cone) -> dict[bytes, tuple[bytes, int | None, int | None]]:
    assert cone.rejected == []
    assert len({entry.message_id for entry in cone.entries}) == len(cone.entries)
    return {
        entry.message_id: (encode_message(entry.message), entry.referenced_by, entry.inclusion_state)
        for entry in cone.entries
    }


@pytest.mark.parametrize("form", FORMS)
def test_every_milestone_in_every_form(form: str) -> None:
    for number, line in enumerate(sample(), 1):
        data = dump(FORMS[form](line))
        cone = read_cone(data)
        assert [cone.milestone_index] == [number] == milestones_of(data)
        assert found(cone) == entries_of(number)


@pytest.mark.parametrize("form", FORMS)
def test_the_milestone_beside_the_messages(form: str) -> None:
    for number in CHOSEN:
        cone = read_cone(dump(FORMS[form](sample()[number - 1])))
        if form.startswith("D"):
            assert cone.milestone is None
        else:
            assert cone.milestone is not None
            assert encode_payload(cone.milestone) == bytes.fromhex(own_bytes(number))


def own_bytes(number: int) -> str:
    """The milestone payload inside its message: after network id, parents and length, before the nonce (TIP-6)."""
    data = bytes.fromhex(oracle()[number - 1]["messages"][-1]["bytes_hex"])
    return data[9 + 32 * data[8] + 4 : -8].hex()


def test_there_is_a_receipt_among_the_chosen() -> None:
    assert set(RECEIPTS) & set(CHOSEN)


def test_conflict_reasons_come_from_node_json_alone() -> None:
    for number, line in enumerate(sample(), 1):
        expected = {
            bytes.fromhex(each["id"]): each["metadata"].get("conflictReason")
            for each in oracle()[number - 1]["messages"]
        }
        node = read_cone(dump(oracle()[number - 1]))
        assert {entry.message_id: entry.conflict_reason for entry in node.entries} == expected
        assert {entry.conflict_reason for entry in read_cone(dump(line)).entries} == {None}


@pytest.mark.parametrize(
    ("given_reason", "code"),
    [(None, None), (0, None), ("None", None), (1, 1), ("InvalidSignature", 5), ("SemanticValidationFailed", 255)],
)
def test_conflict_reasons_of_records(given_reason: Any, code: int | None) -> None:
    document = format_c(sample()[0])
    document["messages"][0]["conflict_reason"] = given_reason
    assert read_cone(dump(document)).entries[0].conflict_reason == code


@pytest.mark.parametrize(("given_state", "state"), [(0, 2), (1, 1), (2, 0), ("Included", 1), ("conflicting", 2)])
def test_inclusion_states_of_records(given_state: Any, state: int) -> None:
    document = format_d(sample()[0])
    document["messages"][0]["inclusion_state"] = given_state
    assert read_cone(dump(document)).entries[0].inclusion_state == state


def test_a_milestone_without_its_payload_beside() -> None:
    line = sample()[2] | {"milestone": None}
    cone = read_cone(dump(line))
    assert cone.milestone is None
    assert found(cone) == entries_of(3)


def test_the_milestone_s_record_may_be_in_the_list_of_d_too() -> None:
    document = format_d(sample()[2])
    document["messages"].insert(1, document["milestone"]["message"])
    assert found(read_cone(dump(document))) == entries_of(3)


def test_pending_lines() -> None:
    for each in pending():
        data = dump(each)
        assert milestones_of(data) == []
        (entry,) = read_cone(data).entries
        assert (entry.message_id.hex(), encode_message(entry.message).hex()) == (each["id"], each["bytes_hex"])
        assert (entry.referenced_by, entry.inclusion_state, entry.conflict_reason) == (None, None, None)


def test_key_order_and_white_space_mean_nothing() -> None:
    line = sample()[4]
    backwards = dict(reversed(line.items()))
    for data in (dump(backwards), b"  " + orjson.dumps(line, option=orjson.OPT_INDENT_2).replace(b"\n", b"\r\n")):
        assert milestones_of(data) == [5]
        assert found(read_cone(data)) == entries_of(5)


def set_in(path: str, value: Any) -> Callable[[list[Json]], None]:
    """Sets a value in the pair [message, metadata]."""

    def change(pair: list[Json]) -> None:
        side, _, key = path.partition(".")
        pair[side == "metadata"][key] = value

    return change


def drop(path: str) -> Callable[[list[Json]], None]:
    def change(pair: list[Json]) -> None:
        side, _, key = path.partition(".")
        del pair[side == "metadata"][key]

    return change


BROKEN: dict[str, tuple[Callable[[list[Json]], None], str]] = {
    "no nonce": (drop("message.nonce"), "nonce: expected a value, found none"),
    "no parents": (drop("message.parents"), "parents: expected a value, found none"),
    "unknown state": (set_in("metadata.ledgerInclusionState", "maybe"), "found 'maybe'"),
    "a list as state": (set_in("metadata.ledgerInclusionState", [1]), "found [1]"),
    "another's metadata": (set_in("metadata.messageId", "00" * 32), f"found {'00' * 32}"),
    "a float as nonce": (set_in("message.nonce", 1.5), "nonce: expected"),
    "unknown payload": (set_in("message.payload", {"type": "Vote", "data": {}}), "payload"),
    "a text as reason": (set_in("metadata.conflictReason", "because"), "conflict reason: expected"),
    "a list as reason": (set_in("metadata.conflictReason", []), "conflict reason: expected"),
    "a reason too large": (set_in("metadata.conflictReason", 70_000), "conflict reason: expected"),
    "metadata missing": (lambda pair: pair.pop(), "messages: expected a pair [message, metadata]"),
    "metadata null": (lambda pair: pair.__setitem__(1, None), "messages: expected a pair [message, metadata]"),
}


def test_metadata_may_say_nothing() -> None:
    """Everything about a message is in its bytes; the rest is proved elsewhere or stays open."""
    line = sample()[2]
    for pair in line["messages"].values():
        pair[1] = {}
    cone = read_cone(dump(line))
    assert cone.rejected == []
    assert {entry.message_id for entry in cone.entries} == entries_of(3).keys()
    assert {(each.referenced_by, each.inclusion_state, each.conflict_reason) for each in cone.entries} == {(None,) * 3}


@pytest.mark.parametrize("name", BROKEN)
def test_one_broken_message_costs_only_itself(name: str) -> None:
    change, reason = BROKEN[name]
    line = sample()[2]
    victim = of_state(line, "noTransaction")[0]
    change(line["messages"][victim])
    cone = read_cone(dump(line))
    (rejected,) = cone.rejected
    assert rejected.item == victim
    assert reason in rejected.reason
    expected = entries_of(3)
    del expected[bytes.fromhex(victim)]
    assert {entry.message_id for entry in cone.entries} == expected.keys()


NODE_BROKEN: dict[str, tuple[Callable[[Json], Any], str]] = {
    "no message": (lambda each: each.pop("message"), "an object with id and message"),
    "no parents": (lambda each: each["message"].pop("parentMessageIds"), "parentMessageIds"),
    "other bytes": (lambda each: each.__setitem__("bytes_hex", "00"), "bytes_hex: expected the bytes"),
    "another's metadata": (lambda each: each["metadata"].__setitem__("messageId", "00"), "found 00"),
    "metadata of another kind": (lambda each: each.__setitem__("metadata", "none"), "metadata: expected"),
    "unknown state": (lambda each: each["metadata"].__setitem__("ledgerInclusionState", 7), "found 7"),
    "a list as state": (lambda each: each["metadata"].__setitem__("ledgerInclusionState", []), "found []"),
    "a text as reason": (lambda each: each["metadata"].__setitem__("conflictReason", "x"), "conflictReason: expected"),
    "a reason too large": (
        lambda each: each["metadata"].__setitem__("conflictReason", 256),
        "conflictReason: expected",
    ),
}


@pytest.mark.parametrize("name", NODE_BROKEN)
def test_one_broken_message_of_node_json_costs_only_itself(name: str) -> None:
    change, reason = NODE_BROKEN[name]
    line = copy.deepcopy(oracle()[2])
    victim = line["messages"][0]["id"]
    change(line["messages"][0])
    cone = read_cone(dump(line))
    (rejected,) = cone.rejected
    assert rejected.item == victim
    assert reason in rejected.reason
    assert len(cone.entries) == len(line["messages"]) - 1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"null",
        b"{}",
        b'{"milestone_index":1}',
        b'{"milestone_index":1,"messages":7}',
        b'{"milestone_index":"1","messages":{}}',
        b'{"milestone":5,"messages":[]}',
        b'{"milestone":"message","messages":[]}',
        b'{"milestone":"index","messages":[]}',
        b'{"milestone":{"message":5},"messages":[]}',
        b'{"milestone":{"index":"one"},"messages":[]}',
        b'{"milestone":{"index":null},"messages":[]}',
        b'{"milestone_index":1,"payload":5,"messages":[]}',
        b'{"milestone_index":1,"milestone":{},"messages":{}}',
        b'{"id":1}',
        b'{"messages":[],"milestone":{"message":{"message_id":1}}}',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_invalid_line_is_rejected(line: bytes) -> None:
    with pytest.raises(JsonError):
        read_cone(line)


@pytest.mark.parametrize("index", [-1, -5, 2**31, 2**32, 2**70, True, 1.5, None, "7"])
def test_an_index_that_no_milestone_has_is_rejected(index: Any) -> None:
    for document in (
        sample()[0] | {"milestone_index": index},
        format_c(sample()[0]) | {"milestone_index": index},
        {**oracle()[0], "milestone": oracle()[0]["milestone"] | {"index": index}},
    ):
        with pytest.raises(JsonError):
            milestones_of(json.dumps(document).encode())


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["milestone_index", "milestone", "messages", "message", "message_id", "payload", "index", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(JUNK)
def test_junk_is_only_rejected(junk: Any) -> None:
    for read in (read_cone, milestones_of):
        with suppress(JsonError, CodecError):
            read(orjson.dumps(junk))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] + [deeper for key, inner in items for deeper in places(inner, (*path, key))]


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.data())
def test_junk_in_one_message_is_rejected_or_changes_that_message_alone(form: str, data: st.DataObject) -> None:
    line = copy.deepcopy(FORMS[form](sample()[6]))
    messages = line["messages"]
    key = data.draw(st.sampled_from(sorted(messages) if isinstance(messages, dict) else range(len(messages))))
    where = data.draw(st.sampled_from([path for path in places(messages[key]) if len(path) < 5]))
    target, position = messages, key
    for step in where:
        target, position = target[position], step
    target[position] = data.draw(JUNK)
    cone = read_cone(orjson.dumps(line))
    expected = entries_of(7)
    touched = bytes.fromhex(key) if isinstance(key, str) else None
    intact = {
        entry.message_id
        for entry in cone.entries
        if expected.get(entry.message_id, (b"",))[0] == encode_message(entry.message)
    }
    missing = expected.keys() - intact
    assert len(missing) <= 1
    assert touched is None or missing <= {touched}


def test_own_messages_are_milestones() -> None:
    assert [own_id(line) for line in sample()] == [each["milestone"]["messageId"] for each in oracle()]
