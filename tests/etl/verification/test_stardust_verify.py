"""Verification of one Stardust milestone: its cone starts at the payload, both Merkle roots are tried, copies repair
it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl.sources import read_cone
from etl.sources.cone import Cone
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream
from etl.verification.cone_verification import Checked, Copy, Reject, check_milestone, check_pending
from ledger.eras import CHRYSALIS, STARDUST, Era, Eras
from ledger.levels import BELIEVED, MERKLE
from tests.conftest import SHARED, needs_shared
from tests.etl.archives import Json, blake, dump, eras_of
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.archives import pending as chrysalis_pending
from tests.etl.stardust_archives import (
    FORMS,
    NETWORK,
    STATELESS,
    bytes_of,
    chronicle_json,
    eras,
    has_conflicts,
    has_options,
    line_of,
    of_state,
    oracle,
    order_of,
    packed,
    pending,
)

NUMBER = 7
ERAS = eras()


def a_copy(document: Any, file: str = "a.jsonl") -> Copy:
    data = document if isinstance(document, bytes) else dump(document)
    return Copy(file, 3, lambda: read_cone(data))


def check(*documents: Any, number: int = NUMBER, known: Eras = ERAS) -> Checked:
    """Copies from a.jsonl, b.jsonl, … in that order."""
    copies = [a_copy(each, f"{name}.jsonl") for name, each in zip("abcdef", documents, strict=False)]
    return check_milestone(number, copies, known)


def ids(checked: Checked) -> list[bytes]:
    return [entry.message_id for entry in checked.messages]


def is_whole(checked: Checked, number: int = NUMBER) -> bool:
    """Whole, proved, in order, with the oracle's bytes and states."""
    reported = {each["id"][2:]: each["metadata"] for each in line_of(number)["blocks"]}
    states = ("noTransaction", "included", "conflicting")
    return (
        checked.rejects == []
        and checked.verified == MERKLE
        and ids(checked) == order_of(number)
        and {entry.message_id: entry.data for entry in checked.messages} == bytes_of(number)
        and all(
            states[entry.inclusion_state or 0] == reported[entry.message_id.hex()]["ledgerInclusionState"]
            for entry in checked.messages
        )
        and checked.milestone is not None
        and checked.milestone.index == number
    )


def without(*victims: str) -> set[bytes]:
    return set(order_of(NUMBER)) - {bytes.fromhex(each) for each in victims}


@pytest.mark.parametrize("form", FORMS)
def test_every_milestone_is_proved_in_white_flag_order(form: str) -> None:
    proved = 0
    for number, line in enumerate(oracle(), 1):
        if form in STATELESS and has_conflicts(line):
            continue
        assert is_whole(check(FORMS[form](line), number=number), number), number
        proved += 1
    assert proved > 20


def test_states_that_no_source_contains_are_proved_by_a_guess_or_stay_open() -> None:
    """A block that spends an output spent earlier in the cone is recognized; other conflicts only the ledger state
    shows.
    """
    believed = 0
    for number, line in enumerate(oracle(), 1):
        if not has_conflicts(line) or has_options(line):
            continue
        checked = check(packed(line), number=number)
        if checked.verified == MERKLE:
            assert is_whole(checked, number)
            continue
        believed += 1
        assert (checked.verified, checked.rejects) == (BELIEVED, [])
        reported = {entry.message_id: entry.inclusion_state for entry in checked.messages}
        transactions = {bytes.fromhex(each["id"][2:]) for each in line["blocks"] if "transactionId" in each}
        assert {each for each, state in reported.items() if state is None} == transactions
        assert {reported[each] for each in reported.keys() - transactions} <= {0}
        assert is_whole(check(packed(line), line, number=number), number)
    assert believed > 3


@given(st.permutations(line_of(NUMBER)["blocks"]))
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_line_means_nothing(blocks: list[Json]) -> None:
    assert is_whole(check(line_of(NUMBER) | {"blocks": blocks}))


SIGNERS = [each["publicKey"] for each in line_of(NUMBER)["milestone"]["payload"]["signatures"]]
NO_KEY = f"signatures: no coordinator's key of milestone {NUMBER} is {SIGNERS[-1][2:]}"
NO_CONFIG = "milestone: node_config: expected milestone_key_ranges and milestone_public_key_count"


@pytest.mark.parametrize(
    ("ends", "count", "fault"),
    [
        ([(0, 0)] * len(SIGNERS), len(SIGNERS), None),
        ([(1, NUMBER)] * len(SIGNERS), 1, None),
        ([*[(0, 0)] * (len(SIGNERS) - 1), (1, NUMBER - 1)], 1, NO_KEY),
        ([(0, 0)] * (len(SIGNERS) - 1), 1, NO_KEY),
        ([(0, 0)] * len(SIGNERS), len(SIGNERS) + 1, NO_CONFIG),
        ([(None, 0)] * len(SIGNERS), 1, NO_CONFIG),
    ],
)
def test_messages_that_a_line_names_may_refute_its_milestone_and_prove_nothing(
    ends: list[tuple[int | None, int]], count: int, fault: str | None
) -> None:
    """Keys from inx-chronicle's node_config; a range whose ends are equal is unbounded."""
    document = orjson.loads(chronicle_json(line_of(NUMBER)))
    ranges = [{"public_key": key, "start": start, "end": end} for key, (start, end) in zip(SIGNERS, ends, strict=False)]
    config = {"milestone_key_ranges": ranges, "milestone_public_key_count": count}
    document[str(NUMBER)]["milestone_data"]["node_config"] = config
    checked = check(document)
    if fault is None:
        assert is_whole(checked), "merkle, no further"
        return
    assert [(each.file, each.line, each.item) for each in checked.rejects] == [("a.jsonl", 3, "")]
    assert checked.rejects[0].reason.startswith(fault)
    assert checked.verified is None


@needs_shared
def test_real_shimmer_milestones_are_proved() -> None:
    path = str(SHARED / "iota" / "shimmer" / "in_memory_data.json")
    with open_stream(path) as stream:
        ((_, _, data),) = lines(stream)
    for number, size in ((17339, 38), (17340, 43), (17341, 31)):
        copies = [Copy(path, 1, partial(read_cone, data, number))]
        checked = check_milestone(number, copies, eras_of("shimmer", STARDUST))
        assert (len(checked.messages), checked.verified, checked.rejects) == (size, MERKLE, [])
        wrong = check_milestone(number, copies, ERAS)
        assert {each.reason.partition(":")[0] for each in wrong.rejects} == {"networkId"}


@needs_shared
def test_blocks_without_their_milestone_are_kept_and_not_proved() -> None:
    data = (SHARED / "iota" / "shimmer" / "blocks_ms_2418187.json").read_bytes()
    checked = check(data, number=2418187, known=eras_of("shimmer", STARDUST))
    assert [each.reason for each in checked.rejects] == [
        "milestone: the payload of milestone 2418187 expected, found none"
    ]
    assert (len(checked.messages), checked.verified) == (88, None)


def flip(line: Json) -> str:
    """Another nonce under the same id."""
    victim = next(each for each in of_state(line, "noTransaction") if each["block"]["payload"]["type"] == 5)
    victim["block"]["nonce"] = str(int(victim["block"]["nonce"]) ^ 1)
    del victim["bytes_hex"]
    return str(victim["id"][2:])


def alien(line: Json) -> str:
    """A block of the next milestone with adapted metadata: only the cone reveals it."""
    victim = of_state(line_of(NUMBER + 1), "noTransaction")[0]
    victim["metadata"]["referencedByMilestoneIndex"] = NUMBER
    line["blocks"].append(victim)
    return str(victim["id"][2:])


def alien_as_it_is(line: Json) -> str:
    """The same block unchanged."""
    victim = alien(line)
    line["blocks"][-1]["metadata"]["referencedByMilestoneIndex"] = NUMBER + 1
    return victim


def of_another_network(line: Json) -> str:
    """A transaction of another network with a correct id in place of one of this network."""
    victim = of_state(line, "included")[0]
    data = bytes.fromhex(victim["bytes_hex"])
    network_id = int(victim["block"]["payload"]["essence"]["networkId"]).to_bytes(8, "little")
    data = data.replace(network_id, bytes(8))
    victim["block"]["payload"]["essence"]["networkId"] = "0"
    victim["metadata"]["blockId"] = victim["id"] = f"0x{blake(data)}"
    victim["bytes_hex"] = data.hex()
    return blake(data)


def missing_key(line: Json) -> str:
    victim = of_state(line, "included")[0]
    del victim["block"]["nonce"]
    return str(victim["id"][2:])


NETWORK_ID = 3581412609671129387

REJECTED: dict[str, tuple[Callable[[Json], str], str]] = {
    "flipped": (flip, "message id: the bytes hash to "),
    "alien": (alien_as_it_is, f"referencedByMilestoneIndex: {NUMBER} expected, found {NUMBER + 1}"),
    "alien in disguise": (alien, f"parents: not in the cone of milestone {NUMBER}"),
    "network": (of_another_network, f"networkId: {NETWORK_ID} expected, found 0"),
    "missing key": (missing_key, "nonce: expected"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_one_stranger_is_rejected_by_name_and_the_rest_kept(name: str) -> None:
    change, reason = REJECTED[name]
    line = line_of(NUMBER)
    victim = change(line)
    checked = check(line)
    (reject,) = checked.rejects
    assert (reject.file, reject.line, reject.item) == ("a.jsonl", 3, victim)
    assert reject.reason.startswith(reason)
    replaced = [of_state(line_of(NUMBER), "included")[0]["id"][2:]] if name == "network" else []
    assert (checked.verified, set(ids(checked))) == (None, without(victim, *replaced))
    assert checked.milestone is not None


@pytest.mark.parametrize("name", REJECTED)
@pytest.mark.parametrize("good_first", [True, False])
def test_a_good_copy_heals_a_bad_one(name: str, good_first: bool) -> None:
    line = line_of(NUMBER)
    REJECTED[name][0](line)
    assert is_whole(check(*((line_of(NUMBER), line) if good_first else (line, line_of(NUMBER)))))


@pytest.mark.parametrize("name", REJECTED)
def test_what_the_lake_kept_of_a_bad_line_does_not_heal_it(name: str) -> None:
    line = line_of(NUMBER)
    victim = REJECTED[name][0](line)
    before = check(line)

    def read() -> Cone:
        return Cone(NUMBER, before.milestone, before.messages, codec=STARDUST)

    checked = check_milestone(NUMBER, [a_copy(line), Copy("lake", 0, read, partial=True)], ERAS)
    assert (checked.verified, [each.item for each in checked.rejects]) == (None, [victim])
    assert set(ids(checked)) == set(ids(before))


def test_two_bad_copies_heal_each_other() -> None:
    one, two = line_of(NUMBER), line_of(NUMBER)
    flip(one)
    missing_key(two)
    assert is_whole(check(one, two))


def test_copies_that_miss_different_blocks_are_complete_together() -> None:
    thirds = [line_of(NUMBER) for _ in range(3)]
    for left, line in enumerate(thirds):
        line["blocks"] = [block for place, block in enumerate(line["blocks"]) if place % 3 != left]
        assert check(line).verified is None
    assert is_whole(check(*thirds))
    flip(thirds[0])
    assert is_whole(check(*thirds))


def test_a_block_left_out_is_missed() -> None:
    """For any block: the root covers all of them."""
    reason = "inclusionMerkleRoot: not that of the blocks, so some are missing, too many or not the milestone's"
    for position in range(len(order_of(NUMBER))):
        line = line_of(NUMBER)
        del line["blocks"][position]
        checked = check(line)
        assert checked.verified is None
        assert {each.reason for each in checked.rejects} <= {
            reason,
            f"parents: not in the cone of milestone {NUMBER}",
        }
        assert checked.rejects


@pytest.mark.parametrize("key", ["inclusionMerkleRoot", "appliedMerkleRoot"])
def test_the_roots_are_those_of_the_payload(key: str) -> None:
    line = line_of(NUMBER)
    for stated in ("milestoneId", "blockId", "bytes_hex"):
        del line["milestone"][stated]
    line["milestone"]["payload"][key] = "0x" + "5d" * 32
    checked = check(line)
    assert checked.verified == (None if key == "inclusionMerkleRoot" else BELIEVED)
    (reject,) = checked.rejects
    assert reject.reason.startswith(key if key == "inclusionMerkleRoot" else "inclusion states: ")


def test_whole_copies_with_other_inclusion_states_give_way_to_a_proved_one() -> None:
    line = line_of(NUMBER)
    of_state(line, "included")[0]["metadata"]["ledgerInclusionState"] = "conflicting"
    assert check(line).rejects
    assert is_whole(check(line, line_of(NUMBER)))


def test_the_payload_of_another_milestone_is_rejected() -> None:
    line = line_of(NUMBER)
    line["milestone"] = line_of(NUMBER + 1)["milestone"] | {"index": NUMBER}
    checked = check(line)
    reason = f"milestone: the payload of milestone {NUMBER} expected, found that of {NUMBER + 1}"
    assert checked.rejects == [Reject("a.jsonl", 3, "", reason)]
    assert (checked.verified, checked.milestone, set(ids(checked))) == (None, None, without())


def test_a_milestone_may_reference_nothing() -> None:
    line = line_of(NUMBER) | {"blocks": []}
    for stated in ("milestoneId", "blockId", "bytes_hex"):
        del line["milestone"][stated]
    nothing = "0x" + blake(b"")
    line["milestone"]["payload"] |= {"inclusionMerkleRoot": nothing, "appliedMerkleRoot": nothing}
    checked = check(line)
    assert (checked.messages, checked.rejects, checked.verified) == ([], [], MERKLE)


def test_a_line_of_the_wrong_era_says_so() -> None:
    both = Eras(
        (Era(0, CHRYSALIS, network_name="permatest-1"), Era(NUMBER, STARDUST, network_name=NETWORK)),
    )
    assert is_whole(check(line_of(NUMBER), known=both))
    assert check(chrysalis_oracle()[NUMBER - 2], number=NUMBER - 1, known=both).verified == MERKLE
    for number, line, right, wrong in (
        (NUMBER - 1, line_of(NUMBER - 1), "Chrysalis", "Stardust"),
        (NUMBER, chrysalis_oracle()[NUMBER - 1], "Stardust", "Chrysalis"),
    ):
        checked = check(line, number=number, known=both)
        reason = f"protocol: milestone {number} is of {right}, found a line of {wrong}"
        assert (checked.rejects, checked.messages) == ([Reject("a.jsonl", 3, "", reason)], [])


def test_pending_blocks_are_checked_by_id_and_network() -> None:
    for each in pending():
        checked = check_pending(a_copy(each), ERAS)
        assert [(entry.message_id.hex(), entry.data.hex()) for entry in checked.messages] == [
            (each["id"][2:], each["bytes_hex"])
        ]
        (reject,) = check_pending(a_copy(each), eras_of(NETWORK)).rejects
        assert reject.reason == (
            "protocol: expected a Chrysalis message, found a Stardust block; set `stardust_from` if this network "
            "continues with Stardust"
        )
    (reject,) = check_pending(a_copy(chrysalis_pending()[0]), ERAS).rejects
    assert reject.reason == "protocol: expected a Stardust block, found a Chrysalis message"
    transaction = of_state(line_of(NUMBER), "included")[0] | {"metadata": None}
    assert check_pending(a_copy(transaction), ERAS).rejects == []
    (reject,) = check_pending(a_copy(transaction), eras_of("another", STARDUST)).rejects
    assert reject.reason.startswith("networkId: ")
    referenced = line_of(NUMBER)["blocks"][0]
    (reject,) = check_pending(a_copy(referenced), ERAS).rejects
    assert reject.reason == f"referencedByMilestoneIndex: None expected, found {NUMBER}"
