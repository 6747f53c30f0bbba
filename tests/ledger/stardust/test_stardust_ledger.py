"""Whole Stardust ledgers: the oracle ledger and real Shimmer milestones, made by other implementations."""

import json
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ledger import ids
from ledger.crypto.merkle import merkle_root
from ledger.eras import STARDUST, Era, Eras
from ledger.inputs import OutputFacts
from ledger.stardust import codec as stardust
from ledger.stardust.conflicts import apply
from ledger.stardust.json import block_json, milestone_json, output_json
from ledger.stardust.json_parse import pack_block_json, parse_block_json, parse_milestone_json, parse_output_json
from ledger.stardust.protocol_parameters import find_violation, parse_parameters_json, storage_deposit
from ledger.stardust.values import AddressCondition, BasicOutput, Milestone, ReceiptOption, Transaction
from ledger.white_flag import white_flag_order
from tests.conftest import needs_shared
from tests.ledger.cases import IOTA, lines, load

LEDGER = IOTA / "ledger" / "stardust"
SHIMMER = IOTA / "shimmer"


def raw(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


@pytest.fixture(scope="module")
def milestones() -> list[dict[str, Any]]:
    return lines(LEDGER / "milestones.jsonl")


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((LEDGER / "expected.json").read_text())
    return answer


@needs_shared
def test_blocks_agree_in_bytes_id_and_json(milestones: list[dict[str, Any]]) -> None:
    blocks = [each for milestone in milestones for each in milestone["blocks"]] + lines(LEDGER / "pending.jsonl")
    assert len(blocks) > 800
    for stated in blocks:
        data = raw(stated["bytes_hex"])
        block = stardust.decode_block(data)
        assert stardust.encode_block(block) == data
        assert ids.message_id(data) == raw(stated["id"])
        assert pack_block_json(stated["block"]) == data
        assert parse_block_json(stated["block"]) == block
        assert block_json(block) == stated["block"]


@needs_shared
def test_transaction_ids_lead_to_the_blocks_stated(milestones: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    found = {}
    for line in milestones:
        for stated in line["blocks"]:
            payload = stardust.payload_bytes(raw(stated["bytes_hex"]))
            if stated["metadata"]["ledgerInclusionState"] == "included":
                found["0x" + ids.transaction_id(payload).hex()] = stated["id"]
    assert found == expected["transactions"]


@needs_shared
def test_milestone_ids_are_chained_and_those_stated(milestones: list[dict[str, Any]]) -> None:
    assert len(milestones) == 50
    previous = bytes(32)
    for line in milestones:
        milestone = parse_milestone_json(line["milestone"]["payload"])
        assert milestone_json(milestone) == line["milestone"]["payload"]
        assert milestone.previous_milestone_id == previous
        previous = stardust.milestone_id(milestone)
        assert previous == raw(line["milestone"]["milestoneId"])


def assert_roots(milestone: Milestone, order: Sequence[bytes], included: Sequence[bytes]) -> None:
    assert merkle_root(order) == milestone.inclusion_merkle_root
    assert merkle_root(included) == milestone.applied_merkle_root


@needs_shared
def test_order_and_both_roots_follow_from_the_parents(milestones: list[dict[str, Any]]) -> None:
    for line in milestones:
        milestone = parse_milestone_json(line["milestone"]["payload"])
        # Sorted by id, so the order of the lines does not help. The milestone's own block is in the next cone.
        cone = dict(sorted((raw(each["id"]), [raw(p) for p in each["block"]["parents"]]) for each in line["blocks"]))
        cone[b"own"] = list(milestone.parents)
        order = white_flag_order(b"own", cone)[:-1]
        stated = {each["metadata"]["whiteFlagIndex"]: each for each in line["blocks"]}
        assert [each.hex() for each in order] == [stated[i]["id"].removeprefix("0x") for i in range(len(order))]
        assert len(order) == len(line["blocks"])
        states = {raw(each["id"]): each["metadata"]["ledgerInclusionState"] for each in line["blocks"]}
        assert_roots(milestone, order, [each for each in order if states[each] == "included"])


@pytest.mark.parametrize("cone", load("cones", "stardust"), ids=lambda cone: cone["source"])
def test_shipped_cones_have_their_roots_and_ids(cone: dict[str, Any]) -> None:
    milestone = parse_milestone_json(cone["payload"])
    assert stardust.milestone_id(milestone) == raw(cone["milestone_id"])
    included = [raw(each["id"]) for each in cone["blocks"] if each["included"]]
    assert_roots(milestone, [raw(each["id"]) for each in cone["blocks"]], included)


@needs_shared
def test_outputs_have_the_storage_deposits_and_chains_stated(expected: dict[str, Any]) -> None:
    parameters = parse_parameters_json(expected["info"]["protocol"])
    chains = set()
    for output_id, answer in expected["outputs"].items():
        output = parse_output_json(answer["output"])
        assert output_json(output) == answer["output"]
        stated = expected["storageDeposits"].get(output_id)
        if stated is not None:
            assert storage_deposit(stardust.encode_output(output), parameters) == stated
        chain = stardust.chain_id(output, raw(output_id))
        if chain is not None:
            chains.add("0x" + chain.hex())
    assert 100 < len(expected["storageDeposits"]) <= len(expected["outputs"])
    ids_of_chains = {each for each in expected["chains"].values() if len(each) != 70}  # 70: an output's, of no chain
    assert ids_of_chains
    assert ids_of_chains <= chains


@needs_shared
def test_inputs_commitments_are_those_of_the_outputs_spent(expected: dict[str, Any]) -> None:
    seen = 0
    for each in lines(LEDGER / "semantic.jsonl"):
        spent = [stardust.encode_output(parse_output_json(one["output"])) for one in each["inputs"]]
        stated = raw(each["payload"]["essence"]["inputsCommitment"])
        assert (ids.inputs_commitment(spent) == stated) == (each["expectedConflict"] != 10)
        seen += 1
    assert seen > 300


@needs_shared
def test_no_transaction_of_the_ledger_violates_the_parameters(
    milestones: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    first = parse_parameters_json(expected["info"]["protocol"])
    eras = Eras((Era(1, STARDUST, parameters=((1, first),)),))
    checked = 0
    for line in milestones:
        parameters = eras.at(line["milestone"]["index"]).parameters_at(line["milestone"]["index"])
        assert parameters is not None
        for stated in line["blocks"]:
            payload = stardust.decode_block(raw(stated["bytes_hex"])).payload
            if isinstance(payload, Transaction):
                assert find_violation(payload.essence, parameters) is None
                checked += 1
        eras = eras.learn(parse_milestone_json(line["milestone"]["payload"]))
    assert checked > 300


def owners(answer: dict[str, Any]) -> dict[str, str]:
    """The addresses that unlock an output according to its JSON: before its expiration, and after."""
    keys = {each["type"]: each for each in answer["unlockConditions"]}
    first = next(keys[tag]["address"] for tag in (0, 4, 6) if tag in keys)
    return {"before": first, "after": keys[3]["returnAddress"] if 3 in keys else first}


@needs_shared
def test_owners_change_when_outputs_expire(expected: dict[str, Any]) -> None:
    expiring = 0
    for answer in expected["outputs"].values():
        if answer["output"]["type"] == 2:
            continue
        output: Any = parse_output_json(answer["output"])
        times = [each["unixTime"] for each in answer["output"]["unlockConditions"] if each["type"] == 3]
        expiring += len(times)
        moment = times[0] if times else 1_664_553_600
        for when, time in (("before", moment - 1), ("after", moment)):
            owner = stardust.owner_at(output, time)
            assert owner is not None
            (hash_or_id,) = [text for key, text in owners(answer["output"])[when].items() if key != "type"]
            assert owner[1:] == raw(hash_or_id)
            assert owner[0] == owners(answer["output"])[when]["type"]
    assert expiring > 2


def binary(value: dict[str, Any]) -> bytes:
    return b64decode(value["$binary"]["base64"])


@pytest.fixture(scope="module")
def shimmer() -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((SHIMMER / "in_memory_data.json").read_text())
    return answer


@needs_shared
def test_real_milestones_reproduce_their_roots(shimmer: dict[str, Any]) -> None:
    payloads = {
        entry["json"]["index"]: entry
        for entry in lines(IOTA / "stardust" / "1_real.jsonl")
        if entry["kind"] == "milestone"
    }
    assert set(payloads) == {17339, 17340, 17341}
    for index, stored in shimmer.items():
        milestone = parse_milestone_json(payloads[int(index)]["json"])
        assert stardust.milestone_id(milestone) == binary(stored["milestone_data"]["milestone_id"])
        cone = [stored["cone"][key] for key in sorted(stored["cone"], key=int)]
        order, included, created = [], [], []
        for each in cone:
            data = binary(each["raw"])
            block = stardust.decode_block(data)
            assert stardust.encode_block(block) == data
            assert pack_block_json(block_json(block)) == data
            order.append(ids.message_id(data))
            if each["metadata"]["inclusion_state"] == "included":
                included.append(order[-1])
                assert isinstance(block.payload, Transaction)
                source = ids.transaction_id(stardust.payload_bytes(data))
                created += [ids.output_id(source, position) for position in range(len(block.payload.essence.outputs))]
        assert_roots(milestone, order, included)
        stated = {
            ids.output_id(binary(each["output_id"]["transaction_id"]), each["output_id"]["index"])
            for each in stored["created"]
        }
        assert set(created) == stated


@needs_shared
def test_the_shipped_blocks_of_shimmer_are_those_of_the_data_set() -> None:
    blocks = json.loads((SHIMMER / "blocks_ms_2418187.json").read_text())
    shipped = load("shimmer", "stardust")["blocks"]
    assert [(binary(each["_id"]).hex(), binary(each["raw"]).hex()) for each in blocks] == [
        (each["id"], each["bytes_hex"]) for each in shipped
    ]
    assert len(blocks) == 88


def transactions(line: dict[str, Any]) -> list[tuple[bytes, Transaction]]:
    """(block id, payload) of a milestone's transactions, in white-flag order."""
    blocks = sorted(line["blocks"], key=lambda each: each["metadata"]["whiteFlagIndex"])
    decoded = [(raw(each["id"]), stardust.decode_block(raw(each["bytes_hex"])).payload) for each in blocks]
    return [(block_id, payload) for block_id, payload in decoded if isinstance(payload, Transaction)]


def migrated(line: dict[str, Any]) -> list[tuple[bytes, BasicOutput]]:
    """The outputs of a milestone's receipt."""
    milestone = parse_milestone_json(line["milestone"]["payload"])
    receipts = [each for each in milestone.options if isinstance(each, ReceiptOption)]
    funds = [fund for each in receipts for fund in each.funds]
    milestone_id = stardust.milestone_id(milestone)
    outputs = [BasicOutput(each.deposit, (), (AddressCondition(each.address),), ()) for each in funds]
    return [(ids.output_id(milestone_id, index), each) for index, each in enumerate(outputs)]


@needs_shared
def test_every_verdict_and_change_is_the_oracles(milestones: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    facts: dict[bytes, OutputFacts[Any]] = {
        raw(each["outputId"]): OutputFacts(parse_output_json(each["output"]), (0, 0))
        for each in json.loads((LEDGER / "genesis.json").read_text())["outputs"]
    }
    reasons = {raw(each["id"]): each["conflictReason"] for each in expected["conflicts"]}
    judged = 0
    for line in milestones:
        index, time = line["milestone"]["index"], line["milestone"]["timestamp"]
        known = dict(facts)
        verdicts = list(apply(index, time, transactions(line), known.get))
        assert {each.message_id: each.conflict for each in verdicts if each.conflict} == {
            raw(each["id"]): reasons.pop(raw(each["id"])) for each in line["blocks"] if raw(each["id"]) in reasons
        }
        created = [pair for each in verdicts for pair in each.created] + migrated(line)
        consumed = [output_id for each in verdicts for output_id, _ in each.spent]
        assert ["0x" + each.hex() for each, _ in created] == line["milestone"]["utxoChanges"]["createdOutputs"]
        assert ["0x" + each.hex() for each in consumed] == line["milestone"]["utxoChanges"]["consumedOutputs"]
        facts |= {output_id: OutputFacts(output, (index, 0)) for output_id, output in created}
        for output_id in consumed:
            facts[output_id] = replace(facts[output_id], spent=(index, 0))
        # Facts about this milestone from a store that is ahead change nothing.
        assert list(apply(index, time, transactions(line), facts.get)) == verdicts
        judged += len(verdicts)
    assert not reasons
    assert judged == expected["counts"]["included"] + expected["counts"]["conflicting"]
    left = {"0x" + key.hex(): output_json(each.output) for key, each in facts.items() if each.spent is None}
    assert left == {key: each["output"] for key, each in expected["outputs"].items() if not each["metadata"]["isSpent"]}
