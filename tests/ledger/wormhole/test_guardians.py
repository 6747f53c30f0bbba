"""The history of guardian sets: learnt from the messages that name them, and equal to the published sets."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.wormhole.emitters import GOVERNANCE_EMITTER
from ledger.wormhole.guardians import PUBLISHED, GuardianSet, find_update
from ledger.wormhole.vaa import Vaa, digest
from ledger.wormhole.verify import expires_at, learn, verify
from tests.ledger.wormhole.cases import (
    PRIVATE,
    VECTORS,
    addresses,
    guardian_set,
    lines,
    public_sets,
    published,
    shared,
    shipped,
    signed,
    update,
    vaa_of,
)


@pytest.mark.parametrize("network", ["mainnet", "testnet", "devnet"])
def test_published_sets_are_those_that_are_public(network: str) -> None:
    public = [
        GuardianSet(int(index), addresses(entry), entry.get("set_timestamp", 0))
        for index, entry in public_sets(network).items()
        if index.isdigit()
    ]
    assert list(PUBLISHED[network]) == public
    assert [each.quorum for each in PUBLISHED[network]] == [
        entry["quorum"] for index, entry in public_sets(network).items() if index.isdigit()
    ]


def mainnet_vaas() -> list[Vaa]:
    """Messages of both kinds, in any order, including those of other emitters."""
    return [vaa_of(record) for record in [*shipped(), *shared()] if record["network"] in ("mainnet", "unknown")]


def updates() -> list[Vaa]:
    """The messages that named sets 2 and 4, which are missing in the shared data."""
    return [vaa_of(record) for record in lines(VECTORS / "guardian_set_updates.jsonl")]


def test_all_sets_follow_from_the_first_one_and_messages_alone() -> None:
    vaas = [*mainnet_vaas(), *updates()]
    learnt = learn([published("mainnet")[0]], vaas)
    assert sorted(learnt) == list(range(8))
    by_digest = {digest(vaa): vaa for vaa in vaas}
    for index in range(1, 8):
        entry, named_by = public_sets("mainnet")[str(index)], learnt[index].named_by
        assert learnt[index].addresses == addresses(entry)
        assert learnt[index].since == entry["set_timestamp"]
        assert named_by is not None
        printed = f"1/{GOVERNANCE_EMITTER.hex()}/{by_digest[named_by].sequence}"
        assert printed == entry["confirmed_by_vaa"]["message_id"]


def test_a_chain_without_a_message_ends_before_it() -> None:
    vaas = mainnet_vaas()
    public = published("mainnet")
    for first, last in [(0, 1), (2, 3), (4, 7)]:
        assert sorted(learn([public[first]], vaas)) == list(range(first, last + 1))


def test_messages_confirm_published_sets_and_change_none() -> None:
    vaas = mainnet_vaas()
    confirmed = learn(PUBLISHED["mainnet"], vaas)
    assert {index: replace(each, named_by=None) for index, each in confirmed.items()} == published("mainnet")
    named = {each.named_by for each in confirmed.values()} - {None}
    messages = {
        bytes.fromhex(record["digest"])
        for record in shipped()
        if record["network"] == "mainnet" and record["decoded"].get("action_name") == "guardian_set_update"
    }
    assert named == messages
    assert len(named) == 5


def test_every_confirming_message_is_the_one_that_the_public_set_names() -> None:
    by_digest = {digest(vaa): vaa for vaa in mainnet_vaas()}
    for index, each in learn(PUBLISHED["mainnet"], mainnet_vaas()).items():
        if each.named_by is not None:
            vaa = by_digest[each.named_by]
            printed = public_sets("mainnet")[str(index)]["confirmed_by_vaa"]
            assert f"1/{GOVERNANCE_EMITTER.hex()}/{vaa.sequence}" == printed["message_id"]
            assert vaa.guardian_set_index == printed["signed_by_set"]


ERAS = [PRIVATE[0:1], PRIVATE[1:8], PRIVATE[4:11], PRIVATE[9:28]]
CHAIN = [signed(update(index, ERAS[index], timestamp=index), ERAS[index - 1]) for index in (1, 2, 3)]
ROOT = guardian_set(0, ERAS[0])
OTHERS = PRIVATE[30:37]


def learnt(*vaas: Vaa) -> dict[int, tuple[bytes, ...]]:
    return {index: each.addresses for index, each in learn([ROOT], vaas).items()}


FULL = {index: guardian_set(index, keys).addresses for index, keys in enumerate(ERAS)}


def test_the_chain_is_followed_in_whatever_order_the_messages_come() -> None:
    for order in permutations(CHAIN):
        assert learnt(*order) == FULL
    learned = learn([ROOT], CHAIN)
    assert [learned[index].since for index in range(4)] == [0, 1, 2, 3]
    assert [learned[index].named_by for index in range(4)] == [None, *map(digest, CHAIN)]
    assert [expires_at(index, learned) for index in range(4)] == [86_401, 86_402, 86_403, None]


def test_a_missing_link_ends_the_chain() -> None:
    assert sorted(learnt(CHAIN[0], CHAIN[2])) == [0, 1]
    assert sorted(learnt(CHAIN[1], CHAIN[2])) == [0]


FORGED = {
    "by nobody": update(1, OTHERS),
    "by strangers": signed(update(1, OTHERS), OTHERS),
    "by too few": signed(update(2, OTHERS), ERAS[1][:4]),
    "by a set before the last": signed(update(3, OTHERS, guardian_set_index=1), ERAS[1]),
    "by the set that it names": signed(update(1, ERAS[1], guardian_set_index=1), ERAS[1]),
    "for one chain only": signed(update(1, OTHERS, target=21), ERAS[0]),
    "by another emitter": signed(update(1, OTHERS, emitter_address=bytes(31) + b"\5"), ERAS[0]),
    "from another chain": signed(update(1, OTHERS, emitter_chain=2), ERAS[0]),
    "of nobody": signed(update(1, []), ERAS[0]),
    "with more behind it": signed(update(1, OTHERS, payload=update(1, OTHERS).payload + b"\0"), ERAS[0]),
    "cut short": signed(update(1, OTHERS, payload=update(1, OTHERS).payload[:-1]), ERAS[0]),
    "of another action": signed(
        update(1, OTHERS, payload=update(1, OTHERS).payload.replace(b"Core\2", b"Core\1")), ERAS[0]
    ),
    "without a body": signed(update(1, OTHERS, payload=b"Core"), ERAS[0]),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_set_is_named_by_the_set_before_it_and_nobody_else(how: str) -> None:
    assert learnt(*CHAIN, FORGED[how]) == FULL
    index = 1 if how not in ("by too few", "by a set before the last") else 2
    assert sorted(learnt(*CHAIN[: index - 1], FORGED[how])) == list(range(index))


def test_of_two_the_earliest_counts_then_the_smaller_digest() -> None:
    early = signed(update(1, OTHERS[:3], timestamp=10), ERAS[0])
    late = signed(update(1, OTHERS[3:6], timestamp=11), ERAS[0])
    rival = signed(update(1, OTHERS[4:7], timestamp=10), ERAS[0])
    first = min(early, rival, key=digest)
    for order in permutations([early, late, rival]):
        assert learn([ROOT], order)[1].named_by == digest(first)
    assert learn([ROOT], [late])[1].named_by == digest(late)


def test_what_is_known_is_not_changed_by_a_message_that_contradicts_it() -> None:
    known = [ROOT, guardian_set(1, ERAS[1])]
    assert learn(known, [signed(update(1, OTHERS), ERAS[0])]) == {each.index: each for each in known}


@given(st.binary(max_size=120))
def test_no_payload_of_governance_breaks_the_history(payload: bytes) -> None:
    vaa = signed(update(1, OTHERS, payload=payload), ERAS[0])
    assert find_update(vaa) is None or vaa.payload[32] == 2
    assert verify(vaa, {0: ROOT}).verified
    assert learnt(vaa) in ({0: ROOT.addresses}, {0: ROOT.addresses, 1: getattr(find_update(vaa), "addresses", None)})


def copies(vaa: Vaa, *places: tuple[int, ...]) -> list[Vaa]:
    """Copies of a message, signed by these guardians of set 1."""
    return [signed(vaa, {place: ERAS[1][place] for place in each}) for each in places]


SECOND = update(2, ERAS[2], timestamp=2)
WRITTEN = [signed(SECOND, [key]).signatures[0].signature for key in ERAS[1]]
"""The signatures of set 1, whose quorum is 5, for SECOND."""

TWO_PARTS = copies(SECOND, (0, 1, 2), (2, 5, 6))
REPEATED = copies(SECOND, (0, 1, 2), (0, 1, 2, 3))
FORGED_PART = [*TWO_PARTS[:1], signed(SECOND, dict(enumerate(OTHERS)))]
BROKEN = signed(SECOND, dict(enumerate(ERAS[1][:6])) | {6: OTHERS[0]})
"""A quorum and a bad signature."""


@pytest.mark.parametrize(
    ("parts", "written", "is_learned"),
    [
        (TWO_PARTS, {}, True),
        (TWO_PARTS[:1], {}, False),
        (TWO_PARTS[:1], {5: WRITTEN[3:5]}, True),
        (TWO_PARTS[:1], {5: WRITTEN[:4]}, False),
        (TWO_PARTS[:1], {6: WRITTEN[3:5]}, False),
        (TWO_PARTS[:1], {5: [bytes(65), b"\xff" * 65, *WRITTEN[3:5]]}, True),
        (copies(SECOND, ()), {5: WRITTEN}, True),
        (REPEATED, {}, False),
        (FORGED_PART, {5: WRITTEN[:4]}, False),
        ([*copies(update(2, OTHERS, timestamp=2), (0, 1, 2)), *copies(SECOND, (3, 4, 5))], {}, False),
        ([replace(each, guardian_set_index=2) for each in TWO_PARTS], {5: WRITTEN}, False),
        ([replace(TWO_PARTS[0], guardian_set_index=2), TWO_PARTS[1]], {}, True),
        ([BROKEN], {5: WRITTEN}, False),
        ([BROKEN, *copies(SECOND, (0, 1, 2, 3, 4))], {}, True),
        ([], {5: WRITTEN}, False),
    ],
)
def test_copies_and_written_signatures_count_together(
    parts: list[Vaa], written: dict[int, list[bytes]], is_learned: bool
) -> None:
    for order in permutations(parts):
        found = learn([ROOT], [CHAIN[0], *order], written)
        assert {index: each.addresses for index, each in found.items()} == {
            index: FULL[index] for index in (range(3) if is_learned else range(2))
        }
