"""Applies the oracle ledger from its genesis with `ledger.chrysalis.conflicts.apply`. Tests compare the result with the
oracle.
"""

import json
from dataclasses import replace
from functools import cache
from typing import Any

from ledger.chrysalis.codec import Milestone, Transaction, decode_message, decode_output
from ledger.chrysalis.conflicts import apply
from ledger.chrysalis.dust import NO_DUST, Dust, dust_of
from ledger.chrysalis.values import SigLockedSingle
from ledger.ids import output_id
from ledger.inputs import Applied, OutputFacts, Position
from tests.reference import ORACLE, output_bytes, read_lines, read_text


@cache
def genesis() -> dict[str, Any]:
    return json.loads(read_text(ORACLE / "genesis.json"))


@cache
def expected() -> dict[str, Any]:
    return json.loads(read_text(ORACLE / "expected.json"))


@cache
def milestones() -> list[dict[str, Any]]:
    return read_lines(ORACLE / "milestones.jsonl")


def transactions(line: dict[str, Any]) -> list[tuple[int, bytes, Transaction]]:
    """(white-flag index, message id, payload) of a milestone's transactions, in that order."""
    found = []
    for entry in line["messages"]:
        payload = decode_message(bytes.fromhex(entry["bytes_hex"])).payload
        if isinstance(payload, Transaction):
            found.append((entry["whiteFlagIndex"], bytes.fromhex(entry["id"]), payload))
    assert found == sorted(found, key=lambda each: each[0])
    return found


class Replay:
    """The ledger after the milestones applied so far."""

    def __init__(self) -> None:
        self.facts: dict[bytes, OutputFacts[Any]] = {}
        self.messages: dict[bytes, bytes] = {}  # output id → the message that created it
        self.spenders: dict[bytes, bytes] = {}  # output id → the transaction that spent it
        self.dust: dict[bytes, Dust] = {}
        for entry in genesis()["outputs"]:
            output = decode_output(output_bytes(entry["output"]))
            self.create(bytes.fromhex(entry["outputId"]), bytes(32), output, (genesis()["ledgerIndex"], 0))

    def create(self, identity: bytes, message_id: bytes, output: Any, at: Position) -> None:
        assert identity not in self.facts
        self.facts[identity] = OutputFacts(output, at)
        self.messages[identity] = message_id
        self.dust[output.address] = self.dust.get(output.address, NO_DUST) + dust_of(output)

    def spend(self, identity: bytes, transaction_id: bytes, at: Position) -> None:
        facts = self.facts[identity]
        assert facts.spent is None
        self.facts[identity] = replace(facts, spent=at)
        self.spenders[identity] = transaction_id
        self.dust[facts.output.address] -= dust_of(facts.output)

    def apply(self, line: dict[str, Any]) -> list[Applied[Any]]:
        """Applies a milestone's transactions, then its receipt."""
        index, listed = line["milestone"]["index"], transactions(line)
        known, dust = dict(self.facts), dict(self.dust)
        verdicts = list(
            apply(index, [each[1:] for each in listed], known.get, lambda address: dust.get(address, NO_DUST))
        )
        for (position, message_id, _), applied in zip(listed, verdicts, strict=True):
            assert applied.message_id == message_id
            for identity, output in applied.created:
                self.create(identity, message_id, output, (index, position))
            for identity, output in applied.spent:
                assert self.facts[identity].output == output
                self.spend(identity, applied.transaction_id, (index, position))
        for identity, output in migrated(line):
            own = bytes.fromhex(line["milestone"]["messageId"])
            self.create(identity, own, output, (index, len(line["messages"]) - 1))
        return verdicts


def migrated(line: dict[str, Any]) -> list[tuple[bytes, SigLockedSingle]]:
    payload = decode_message(bytes.fromhex(line["messages"][-1]["bytes_hex"])).payload
    assert isinstance(payload, Milestone)
    milestone_id = bytes.fromhex(line["milestone"]["milestoneId"])
    funds = payload.receipt.funds if payload.receipt else ()
    return [(output_id(milestone_id, n), SigLockedSingle(each.address, each.deposit)) for n, each in enumerate(funds)]


@cache
def replayed() -> tuple[Replay, list[list[Applied[Any]]]]:
    """The final state, and the verdicts of each milestone."""
    replay = Replay()
    return replay, [replay.apply(line) for line in milestones()]
