"""Inclusion states resolved in order, with any milestones already settled: the oracle's states, or none where the root
differs.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl.ledger_state.conflict_reasons import FACTS
from etl.sources import read_cone
from etl.verification.inclusion_worker import decide
from ledger.chrysalis import codec as chrysalis
from ledger.ids import milestone_id, output_id, transaction_id
from tests.etl.archives import Json, dump, oracle
from tests.reference import ORACLE, STATES, read_json

INCLUDED = STATES["included"]
UNKNOWN = dict.fromkeys(name for name in FACTS.names if name != "output_id")


@dataclass
class Milestone:
    """One milestone of the oracle's: its transactions in order, their states, and the outputs of its receipt."""

    index: int
    payload: bytes
    transactions: list[tuple[int, bytes, bytes, chrysalis.Transaction, int]] = field(default_factory=list)
    migrated: list[tuple[bytes, Any]] = field(default_factory=list)
    size: int = 0


@cache
def milestones() -> list[Milestone]:
    found = []
    for index, line in enumerate(oracle(), 1):
        entries = {entry.message_id.hex(): entry.message for entry in read_cone(dump(line)).entries}
        own = entries[line["milestone"]["messageId"]].payload
        assert isinstance(own, chrysalis.Milestone)
        one = Milestone(index, chrysalis.encode_payload(own), size=len(entries))
        for place, each in enumerate(line["messages"]):
            payload = entries[each["id"]].payload
            if isinstance(payload, chrysalis.Transaction):
                state = STATES[each["metadata"]["ledgerInclusionState"]]
                data = bytes.fromhex(each["bytes_hex"])
                one.transactions.append((place, bytes.fromhex(each["id"]), data, payload, state))
        if own.receipt is not None:
            outputs = [chrysalis.SigLockedSingle(fund.address, fund.deposit) for fund in own.receipt.funds]
            one.migrated = [(output_id(milestone_id(one.payload), at), each) for at, each in enumerate(outputs)]
        found.append(one)
    return found


def consumed(transaction: chrysalis.Transaction) -> list[bytes]:
    return [output_id(each.transaction_id, each.index) for each in transaction.essence.inputs]


def created(transaction: chrysalis.Transaction) -> list[tuple[bytes, Any]]:
    own = transaction_id(chrysalis.encode_payload(transaction))
    return [(output_id(own, at), output) for at, output in enumerate(transaction.essence.outputs)]


def genesis() -> list[tuple[bytes, Any]]:
    def output(value: Json) -> Any:
        kind = chrysalis.SigLockedDustAllowance if value["type"] else chrysalis.SigLockedSingle
        return kind(bytes([value["address"]["type"]]) + bytes.fromhex(value["address"]["address"]), value["amount"])

    outputs = read_json(ORACLE / "genesis.json")["outputs"]
    return [(bytes.fromhex(each["outputId"]), output(each["output"])) for each in outputs]


def rows(settled: set[int], states: set[int]) -> list[Json]:
    """The input of the pass for the milestones in `states`, when all of `settled` is known."""
    outputs: dict[bytes, Any] = {}
    facts: dict[bytes, Json] = defaultdict(lambda: dict(UNKNOWN))

    def create(output: tuple[bytes, Any], index: int, place: int | None) -> None:
        outputs[output[0]] = output[1]
        made = {"output_type": output[1].KIND, "address": output[1].address, "amount": output[1].amount}
        facts[output[0]] |= made | {"created_milestone_index": index, "created_white_flag_index": place}

    for each in genesis():
        create(each, 0, None)
    for one in milestones():
        for place, _, _, transaction, state in one.transactions:
            if one.index in settled and state == INCLUDED:
                for output in created(transaction):
                    create(output, one.index, place)
                for spent in consumed(transaction):
                    facts[spent] |= {"spent_milestone_index": one.index, "spent_white_flag_index": place}
        for output in one.migrated:
            create(output, one.index, one.size - 1)
    found = []
    for one in milestones():
        if one.index not in states:
            continue
        for place, message_id, data, transaction, _ in one.transactions:
            inputs = consumed(transaction)
            touched = [output.address for _, output in created(transaction)]
            touched += [outputs[each].address for each in inputs if each in outputs]
            found.append(
                {
                    "milestone_index": one.index,
                    "white_flag_index": place,
                    "message_id": message_id,
                    "version": 1,
                    "message": data,
                    "inputs": inputs,
                    "known": [facts[each] for each in inputs],
                    "dust": [dust(address, one.index, outputs, facts) for address in set(touched)],
                    "payload": None,
                }
            )
        found.append(dict.fromkeys(found[-1]) | {"milestone_index": one.index, "version": 1, "payload": one.payload})
    return found


def dust(address: bytes, before: int, outputs: dict[bytes, Any], facts: dict[bytes, Json]) -> Json:
    """The settled outputs of an address before a milestone."""
    allowance = count = 0
    for key, output in outputs.items():
        if output.address != address:
            continue
        for name, sign in (("created_milestone_index", 1), ("spent_milestone_index", -1)):
            at = facts[key][name]
            if at is not None and at < before:
                allows = output.KIND == chrysalis.SigLockedDustAllowance.KIND
                allowance += sign * output.amount if allows else 0
                count += sign if not allows and output.amount < 1_000_000 else 0
    return {"address": address, "dust_allowance": allowance, "dust_outputs": count}


def decided(given_rows: list[Json]) -> list[tuple[int, bytes, int]]:
    found = decide([pa.RecordBatch.from_pylist(given_rows)])
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def expected(indices: set[int]) -> list[tuple[int, bytes, int]]:
    return [
        (one.index, message_id, state)
        for one in milestones()
        if one.index in indices
        for _, message_id, _, _, state in one.transactions
    ]


def test_all_of_the_ledger_from_genesis_alone() -> None:
    every = set(range(1, 51))
    assert decided(rows(set(), every)) == expected(every)


@pytest.mark.thorough
@given(st.sets(st.integers(1, 50)))
@settings(max_examples=15, deadline=None)
def test_some_are_settled_before(settled: set[int]) -> None:
    others = set(range(1, 51)) - settled
    assert decided(rows(settled, others)) == expected(others)


def test_what_the_root_does_not_bear_out_decides_nothing() -> None:
    given_rows = rows(set(), {1, 2, 3})
    assert {index for index, _, _ in expected({1, 2, 3})} == {1, 2, 3}
    other = next(row["payload"] for row in rows(set(), {40}) if row["payload"])
    for row in given_rows:
        if row["milestone_index"] == 2 and row["payload"] is not None:
            row["payload"] = other
    assert {index for index, _, _ in decided(given_rows)} <= {1, 3}
