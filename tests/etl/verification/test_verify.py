"""Verification of one milestone: rejects with file, line, item and reason, and copies that repair it."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl.sources import read_cone
from etl.sources.cone import Cone, Entry
from etl.verification.cone_verification import Checked, Copy, Reject, check_milestone, check_pending
from etl.verification.milestone_checks import WRONG_STATES
from ledger.chrysalis.codec import Indexation, Message, Milestone, encode_message
from ledger.eras import Coordinator, KeyRange
from ledger.ids import message_id
from ledger.levels import BELIEVED, MERKLE
from tests.etl.archives import (
    ARCHIVE_FORMS,
    NETWORK,
    Json,
    blake,
    dump,
    entries_of,
    eras_of,
    flipped,
    leaf,
    of_state,
    oracle,
    order_of,
    own_id,
    pending,
    sample,
)

NETWORK_ID = int(oracle()[0]["messages"][0]["message"]["networkId"])
ERAS = eras_of(NETWORK)
NUMBER = 7
OWN = own_id(sample()[NUMBER - 1])


def line() -> Json:
    return sample()[NUMBER - 1]


def a_copy(document: Any, file: str = "a.log", number: int = 3) -> Copy:
    data = document if isinstance(document, bytes) else dump(document)
    return Copy(file, number, lambda: read_cone(data))


def check(*documents: Any) -> Checked:
    """Copies from a.log, b.log, … in that order."""
    copies = [a_copy(each, f"{name}.log") for name, each in zip("abcdef", documents, strict=False)]
    return check_milestone(NUMBER, copies, ERAS)


def ids(checked: Checked) -> list[bytes]:
    return [entry.message_id for entry in checked.messages]


def is_whole(checked: Checked) -> bool:
    """Complete, proved, in order, with the oracle's bytes."""
    bodies = {entry.message_id: entry.data for entry in checked.messages}
    expected = {key: data for key, (data, _, _) in entries_of(NUMBER).items()}
    return (
        checked.rejects == []
        and checked.verified == MERKLE
        and ids(checked) == order_of(NUMBER)
        and bodies == expected
        and checked.milestone is not None
        and checked.milestone.index == NUMBER
    )


def is_all_but(checked: Checked, *victims: str) -> bool:
    """Everything else is kept, and nothing is proved."""
    return checked.verified is None and set(ids(checked)) == set(order_of(NUMBER)) - set(map(bytes.fromhex, victims))


@pytest.mark.parametrize("form", ARCHIVE_FORMS)
def test_every_milestone_of_every_form_is_proved_in_white_flag_order(form: str) -> None:
    for number, each in enumerate(sample(), 1):
        checked = check_milestone(number, [a_copy(ARCHIVE_FORMS[form](each))], ERAS)
        assert (checked.verified, ids(checked)) == (MERKLE, order_of(number))


@given(st.permutations(list(line()["messages"].items())))
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_line_means_nothing(items: list[Any]) -> None:
    assert is_whole(check(line() | {"messages": dict(items)}))


def test_node_json_is_proved_in_its_white_flag_index() -> None:
    for each in oracle():
        index = each["milestone"]["index"]
        checked = check_milestone(index, [a_copy(each)], ERAS)
        positions = {message["id"]: message["whiteFlagIndex"] for message in each["messages"]}
        assert checked.verified == MERKLE
        found = [positions[message_id.hex()] for message_id in ids(checked)]
        assert found == [*range(len(found) - 1), None]


def alien(document: Json) -> str:
    """Puts a message of the next milestone into the line, unchanged."""
    other = sample()[NUMBER]
    victim = of_state(other, "noTransaction")[0]
    document["messages"][victim] = other["messages"][victim]
    return victim


def alien_in_disguise(document: Json) -> str:
    """The same with adapted metadata: only the cone reveals it."""
    victim = alien(document)
    document["messages"][victim][1]["referencedByMilestoneIndex"] = NUMBER
    return victim


def of_another_network(document: Json) -> str:
    """A message of another network with a correct id."""
    victim = of_state(document, "noTransaction")[0]
    pair = document["messages"].pop(victim)
    pair[0]["network_id"] = 1
    parsed = read_cone(dump({"milestone_index": NUMBER, "milestone": None, "messages": {victim: pair}})).entries[0]
    renamed = blake(encode_message(parsed.message))
    pair[1]["messageId"] = renamed
    document["messages"][renamed] = pair
    return renamed


def flip(document: Json) -> str:
    victim = of_state(document, "noTransaction")[0]
    document["messages"][victim][0]["nonce"] ^= 1
    return victim


def missing_key(document: Json) -> str:
    victim = of_state(document, "included")[0]
    del document["messages"][victim][0]["nonce"]
    return victim


def too_long(document: Json) -> str:
    """A message of more than 32 KiB."""
    victim = of_state(document, "noTransaction")[0]
    document["messages"][victim][0]["payload"]["data"]["data"] = [0] * 40_000
    return victim


REJECTED: dict[str, tuple[Callable[[Json], str], str]] = {
    "flipped": (flip, "message id: the bytes hash to "),
    "alien": (alien, f"referencedByMilestoneIndex: {NUMBER} expected, found {NUMBER + 1}"),
    "alien in disguise": (alien_in_disguise, f"parents: not in the cone of milestone {NUMBER}"),
    "network": (of_another_network, f"networkId: {NETWORK_ID} expected, found 1"),
    "missing key": (missing_key, "nonce: expected a value, found none"),
    "too long": (too_long, "at byte 32768: expected the end of a message of at most 32768 bytes"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_one_stranger_is_rejected_by_name_and_the_rest_kept(name: str) -> None:
    change, reason = REJECTED[name]
    document = line()
    victim = change(document)
    checked = check(document)
    (reject,) = checked.rejects
    assert (reject.file, reject.line, reject.item) == ("a.log", 3, victim)
    assert reject.reason.startswith(reason)
    missing = order_of(NUMBER)
    kept = set(missing) - {bytes.fromhex(victim)}
    if name == "network":
        kept -= {bytes.fromhex(of_state(line(), "noTransaction")[0])}
    assert checked.verified is None
    assert set(ids(checked)) == kept


@pytest.mark.parametrize("name", REJECTED)
@pytest.mark.parametrize("good_first", [True, False])
def test_a_good_copy_heals_a_bad_one(name: str, good_first: bool) -> None:
    document = line()
    REJECTED[name][0](document)
    assert is_whole(check(*((line(), document) if good_first else (document, line()))))


@pytest.mark.parametrize("name", REJECTED)
def test_the_same_bad_line_twice_is_as_bad_as_once(name: str) -> None:
    document = line()
    victim = REJECTED[name][0](document)
    checked = check(document, document)
    assert checked.verified is None
    assert {reject.item for reject in checked.rejects} == {victim}


@pytest.mark.parametrize("name", REJECTED)
def test_what_the_lake_kept_of_a_bad_line_does_not_heal_it(name: str) -> None:
    document = line()
    victim = REJECTED[name][0](document)
    before = check(document)
    known = Copy("lake", 0, lambda: Cone(NUMBER, entries=before.messages), partial=True)
    checked = check_milestone(NUMBER, [a_copy(document), known], ERAS)
    assert checked.verified is None
    assert [reject.item for reject in checked.rejects] == [victim]
    assert set(ids(checked)) == set(ids(before))


def test_a_leaf_that_was_rejected_is_missed_although_the_rest_looks_whole() -> None:
    victim = leaf(line())
    before = check(flipped(line(), victim))
    assert is_all_but(before, victim)
    known = Copy("lake", 0, lambda: Cone(NUMBER, entries=before.messages), partial=True)
    for again in (flipped(line(), victim), b'{"milestone_index":7,'):
        checked = check_milestone(NUMBER, [a_copy(again), known], ERAS)
        assert is_all_but(checked, victim)
        assert [reject.item for reject in checked.rejects] == [victim if isinstance(again, dict) else ""]


def test_two_bad_copies_heal_each_other() -> None:
    one, two = of_state(line(), "noTransaction")[:2]
    assert is_whole(check(flipped(line(), one), flipped(line(), two)))
    before = check(flipped(line(), one))
    known = Copy("lake", 0, lambda: Cone(NUMBER, entries=before.messages), partial=True)
    assert is_whole(check_milestone(NUMBER, [a_copy(flipped(line(), two)), known], ERAS))


def part_of(document: Json, parts: int, *kept: int) -> Json:
    """A line with some of its messages: every `parts`-th one, from each place that is kept."""
    items = enumerate(document["messages"].items())
    return document | {"messages": dict(item for place, item in items if place % parts in kept)}


def test_copies_that_miss_different_messages_are_complete_together() -> None:
    half = part_of(line(), 2, 0), part_of(line(), 2, 1)
    for one in half:
        assert check(one).verified is None
    assert is_whole(check(*half))
    assert is_whole(check(part_of(line(), 3, 0, 1), part_of(line(), 3, 1, 2), part_of(line(), 3, 0, 2)))
    assert check(half[0], half[0]).verified is None
    victim = leaf(line())
    damaged = [flipped(each, victim) if victim in each["messages"] else each for each in half]
    assert check(*damaged).verified is None
    assert is_whole(check(*damaged, *half))


def edges(document: Json) -> list[str]:
    """Data messages without which the rest still looks complete: all their parents are in earlier milestones."""
    messages = {entry.message_id.hex(): entry.message for entry in read_cone(dump(document)).entries}
    return [
        identity
        for identity, message in messages.items()
        if isinstance(message, Message)
        and isinstance(message.payload, Indexation)
        and not {parent.hex() for parent in message.parents} & messages.keys()
    ]


def test_proved_copies_with_different_messages_are_united() -> None:
    """The Merkle root of Chrysalis covers transactions only, so each of these copies is proved."""
    number, document = next((number, each) for number, each in enumerate(sample(), 1) if len(edges(each)) > 1)
    found = edges(document)[:2]
    without = [document | {"messages": {i: m for i, m in document["messages"].items() if i != each}} for each in found]
    for one in without:
        checked = check_milestone(number, [a_copy(one)], ERAS)
        assert (checked.verified, checked.rejects) == (MERKLE, [])
        assert len(checked.messages) == len(order_of(number)) - 1
    for copies in (without, without[::-1], [without[0], document], [document, without[0]], [*without, document]):
        checked = check_milestone(number, [a_copy(each) for each in copies], ERAS)
        assert (checked.verified, checked.rejects, ids(checked)) == (MERKLE, [], order_of(number))


def test_bad_copies_that_miss_the_same_message_do_not() -> None:
    one, two, three = of_state(line(), "noTransaction")[:3]
    checked = check(flipped(flipped(line(), one), two), flipped(flipped(line(), one), three))
    assert is_all_but(checked, one)
    assert [(reject.file, reject.item) for reject in checked.rejects] == [("a.log", one), ("b.log", one)]


def test_a_repaired_copy_must_be_complete_too() -> None:
    document = line()
    stranger = alien_in_disguise(document)
    one, two = of_state(line(), "noTransaction")[:2]
    checked = check(flipped(document, one), flipped(document, two))
    assert checked.verified is None
    assert stranger in {reject.item for reject in checked.rejects}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not json\n", "line: expected one JSON object"),
        (dump(line())[:-100], "line: expected one JSON object"),
        (b"{}\n", "line: expected a document of archive A/B"),
        (b'{"milestone_index":7,"messages":[3]}\n', None),
    ],
)
def test_a_broken_line_is_one_reject(data: bytes, reason: str | None) -> None:
    checked = check(data)
    assert (checked.messages, checked.verified) == ([], None)
    (reject,) = checked.rejects
    assert (reject.file, reject.line) == ("a.log", 3)
    if reason is not None:
        assert reject.item == ""
        assert reject.reason.startswith(reason)
    assert is_whole(check(data, line()))


def test_a_line_that_is_gone_is_a_reject() -> None:
    def gone() -> Cone:
        raise EOFError("a.log: 5 bytes expected at 0, found 2")

    checked = check_milestone(NUMBER, [Copy("a.log", 3, gone)], ERAS)
    assert checked.rejects == [Reject("a.log", 3, "", "a.log: 5 bytes expected at 0, found 2")]


def test_a_milestone_beside_its_message_must_be_the_same() -> None:
    document = line()
    document["milestone"] = sample()[NUMBER]["milestone"]
    expected = [Reject("a.log", 3, "", "milestone: differs from the message that carries it")]
    checked = check(document)
    assert checked.rejects == expected
    assert checked.verified is None
    assert checked.milestone is not None
    assert checked.milestone.index == NUMBER
    assert set(ids(checked)) == set(order_of(NUMBER))
    known = Copy("lake", 0, lambda: Cone(NUMBER, entries=checked.messages), partial=True)
    assert check_milestone(NUMBER, [a_copy(document), known], ERAS).rejects == expected
    assert is_whole(check(document, line()))


def test_a_cone_without_its_milestone() -> None:
    document = line()
    del document["messages"][OWN]
    checked = check(document)
    assert checked.rejects == [Reject("a.log", 3, "", f"milestone: no message carries milestone {NUMBER}")]
    assert is_all_but(checked, OWN)


def entry_of(message: Message) -> Entry:
    data = encode_message(message)
    return Entry(message_id(data), message, data, None, None, None)


def of_line() -> tuple[list[Entry], Entry]:
    """The messages of the line, and the one with the milestone."""
    by_id = {entry.message_id.hex(): entry for entry in read_cone(dump(line())).entries}
    own = by_id.pop(OWN)
    return list(by_id.values()), own


def wrapped(*, adding: bool) -> tuple[Entry, list[Entry]]:
    """A message around the same milestone payload with other parents, and its cone: one message that was never sent
    more, or those below one parent less.
    """
    others, own = of_line()
    assert isinstance(own.message, Message)
    sent = entry_of(Message(NETWORK_ID, own.message.parents[:1], Indexation(b"never", b"sent"), 7))
    parents = sorted((*own.message.parents, sent.message_id)) if adding else own.message.parents[1:]
    return entry_of(replace(own.message, parents=tuple(parents))), [*others, *([sent] if adding else [])]


@pytest.mark.parametrize("adding", [True, False])
def test_the_coordinator_signs_the_parents_in_the_payload_and_not_those_of_the_message(adding: bool) -> None:
    _, own = of_line()
    forged, others = wrapped(adding=adding)
    a_forgery = Copy("a.log", 3, lambda: Cone(NUMBER, entries=[*others, forged]))
    checked = check_milestone(NUMBER, [a_forgery], ERAS)
    reason = f"parents: those of the payload of milestone 7 expected in message {forged.message_id.hex()}"
    assert (checked.verified, checked.rejects) == (None, [Reject("a.log", 3, "", reason)])
    assert is_whole(check_milestone(NUMBER, [a_forgery, a_copy(line())], ERAS))
    beside = Copy("a.log", 3, lambda: Cone(NUMBER, entries=[*others, own, forged]))
    strangers = {each.message_id.hex() for each in (*others, forged)} - set(map(bytes.hex, order_of(NUMBER)))
    found = check_milestone(NUMBER, [beside], ERAS)
    assert found.verified is None
    assert {(each.item, each.reason) for each in found.rejects} == {
        (each, "parents: not in the cone of milestone 7") for each in strangers
    }


@pytest.mark.parametrize("timestamp", [253_402_300_800, 2**64 - 1])
def test_a_time_that_no_calendar_has_is_rejected(timestamp: int) -> None:
    others, own = of_line()
    assert isinstance(own.message, Message)
    assert isinstance(own.message.payload, Milestone)
    late = entry_of(replace(own.message, payload=replace(own.message.payload, timestamp=timestamp)))
    checked = check_milestone(NUMBER, [Copy("a.log", 3, lambda: Cone(NUMBER, entries=[*others, late]))], ERAS)
    reason = f"timestamp: expected at most 253402300799 (the end of the year 9999), found {timestamp}"
    assert (checked.verified, checked.rejects) == (None, [Reject("a.log", 3, "", reason)])


def test_signers_that_the_lines_name_must_have_signed_also_if_copies_heal_each_other() -> None:
    others = Coordinator((KeyRange(b"\x11" * 32, 0, None),), 1)

    def naming(document: Json, file: str) -> Copy:
        return Copy(file, 3, lambda: replace(read_cone(dump(document)), coordinator=others))

    one, two = of_state(line(), "noTransaction")[:2]
    whole = check_milestone(NUMBER, [naming(line(), "a.log")], ERAS)
    healed = check_milestone(NUMBER, [naming(flipped(line(), each), f"{each}.log") for each in (one, two)], ERAS)
    for checked in (whole, healed):
        assert checked.verified is None
        assert {each.reason.partition(":")[0] for each in checked.rejects} == {"signatures"}


def test_whole_copies_with_other_inclusion_states_give_way_to_a_proved_one() -> None:
    document = line()
    document["messages"][of_state(document, "included")[0]][1]["ledgerInclusionState"] = "conflicting"
    assert check(document).rejects
    assert is_whole(check(document, line()))


def test_unproved_copies_that_disagree_are_rejected() -> None:
    one, two = line(), line()
    first, second = of_state(line(), "included")[:2]
    one["messages"][first][1]["ledgerInclusionState"] = "conflicting"
    two["messages"][second][1]["ledgerInclusionState"] = "conflicting"
    checked = check(one, two)
    assert checked.verified is None
    unproved, *differing = checked.rejects
    assert (unproved.item, unproved.reason) == ("", WRONG_STATES)
    assert {reject.item for reject in differing} == {first, second}
    assert {reject.reason for reject in differing} == {"inclusion state: copies differ and no Merkle root decides"}
    again = check(one, copy.deepcopy(one))
    assert (again.verified, again.rejects) == (BELIEVED, [unproved])


def test_pending_lines_are_checked_by_id_and_network() -> None:
    for each in pending():
        checked = check_pending(a_copy(each), ERAS)
        assert checked.milestone_index == -1
        assert [(entry.message_id.hex(), entry.data.hex()) for entry in checked.messages] == [
            (each["id"], each["bytes_hex"])
        ]
        wrong = check_pending(a_copy(each), eras_of("another"))
        assert wrong.messages == []
        assert [reject.item for reject in wrong.rejects] == [each["id"]]
    referenced = oracle()[0]["messages"][0]
    (reject,) = check_pending(a_copy(referenced), ERAS).rejects
    assert reject.reason == "referencedByMilestoneIndex: None expected, found 1"
