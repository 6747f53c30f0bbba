"""The expected API bodies, read from the input of the oracle ledger: milestones.jsonl, pending.jsonl, expected.json.

Expectations come from the input files, never from project code. Lists are in the order of the contract, newest first:
pending messages by descending id, then messages by descending milestone and id.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from tests.reference import read_lines, read_text, tags_of

Json: TypeAlias = dict[str, Any]

GENESIS = "00" * 32
"""Message id of what no message created."""

PENDING = 2**31
"""The milestone of a message that has none, in sort keys."""


@dataclass(frozen=True)
class Oracle:
    """The lines, and what is computed from them."""

    milestones: list[Json]
    pending: list[Json]
    expected: Json

    @classmethod
    def read(cls, folder: Path) -> "Oracle":
        return cls(
            read_lines(folder / "milestones.jsonl"),
            read_lines(folder / "pending.jsonl"),
            json.loads(read_text(folder / "expected.json")),
        )

    @cached_property
    def entries(self) -> list[Json]:
        """Every message, pending ones too."""
        return [entry for line in self.milestones for entry in line["messages"]] + self.pending

    @cached_property
    def milestone_of(self) -> dict[str, int]:
        """Message id → index of the milestone that references it, or PENDING; GENESIS existed before the first."""
        return {GENESIS: 0} | {
            entry["id"]: entry["metadata"].get("referencedByMilestoneIndex", PENDING) for entry in self.entries
        }

    @cached_property
    def by_id(self) -> dict[str, Json]:
        """Message id → entry."""
        return {entry["id"]: entry for entry in self.entries}

    @cached_property
    def time_of(self) -> dict[int, int]:
        """Milestone → its timestamp, in seconds."""
        return {line["milestone"]["index"]: line["milestone"]["timestamp"] for line in self.milestones}

    def newest_first(self, message_ids: list[str]) -> list[str]:
        return sorted(message_ids, key=lambda each: (self.milestone_of[each], each), reverse=True)

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Parent → children."""
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            for parent in entry["message"]["parentMessageIds"]:
                found.setdefault(parent, []).append(entry["id"])
        return {parent: self.newest_first(ids) for parent, ids in found.items()}

    @cached_property
    def tagged(self) -> dict[str, list[str]]:
        """Index → messages."""
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            for tag in tags_of(entry["message"]):
                found.setdefault(tag, []).append(entry["id"])
        return {tag: self.newest_first(ids) for tag, ids in found.items()}

    @cached_property
    def included(self) -> dict[str, Json]:
        """Transaction id → the entry with its included attachment."""
        return {
            entry["transactionId"]: entry
            for entry in self.entries
            if "transactionId" in entry and entry["metadata"].get("ledgerInclusionState") == "included"
        }

    @cached_property
    def attachments(self) -> dict[str, list[Json]]:
        """Transaction id → the entries that attach it, and that a milestone references."""
        found: dict[str, list[Json]] = {}
        for entry in self.entries:
            if "transactionId" in entry and self.milestone_of[entry["id"]] != PENDING:
                found.setdefault(entry["transactionId"], []).append(entry)
        return found

    @cached_property
    def spender(self) -> dict[tuple[str, int], str]:
        """Transaction id and output index → the included message that spends that output."""
        return {
            (spent["transactionId"], spent["transactionOutputIndex"]): entry["id"]
            for entry in self.included.values()
            for spent in entry["message"]["payload"]["essence"]["inputs"]
        }

    @cached_property
    def histories(self) -> dict[str, list[Json]]:
        """Address → its events (received, sent, attempted), newest first, after genesis."""
        found: dict[str, list[Json]] = {}
        for line in self.milestones:
            milestone, receipt = line["milestone"], line["milestone"]["payload"]["receipt"]
            at = {
                "referencedByMilestoneIndex": milestone["index"],
                "milestoneTimestampReferenced": milestone["timestamp"],
            }
            for entry in line["messages"]:
                if "transactionId" in entry:
                    for address, item in self._attached(entry):
                        found.setdefault(address, []).append(at | item)
            deposits = Counter[str]()
            for fund in receipt["funds"] if receipt else ():
                deposits[fund["address"]["address"]] += fund["deposit"]
            for address, deposit in deposits.items():
                item = {
                    "messageId": milestone["messageId"],
                    "transactionId": receipt["transaction"]["input"]["milestoneId"],
                    "ledgerInclusionState": "migrated",
                    "inputsCount": 1,
                    "outputsCount": len(receipt["funds"]),
                    "addressBalanceChange": deposit,
                }
                found.setdefault(address, []).append(at | item)
        keys = ("referencedByMilestoneIndex", "transactionId", "messageId")
        return {
            address: sorted(items, key=lambda item: [item[key] for key in keys], reverse=True)
            for address, items in found.items()
        }

    def _attached(self, entry: Json) -> Iterator[tuple[str, Json]]:
        """Each address that one attachment pays or that signs it, and the resulting event in its history."""
        payload, state = entry["message"]["payload"], entry["metadata"]["ledgerInclusionState"]
        essence, changes = payload["essence"], Counter[str]()
        signatures = [block["signature"] for block in payload["unlockBlocks"] if block["type"] == 0]
        keys = [bytes.fromhex(signature["publicKey"]) for signature in signatures]
        concerned = {blake2b(key, digest_size=32).hexdigest() for key in keys}
        concerned |= {output["address"]["address"] for output in essence["outputs"]}
        if state == "included":
            for output in essence["outputs"]:
                changes[output["address"]["address"]] += output["amount"]
            for spent in essence["inputs"]:
                index = spent["transactionOutputIndex"].to_bytes(2, "little").hex()
                output = self.outputs[f"{spent['transactionId']}{index}"]["output"]
                changes[output["address"]["address"]] -= output["amount"]
        for address in concerned:
            item = {
                "messageId": entry["id"],
                "transactionId": entry["transactionId"],
                "ledgerInclusionState": state,
                "inputsCount": len(essence["inputs"]),
                "outputsCount": len(essence["outputs"]),
                "addressBalanceChange": changes[address],
            }
            if state == "conflicting":
                item["conflictReason"] = entry["metadata"]["conflictReason"]
            yield address, item

    @cached_property
    def conflicting_outputs(self) -> dict[str, Json]:
        """Output id → output and message, of transactions that were never included; their last attachment by id."""
        return {
            f"{transaction_id}{index.to_bytes(2, 'little').hex()}": {"output": output, "messageId": last["id"]}
            for transaction_id, entries in self.attachments.items()
            if transaction_id not in self.included
            for last in [max(entries, key=lambda entry: entry["id"])]
            for index, output in enumerate(last["message"]["payload"]["essence"]["outputs"])
        }

    @cached_property
    def outputs(self) -> dict[str, Json]:
        """Output id → whole response."""
        found: dict[str, Json] = self.expected["outputs"]
        return found

    def without_genesis(self) -> "Oracle":
        """The same for a store in which only the milestones were loaded."""
        outputs = {key: each for key, each in self.outputs.items() if each["messageId"] != GENESIS}
        return Oracle(self.milestones, self.pending, self.expected | {"outputs": outputs})

    def address_outputs(self, address: str, *, output_type: int | None, include_spent: bool) -> list[str]:
        found = [
            key
            for key in self._outputs_of[address]
            if output_type in (None, self.outputs[key]["output"]["type"])
            and (include_spent or not self.outputs[key]["isSpent"])
        ]
        return sorted(found, key=lambda key: (self.milestone_of[self.outputs[key]["messageId"]], key), reverse=True)

    @cached_property
    def _outputs_of(self) -> Mapping[str, list[str]]:
        """Address → its outputs."""
        found = defaultdict[str, list[str]](list)
        for key, each in self.outputs.items():
            found[each["output"]["address"]["address"]].append(key)
        return found

    def all_outputs(self, address: str) -> list[str]:
        return self.address_outputs(address, output_type=None, include_spent=True)

    @cached_property
    def addresses(self) -> list[str]:
        """Every address that ever received funds."""
        return sorted({each["output"]["address"]["address"] for each in self.outputs.values()})
