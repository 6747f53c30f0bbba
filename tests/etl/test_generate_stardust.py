"""Generated Stardust ledgers are valid by protocol.

Ids, orders and roots come from hashlib and recursion; cryptography checks signatures; shapes come from the oracle
ledger. Chains and conditions (TIP-18) are checked with ledger/, which has its own tests against other implementations;
tests/clients/test_iota_sdk_utils.py checks them with iota-sdk.
"""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from bench.generate import write_archive
from bench.stardust_tangle import StardustTangle
from bench.stardust_traffic import StardustSettings
from ledger.inputs import InputConflict
from ledger.stardust.codec import KINDS, decode_block, decode_output, encode_block, payload_bytes
from ledger.stardust.conflicts import Conflict, find_conflict
from ledger.stardust.json_parse import pack_block_json
from ledger.stardust.protocol_parameters import find_violation, parse_parameters_json
from ledger.stardust.values import Milestone, Transaction
from tests.etl.test_generate import blake, merkle
from tests.generated_stardust import SETTINGS, Json, made_genesis, made_lines, replayed
from tests.reference import read_lines
from tests.reference_stardust import ORACLE, output_bytes, raw

COUNT = 70


@pytest.fixture(scope="module")
def lines() -> list[Json]:
    return made_lines(COUNT)


@pytest.fixture(scope="module")
def genesis() -> Json:
    return made_genesis()


def entries(lines: list[Json]) -> list[Json]:
    return [entry for line in lines for entry in line["blocks"]]


def test_bytes_ids_and_json_of_a_block_are_one(lines: list[Json]) -> None:
    for entry in entries(lines):
        data = bytes.fromhex(entry["bytes_hex"])
        assert f"0x{blake(data).hex()}" == entry["id"] == entry["metadata"]["blockId"]
        assert encode_block(decode_block(data)) == data
        assert pack_block_json(entry["block"]) == data
        if "transactionId" in entry:
            assert f"0x{blake(payload_bytes(data)).hex()}" == entry["transactionId"]


def test_lines_have_the_shape_of_the_oracle_ledger(lines: list[Json]) -> None:
    def shapes(of: list[Json]) -> set[Any]:
        return {(frozenset(entry) - {"note"}, frozenset(entry["metadata"])) for entry in entries(of)}

    oracle = read_lines(ORACLE / "milestones.jsonl")
    assert shapes(lines) == shapes(oracle)
    for line in lines:
        assert set(line) == set(oracle[0])
        assert set(line["milestone"]) <= set(oracle[0]["milestone"])


def white_flag(line: Json) -> list[str]:
    """Post-order over the parents, recursively."""
    parents = {entry["id"]: entry["block"]["parents"] for entry in line["blocks"]}
    order: list[str] = []

    def visit(block_id: str) -> None:
        if block_id in parents and block_id not in order:
            for parent in parents[block_id]:
                visit(parent)
            order.append(block_id)

    for parent in line["milestone"]["payload"]["parents"]:
        visit(parent)
    return order


def test_a_milestone_commits_to_its_cone_in_white_flag_order(lines: list[Json]) -> None:
    for line in lines:
        payload, cone = line["milestone"]["payload"], line["blocks"]
        ids = [entry["id"] for entry in cone]
        assert white_flag(line) == ids
        assert [entry["metadata"]["whiteFlagIndex"] for entry in cone] == list(range(len(cone)))
        included = [entry["id"] for entry in cone if entry["metadata"]["ledgerInclusionState"] == "included"]
        assert payload["inclusionMerkleRoot"] == f"0x{merkle([raw(each) for each in ids]).hex()}"
        assert payload["appliedMerkleRoot"] == f"0x{merkle([raw(each) for each in included]).hex()}"


def test_parents_ascend_and_belong_to_this_milestone_or_the_one_before(lines: list[Json]) -> None:
    genesis_line: Json = {"blocks": [{"id": f"0x{'00' * 32}"}]}
    for before, line in pairwise([genesis_line, *lines]):
        known = {entry["id"] for entry in before["blocks"] + line["blocks"]}
        for entry in line["blocks"]:
            parents = entry["block"]["parents"]
            assert parents == sorted(set(parents)) == entry["metadata"]["parents"]
            assert 1 <= len(parents) <= 8
            assert known.issuperset(parents)


def test_milestones_are_signed_and_chained_and_their_blocks_lie_in_the_next_cone(
    lines: list[Json], genesis: Json
) -> None:
    previous = f"0x{'00' * 32}"
    for line, following in pairwise(lines):
        milestone = line["milestone"]
        payload = milestone["payload"]
        assert payload["previousMilestoneId"] == previous
        assert payload["index"] == milestone["index"]
        (own,) = [entry for entry in following["blocks"] if entry["id"] == milestone["blockId"]]
        assert (own["block"]["payload"], own["bytes_hex"]) == (payload, milestone["bytes_hex"])
        assert own["metadata"]["milestoneIndex"] == milestone["index"]
        signed = payload_bytes(bytes.fromhex(milestone["bytes_hex"]))
        signatures = payload["signatures"]
        essence = signed[4 : len(signed) - 1 - len(signatures) * (1 + 32 + 64)]
        previous = f"0x{blake(essence).hex()}"
        assert previous == milestone["milestoneId"]
        assert [each["publicKey"] for each in signatures] == genesis["coordinatorPublicKeys"]
        for each in signatures:
            Ed25519PublicKey.from_public_bytes(raw(each["publicKey"])).verify(raw(each["signature"]), blake(essence))


def test_time_stops_and_never_falls(lines: list[Json]) -> None:
    times = [line["milestone"]["timestamp"] for line in lines]
    steps = Counter(later - earlier for earlier, later in pairwise(times))
    assert steps[0] > 0
    assert min(steps) == 0


def test_whether_a_transaction_took_effect_is_what_the_ledger_says_of_it(lines: list[Json], genesis: Json) -> None:
    parameters = parse_parameters_json(genesis["protocol"])
    found: Counter[int] = Counter()
    for seen in replayed(lines, genesis):
        transaction = decode_block(bytes.fromhex(seen.entry["bytes_hex"])).payload
        assert isinstance(transaction, Transaction)
        assert find_violation(transaction.essence, parameters) is None
        inputs = [
            InputConflict(each) if isinstance(each, int) else decode_output(output_bytes(each[1]))
            for each in seen.inputs
        ]
        reason = find_conflict(transaction, inputs, seen.unix_time)
        assert seen.entry["metadata"].get("conflictReason", 0) == reason, seen.entry["id"]
        found[reason] += 1
    assert set(found) == set(Conflict) - {Conflict.SEMANTIC}, "every reason that there is"


def test_nothing_is_lost(lines: list[Json], genesis: Json) -> None:
    """In every included transaction inputs and outputs have equal sums, and genesis has the token supply."""
    everything = sum(int(each["output"]["amount"]) for each in genesis["outputs"]) + int(genesis["treasury"]["amount"])
    assert everything == int(genesis["protocol"]["tokenSupply"])
    for seen in replayed(lines, genesis):
        if seen.entry["metadata"]["ledgerInclusionState"] == "included":
            spent = sum(int(each[1]["amount"]) for each in seen.inputs if not isinstance(each, int))
            created = sum(int(each["amount"]) for each in seen.entry["block"]["payload"]["essence"]["outputs"])
            assert spent == created


def test_every_kind_of_thing_comes_up(lines: list[Json]) -> None:
    found: dict[str, set[int]] = {name: set() for name in KINDS}
    chained: Counter[str] = Counter()
    for entry in entries(lines):
        payload = entry["block"].get("payload")
        if payload is None:
            chained["no payload"] += 1
            continue
        found["payload"].add(payload["type"])
        if payload["type"] != Transaction.KIND:
            continue
        essence = payload["essence"]
        chained["tagged"] += "payload" in essence
        found["input"] |= {each["type"] for each in essence["inputs"]}
        found["unlock"] |= {each["type"] for each in payload["unlocks"]}
        for output in essence["outputs"]:
            found["output"].add(output["type"])
            found["unlock condition"] |= {each["type"] for each in output["unlockConditions"]}
            found["feature"] |= {
                each["type"] for each in output.get("features", []) + output.get("immutableFeatures", [])
            }
            if "tokenScheme" in output:
                found["token scheme"].add(output["tokenScheme"]["type"])
            chained["tokens"] += "nativeTokens" in output
            chained["alias state"] += output.get("stateIndex", 0) > 0
    of_receipts = {"payload": {4}, "input": {1}, "output": {2}, "milestone option": {0, 1}}
    for name, kinds in KINDS.items():
        assert found[name] == set(kinds) - of_receipts.get(name, set()), name
    assert all(chained[name] > 3 for name in ("no payload", "tagged", "tokens", "alias state"))


def test_the_same_seed_gives_the_same_files_and_a_longer_ledger_begins_with_the_shorter(tmp_path: Path) -> None:
    def archive(name: str, seed: str, messages: int) -> tuple[Json, bytes, bytes]:
        settings = StardustSettings(seed=seed, milestone_size=20)
        expected = write_archive(StardustTangle(settings), tmp_path / name, messages, files=3)
        text = b"".join((tmp_path / name / file).read_bytes() for file in expected["files"])
        return expected, text, (tmp_path / name / "genesis.json").read_bytes()

    first = archive("first", "a", 200)
    assert archive("again", "a", 200) == first
    assert archive("other", "b", 200)[2] != first[2]
    longer = archive("longer", "a", 400)
    assert longer[1].startswith(first[1])
    assert all(file.endswith(".jsonl") for file in first[0]["files"])


def test_counts_are_those_of_the_lines(tmp_path: Path) -> None:
    expected = write_archive(StardustTangle(SETTINGS), tmp_path, 600, files=2)
    lines = [line for name in expected["files"] for line in read_lines(tmp_path / name)]
    names = {None: "no payload", 5: "indexation", 6: "transaction", Milestone.KIND: "milestone"}
    kinds = Counter(names[entry["block"].get("payload", {}).get("type")] for entry in entries(lines))
    states = Counter(entry["metadata"]["ledgerInclusionState"] for entry in entries(lines))
    assert expected["messages"] == len(entries(lines)) >= 600
    assert expected["messagesByKind"] == kinds
    assert expected["messagesByState"] == states
    assert expected["milestones"] == len(lines)
