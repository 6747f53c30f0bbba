"""The expected explorer v2 bodies, read from the input of the Stardust oracle ledger by simple scans.

Expectations come from the input files, never from project code. Lists are newest first. Addresses are bech32, as in
expected.json.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tests.api.oracle import Json
from tests.api.stardust import StardustLedger

FIELDS = {0: "pubKeyHash", 8: "aliasId", 16: "nftId"}

CONDITIONS = {
    0: ("address", "address"),
    1: ("storageDepositReturn", "returnAddress"),
    3: ("expirationReturn", "returnAddress"),
    4: ("stateController", "address"),
    5: ("governor", "address"),
    6: ("address", "address"),
}
"""Type of an unlock condition → role, and the field that contains the address."""

ORDER = ("address", "sender", "issuer", "stateController", "governor", "storageDepositReturn", "expirationReturn")


@dataclass(frozen=True)
class Explorer:
    """The ledger after that many of its milestones."""

    ledger: StardustLedger
    last: int = 50

    @cached_property
    def bech32(self) -> dict[tuple[int, str], str]:
        """Type and hex of an address → its text."""
        return {(each["type"], each["hex"]): each["bech32"] for each in self.ledger.expected["addresses"]}

    def text(self, address: Json) -> str:
        return self.bech32[address["type"], address[FIELDS[address["type"]]]]

    @cached_property
    def addresses(self) -> list[str]:
        return sorted(self.bech32.values())

    @cached_property
    def time_of(self) -> dict[int, int]:
        """Milestone → its timestamp; genesis has none."""
        return {0: 0} | {each["index"]: each["timestamp"] for each in self.ledger.milestone_entries}

    @cached_property
    def outputs(self) -> dict[str, Json]:
        """Id → output and metadata after the last milestone."""
        found = {}
        for output_id, each in self.ledger.outputs.items():
            metadata = each["metadata"]
            if metadata["milestoneIndexBooked"] <= self.last:
                is_spent = metadata["isSpent"] and metadata["milestoneIndexSpent"] <= self.last
                found[output_id] = {"output": each["output"], "metadata": metadata | {"isSpent": is_spent}}
        return found

    def roles(self, output: Json) -> dict[str, str]:
        """Role → address; the first two roles are owners."""
        found = {
            CONDITIONS[each["type"]][0]: self.text(each[CONDITIONS[each["type"]][1]])
            for each in output["unlockConditions"]
            if each["type"] in CONDITIONS
        }
        for feature in output.get("features", ()):
            if feature["type"] == 0:
                found["sender"] = self.text(feature["address"])
        for feature in output.get("immutableFeatures", ()):
            if feature["type"] == 1:
                found["issuer"] = self.text(feature["address"])
        return found

    def owner(self, output: Json, unix_time: int) -> tuple[str, str]:
        """The role in which each address may spend it at a time (TIP-18)."""
        roles = self.roles(output)
        expiring = [each["unixTime"] for each in output["unlockConditions"] if each["type"] == 3]
        if expiring and expiring[0] <= unix_time:
            return "expirationReturn", roles["expirationReturn"]
        name = "address" if "address" in roles else "stateController"
        return name, roles[name]

    @cached_property
    def updates(self) -> list[Json]:
        """All outputs created for and spent by an address, with `of`, newest first."""
        found = []
        for output_id, each in self.outputs.items():
            output, metadata = each["output"], each["metadata"]
            events = [(False, metadata["milestoneIndexBooked"], metadata["transactionId"])]
            if metadata["isSpent"]:
                events.append((True, metadata["milestoneIndexSpent"], metadata["transactionIdSpent"]))
            for is_spent, index, transaction_id in events:
                # The output names its receiver; its spender is the address that may spend it at that time.
                role, address = self.owner(output, self.time_of[index] if is_spent else -1)
                item = {
                    "outputId": output_id,
                    "isSpent": is_spent,
                    "milestoneIndex": index,
                    "milestoneTimestamp": self.time_of[index],
                    "amount": output["amount"],
                    "transactionId": transaction_id,
                    "role": role,
                }
                found.append(item | {"of": address})
        return sorted(found, key=lambda each: (each["milestoneIndex"], each["outputId"], each["isSpent"]), reverse=True)

    def updates_of(self, address: str) -> list[Json]:
        return [{key: each[key] for key in each if key != "of"} for each in self.updates if each["of"] == address]

    def updates_in(self, index: int) -> list[Json]:
        """Changes of a milestone, by output id."""
        return [
            {"address": each["of"], "outputId": each["outputId"], "isSpent": each["isSpent"], "amount": each["amount"]}
            for each in self.updates[::-1]
            if each["milestoneIndex"] == index
        ]

    def outputs_of(self, address: str, role: str | None = None) -> list[Json]:
        """Every output in which an address has a role, newest first."""
        found = []
        for output_id, each in self.outputs.items():
            output, metadata = each["output"], each["metadata"]
            parts = [name for name, who in self.roles(output).items() if who == address]
            if not parts or role not in (None, *parts):
                continue
            spent = metadata["milestoneIndexSpent"] if metadata["isSpent"] else None
            found.append(
                {
                    "outputId": output_id,
                    "outputType": output["type"],
                    "roles": sorted(parts, key=ORDER.index),
                    "amount": output["amount"],
                    "transactionId": metadata["transactionId"],
                    "milestoneIndex": metadata["milestoneIndexBooked"],
                    "milestoneTimestamp": self.time_of[metadata["milestoneIndexBooked"]],
                    "isSpent": metadata["isSpent"],
                    "transactionIdSpent": None if spent is None else metadata["transactionIdSpent"],
                    "milestoneIndexSpent": spent,
                    "milestoneTimestampSpent": None if spent is None else self.time_of[spent],
                }
            )
        return sorted(found, key=lambda each: (each["milestoneIndex"], each["outputId"]), reverse=True)

    def balance(self, address: str) -> Json | None:
        """The balance that an address may spend after the last milestone; None if no unspent output names it."""
        now, total, available, named = self.time_of[self.last], 0, 0, 0
        tokens = Counter[str]()
        for each in self.unspent():
            output, roles = each["output"], self.roles(each["output"])
            named += address in (roles.get("address"), roles.get("stateController"), roles.get("expirationReturn"))
            role, owner = self.owner(output, now)
            if owner != address:
                continue
            conditions = {condition["type"]: condition for condition in output["unlockConditions"]}
            amount = int(output["amount"])
            if 1 in conditions and role != "expirationReturn":
                amount -= int(conditions[1]["amount"])
            total += amount
            if 2 not in conditions or conditions[2]["unixTime"] <= now:
                available += amount
            for token in output.get("nativeTokens", ()):
                tokens[token["id"]] += int(token["amount"], 16)
        if not named:
            return None
        return {
            "totalBalance": str(total),
            "availableBalance": str(available),
            "ledgerIndex": self.last,
            "nativeTokens": [{"id": token, "amount": hex(tokens[token])} for token in sorted(tokens)],
        }

    def unspent(self) -> Iterator[Json]:
        return (each for each in self.outputs.values() if not each["metadata"]["isSpent"])

    def owned(self) -> Counter[str]:
        """Address → base tokens of the unspent outputs that name it as owner."""
        found = Counter[str]()
        for each in self.unspent():
            found[self.owner(each["output"], -1)[1]] += int(each["output"]["amount"])
        return found

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Parent → children; pending ones come as the newest."""
        found: dict[str, list[Json]] = {}
        for entry in self.ledger.entries:
            for parent in entry["block"]["parents"]:
                found.setdefault(parent, []).append(entry)
        return {parent: [each["id"] for each in newest_first(entries)] for parent, entries in found.items()}

    @cached_property
    def tagged(self) -> dict[str, list[Json]]:
        """Tag → items of the blocks that have it."""
        found: dict[str, list[Json]] = {}
        for entry in newest_first(self.ledger.entries):
            payload = entry["block"].get("payload")
            if payload and payload["type"] == 6:
                payload = payload["essence"].get("payload")
            if payload and payload["type"] == 5:
                index = entry["metadata"].get("referencedByMilestoneIndex")
                item = {
                    "blockId": entry["id"],
                    "milestoneIndex": index,
                    "milestoneTimestamp": None if index is None else self.time_of[index],
                    "ledgerInclusionState": entry["metadata"].get("ledgerInclusionState"),
                }
                found.setdefault(payload.get("tag", "0x"), []).append(item)
        return found


def newest_first(entries: list[Json]) -> list[Json]:
    """Entries by descending milestone and id, pending ones first."""
    return sorted(
        entries,
        key=lambda entry: (entry["metadata"].get("referencedByMilestoneIndex", 2**31), entry["id"]),
        reverse=True,
    )
