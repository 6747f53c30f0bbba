"""Inclusion states in sources are not believed: if they are missing or wrong, the tables are the same."""

import copy
import json
import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from etl import runs
from etl.engine.session import Session
from etl.verification.audit import Audit, Proved
from etl.verification.full_verification import NO_PARENT, find_strangers
from ledger.chrysalis.values import SignatureUnlock
from ledger.stardust.json_parse import parse_output_json
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE as FILES
from tests.etl.archives import Json, dump, leaf, of_state, oracle, sample, write
from tests.etl.conftest import Loading, Stores
from tests.etl.ledger_state import test_stardust_ledger as stardust
from tests.etl.ledger_state.test_ledger import reference, state
from tests.etl.test_oracle import check
from tests.etl.test_stardust_oracle import NETWORK as STARDUST
from tests.etl.test_stardust_oracle import oracle as blocks
from tests.etl.test_two_eras import KEYS
from tests.etl.two_eras import Coin, basic, line_behind, transaction, wallets
from tests.reference import STATES

pytestmark = pytest.mark.loads

GENESIS = SAMPLE / "genesis.json"
FAR, NEAR = 0, 10_000


def silent_archive(line: Json) -> Json:
    """A line of format A with nothing but the messages."""
    return {
        "milestone_index": line["milestone_index"],
        "milestone": None,
        "messages": {message_id: [message, {}] for message_id, (message, _) in sorted(line["messages"].items())},
    }


def silent_node(line: Json) -> Json:
    """A line of node JSON with nothing but the messages."""
    messages = [{"id": each["id"], "message": each["message"]} for each in line["messages"]]
    return {
        "milestone": {"index": line["milestone"]["index"]},
        "messages": sorted(messages, key=lambda each: each["id"]),
    }


def silent_blocks(line: Json) -> Json:
    """A line of Stardust's node JSON with nothing but the blocks; its milestone is data."""
    blocks = [
        {"id": each["id"], "block": each["block"]} for each in sorted(line["blocks"], key=lambda each: each["id"])
    ]
    milestone = {name: line["milestone"][name] for name in ("index", "payload", "blockId", "bytes_hex")}
    return {"milestone": milestone, "blocks": blocks}


ARCHIVE = [silent_archive(line) for line in sample()]
NODE = [silent_node(line) for line in oracle()]
BLOCKS = [silent_blocks(line) for line in blocks()]


def sync(loading: Loading) -> dict[int, str]:
    return {row["milestone_index"]: row["verified"] for row in loading.rows()["sync"]}


def load_silent(loading: Loading, folder: Path, lines: list[Json], genesis: Path) -> Loading:
    """Far: all at once; near: some after others, with the state of the store."""
    parts = [lines] if loading.settings.ledger_near == FAR else [lines[:20], lines[20:]]
    for number, part in enumerate(parts):
        given = {"genesis": genesis} if number == 0 else {}
        report = loading.load(write(folder / f"{number}.jsonl", map(dump, part)), **given)
        assert (report.exit_code, report.rejected, report.held) == (0, [], "")
    return loading


@pytest.mark.parametrize(
    ("lines", "ledger_near"),
    [pytest.param(ARCHIVE, FAR, marks=pytest.mark.slow), (NODE, NEAR)],
    ids=["archive", "node"],
)
def test_a_silent_source_gives_the_same_tables(
    stores: Stores, tmp_path: Path, lines: list[Json], ledger_near: int
) -> None:
    loading = load_silent(stores((7, 3), ledger_near=ledger_near), tmp_path, lines, GENESIS)
    if ledger_near == FAR:
        check(loading.rows(), reference((7, 3)))
    assert state(loading.rows()) == state(reference((7, 3)))


@pytest.mark.parametrize("ledger_near", [FAR, pytest.param(NEAR, marks=pytest.mark.slow)])
def test_a_silent_source_of_stardust_gives_the_same_tables(stores: Stores, tmp_path: Path, ledger_near: int) -> None:
    loading = stores((7, 3), STARDUST, ledger_near=ledger_near)
    load_silent(loading, tmp_path, BLOCKS, stardust.GENESIS)
    rows, expected = loading.rows(), stardust.reference((7, 3))
    if ledger_near == FAR:
        check(rows, expected)
    assert state(rows) == state(expected)


def test_states_that_are_wrong_give_the_same_tables_and_are_named(stores: Stores, tmp_path: Path) -> None:
    """In every milestone, the state of the first transaction is inverted."""
    lines, wrong = sample(), {}
    for line in lines:
        for message_id in [*of_state(line, "conflicting"), *of_state(line, "included")][:1]:
            metadata = line["messages"][message_id][1]
            printed = {"included": "conflicting", "conflicting": "included"}[metadata["ledgerInclusionState"]]
            wrong[message_id] = (line["milestone_index"], metadata["ledgerInclusionState"], printed)
            metadata["ledgerInclusionState"] = printed
    loading = stores((7, 3), ledger_near=FAR)
    report = loading.load(write(tmp_path / "wrong.log", map(dump, lines)), genesis=GENESIS)
    assert (report.exit_code, report.complete, report.ledger_index) == (3, 50, 50)
    rows = loading.rows()
    assert {row["item"]: (row["milestone_index"], row["line"], row["reason"]) for row in rows.pop("rejects")} == {
        message_id: (number, number, f"inclusion state: {is_state} expected, as is proved, found {printed}")
        for message_id, (number, is_state, printed) in wrong.items()
    }
    assert len(wrong) > 20
    expected = reference((7, 3))
    expected.pop("rejects")
    check(rows, expected)


def test_without_genesis_what_only_the_source_says_is_believed(stores: Stores, tmp_path: Path) -> None:
    """Conflicts that the cone does not explain, and no states in the source: no guess gives the root."""
    loading = stores()
    report = loading.load(write(tmp_path / "silent.log", map(dump, ARCHIVE)))
    assert (report.exit_code, report.complete) == (0, 50)
    levels = sync(loading)
    assert set(levels.values()) == {"believed", "merkle"}
    conflicting = {line["milestone"]["index"] for line in oracle() if counts(line)["conflicting"]}
    assert {index for index, level in levels.items() if level == "believed"} < conflicting
    open_states = {row["milestone_index"] for row in loading.rows()["messages"] if row["inclusion_state"] is None}
    assert open_states == {index for index, level in levels.items() if level == "believed"}


def counts(line: Json) -> dict[str, int]:
    states = [each["metadata"]["ledgerInclusionState"] for each in line["messages"]]
    return {state: states.count(state) for state in STATES}


def test_full_is_proved_to_the_top_and_once_more_from_the_lake(stores: Stores) -> None:
    loading = stores((7, 3), level="full")
    report = loading.load(*(SAMPLE / name for name in FILES), genesis=GENESIS)
    assert (report.exit_code, report.faults) == (0, [])
    assert sync(loading) == dict.fromkeys(range(1, 51), "full")
    verify, held = partial(runs.verify, loading.store, loading.settings), [(1, 50)]
    assert verify(level="full") == Audit("full", [Proved(1, 50, "full", "")], held, below=0)
    assert verify(first=3, last=9) == Audit("signed", [Proved(3, 8, "signed", "")], held, below=0)
    proved = [Proved(41, 50, "full", ""), Proved(51, 59, "missing", "the lake does not have them")]
    assert verify(first=41, last=60, level="full") == Audit("full", proved, held, below=9)
    assert verify(first=51, last=99) == Audit("signed", [], held, below=48)


def coins() -> list[Coin]:
    """The plain outputs of one wallet that the Stardust oracle ledger left unspent."""
    key, wallet = next(iter(wallets().items()))
    owned = [{"type": 0, "address": {"type": 0, "pubKeyHash": f"0x{key}"}}]
    left = {
        output_id: each["output"]
        for output_id, each in stardust.expected()["outputs"].items()
        if not each["metadata"]["isSpent"]
    }
    return [
        Coin(bytes.fromhex(output_id[2:]), parse_output_json(output), wallet)
        for output_id, output in left.items()
        if output == {"type": 3, "amount": output["amount"], "unlockConditions": owned}
    ]


@cache
def misjudged() -> tuple[Json, dict[str, str]]:
    """Milestone 51, signed by its coordinator, and by block id what is wrong with its three transactions: one that
    nobody signed and one with unequal sums are included, a valid one conflicts.
    """
    first, second, third, *_ = coins()
    unsigned = transaction([first], [first.output], STARDUST)
    unsigned = replace(unsigned, unlocks=(SignatureUnlock(first.wallet.public_key, bytes(64)),))
    less = transaction([second], [basic(second.wallet, second.output.amount - 1)], STARDUST)
    good = transaction([third], [third.output], STARDUST)
    line = line_behind(blocks()[-1], [(unsigned, None), (less, None), (good, 1)])
    reasons = (
        "included, and by the ledger it conflicts: 5",
        "included, and by the ledger it conflicts: 4",
        "conflicting, and by the ledger nothing is wrong with it",
    )
    identities = [each["id"][2:] for each in line["blocks"] if "transactionId" in each]
    return line, dict(zip(identities, reasons, strict=True))


def test_full_of_stardust_is_proved_to_the_top_and_what_a_coordinator_misjudged_is_named(
    stores: Stores, tmp_path: Path
) -> None:
    """Every Merkle root and signature of milestone 51 is valid: only the ledger state reveals the errors."""
    line, wrong = misjudged()
    loading = stores((7, 3), STARDUST, level="full", eras={"coordinator_keys": KEYS})
    file = write(tmp_path / "blocks.jsonl", map(dump, [*blocks(), line]))
    report = loading.load(file, genesis=stardust.GENESIS)
    assert (report.exit_code, report.rejects, report.ledger_index, report.faulty) == (3, 0, 51, 3)
    assert report.faults == [f"milestone 51: {each}: {wrong[each]}" for each in sorted(wrong)]
    assert sync(loading) == dict.fromkeys(range(1, 51), "full") | {51: "signed"}
    first = min(wrong)
    proved = [Proved(1, 50, "full", ""), Proved(51, 51, "signed", f"{first}: {wrong[first]}")]
    assert runs.verify(loading.store, loading.settings, level="full") == Audit("full", proved, [(1, 51)], below=1)
    # With the network's own parameters nothing is below the storage deposit. With a higher rent much is, up to
    # milestone 40, from which the parameters announced at 30 apply.
    protocol = json.loads((SAMPLE.parent / "stardust" / "info.json").read_text())["protocol"]
    assert verified_by(protocol, loading, tmp_path) == proved
    protocol["rentStructure"]["vByteCost"] *= 1_000_000
    signed = [each for each in verified_by(protocol, loading, tmp_path) if each.level == "signed" and each.first < 51]
    assert signed
    assert max(each.last for each in signed) < 40
    too_little = r"[0-9a-f]{64}: outputs\[\d+\]\.amount: expected at least the storage deposit of \d{10,}, found \d+"
    assert all(re.fullmatch(too_little, each.reason) for each in signed)


def verified_by(protocol: Json, loading: Loading, folder: Path) -> list[Proved]:
    """The errors that `permanode verify` finds with those initial protocol parameters."""
    reported = replace(loading.store, protocol_parameters=str(write(folder / "protocol.json", [dump(protocol)])))
    return runs.verify(reported, loading.settings, level="full").proved


def test_a_data_message_left_out_and_a_reason_that_is_wrong_are_named(stores: Stores, tmp_path: Path) -> None:
    """No Merkle root of Chrysalis reveals it either."""
    lines = copy.deepcopy(oracle())
    left_out = leaf(sample()[6])
    lines[6]["messages"] = [each for each in lines[6]["messages"] if each["id"] != left_out]
    conflict = next(each for line in lines for each in line["messages"] if each["metadata"].get("conflictReason"))
    number, right = conflict["metadata"]["referencedByMilestoneIndex"], conflict["metadata"]["conflictReason"]
    conflict["metadata"]["conflictReason"] = 255
    loading = stores(level="full")
    report = loading.load(write(tmp_path / "lines.jsonl", map(dump, lines)), genesis=GENESIS)
    assert (report.exit_code, report.complete) == (3, 50)
    assert f"milestone {number}: {conflict['id']}: conflict reason: {right} expected, found 255" in report.faults
    assert f"parents: {left_out} is in no milestone up to this one" in " ".join(report.faults)
    assert {index for index, level in sync(loading).items() if level != "full"} >= {7, number}
    assert sync(loading)[7] == "signed"
    proved = runs.verify(loading.store, loading.settings, level="full").proved
    assert any(each.first == 7 == each.last and "is in no milestone" in each.reason for each in proved)


def test_a_message_of_two_cones_and_parents_of_none_are_faults(session: Session) -> None:
    one, two, three, none = (bytes([each]) * 32 for each in (1, 2, 3, 255))
    rows = [
        (1, one, [NO_PARENT]),
        (2, two, [one, three]),
        (3, three, [two]),
        (4, one, [three]),
        (5, None, None),
        (6, none, [two, none]),
    ]
    messages = session.createDataFrame(rows, "milestone_index INT, message_id BINARY, parents ARRAY<BINARY>")
    again, early = "in the cone of milestone 1 already", f"parents: {three.hex()} is in no milestone up to this one"
    for first, expected in ((1, {(2, two, early), (4, one, again)}), (3, {(4, one, again)}), (5, set())):
        found = find_strangers(messages, 0, first).collect()
        assert {(row["milestone_index"], bytes(row["message_id"]), row["reason"]) for row in found} == expected
