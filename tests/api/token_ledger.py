"""What explorer v2 must return about native tokens and NFTs, computed from a generated ledger's lines by simple scans.

Addresses are serialized, in hex. Lists are oldest first.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from typing import Any

from tests.generated_stardust import SETTINGS, made_genesis, made_lines, output_id
from tests.reference_reading import Reading
from tests.reference_rows import Rows
from tests.reference_stardust import address, genesis_fact, message_fact, milestone_fact

Json = dict[str, Any]

COUNT = 40
NETWORK = SETTINGS.network
TRAFFIC = replace(SETTINGS, conflicts=0.05, faults=0.1, chains=0.4, chain_count=6)
"""Rich in foundries and NFTs."""


@cache
def lines() -> list[Json]:
    return made_lines(COUNT, TRAFFIC)


def reference(chunk_size: int, partition_size: int, last: int = COUNT) -> Rows:
    """The rows of every table after the milestones to `last`."""
    reading = Reading(milestone_fact, message_fact, lambda: genesis_fact(made_genesis()))
    return reading.whole_rows(lines()[:last], [], chunk_size, partition_size, NETWORK)


def named_owner(output: Json) -> str:
    (found,) = (each["address"] for each in output["unlockConditions"] if each["type"] in (0, 4, 6))
    return address(found)


def owner_at(output: Json, unix_time: int) -> str:
    """Who may spend it at a time (TIP-18)."""
    for each in output["unlockConditions"]:
        if each["type"] == 3 and each["unixTime"] <= unix_time:
            return address(each["returnAddress"])
    return named_owner(output)


def foundry_id(output: Json) -> str:
    (alias,) = (each["address"] for each in output["unlockConditions"] if each["type"] == 6)
    serial = output["serialNumber"].to_bytes(4, "little").hex()
    return f"0x{address(alias)}{serial}{output['tokenScheme']['type']:02x}"


def nft_id(output: Json, key: str) -> str:
    if int(output["nftId"], 16):
        return str(output["nftId"])
    return "0x" + blake2b(bytes.fromhex(key[2:]), digest_size=32).hexdigest()


@dataclass
class Tokens:
    """Changes of tokens, states of foundries and NFTs by id, and the outputs that are unspent after the last line."""

    updates: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    foundries: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    nfts: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    unspent: dict[str, Json] = field(default_factory=dict)
    spent: dict[str, tuple[int, str]] = field(default_factory=dict)
    last_time: int = 0

    def note(self, key: str, output: Json, owner: str, spender: Json, *, is_spent: bool) -> None:
        for each in output.get("nativeTokens", ()):
            item = {"outputId": key, "isSpent": is_spent, "address": owner, "amount": hex(int(each["amount"], 16))}
            self.updates[each["id"]].append(item | spender)

    def create(self, key: str, output: Json, made: Json) -> None:
        self.unspent[key] = output
        self.note(key, output, named_owner(output), made, is_spent=False)
        if output["type"] == 5:
            scheme = {name: output["tokenScheme"][name] for name in ("mintedTokens", "meltedTokens", "maximumSupply")}
            supply = hex(int(scheme["mintedTokens"], 16) - int(scheme["meltedTokens"], 16))
            own = {name: made[name] for name in ("transactionId", "milestoneIndex", "milestoneTimestamp")}
            state = {"outputId": key} | own | scheme | {"circulatingSupply": supply}
            self.foundries[foundry_id(output)].append(state)
        if output["type"] == 6:
            states = self.nfts[nft_id(output, key)]
            before = states[-1]["output"] if states else None
            state = {
                "outputId": key,
                **made,
                "isMint": not int(output["nftId"], 16),
                "owner": named_owner(output),
                "previousOwner": before and owner_at(before, made["milestoneTimestamp"]),
            }
            states.append(state | {"output": output})

    def ending(self, key: str) -> Json:
        """How an output was spent."""
        index, transaction_id = self.spent.get(key, (None, None))
        return {"isSpent": index is not None, "transactionIdSpent": transaction_id, "milestoneIndexSpent": index}

    def outputs_of(self, token_id: str, spent: str = "any") -> list[Json]:
        found = []
        for each in self.updates[token_id]:
            if not each["isSpent"]:
                names = ("outputId", "address", "amount", "milestoneIndex", "milestoneTimestamp")
                found.append({name: each[name] for name in names} | self.ending(each["outputId"]))
        wanted = {"any": (False, True), "only": (True,), "unspent": (False,)}[spent]
        return sorted((each for each in found if each["isSpent"] in wanted), key=in_order)

    def transfers_of(self, token_id: str) -> list[Json]:
        return sorted(self.updates[token_id], key=lambda each: (*in_order(each), each["isSpent"]))

    def supply_of(self, token_id: str) -> list[Json]:
        return [each | {"isSpent": each["outputId"] in self.spent} for each in self.foundries[token_id]]

    def holders_of(self, token_id: str) -> list[Json]:
        amounts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for output in self.unspent.values():
            for each in output.get("nativeTokens", ()):
                if each["id"] == token_id:
                    sums = amounts[owner_at(output, self.last_time)]
                    sums[0] += int(each["amount"], 16)
                    sums[1] += 1
        richest = sorted(amounts.items(), key=lambda item: (-item[1][0], item[0]))
        return [{"address": who, "amount": hex(amount), "outputCount": count} for who, (amount, count) in richest]

    def states_of(self, an_nft: str) -> list[Json]:
        states = ({key: each[key] for key in each if key != "output"} for each in self.nfts[an_nft])
        return [each | self.ending(each["outputId"]) for each in states]


def in_order(item: Json) -> tuple[int, str]:
    return item["milestoneIndex"], item["outputId"]


@cache
def tokens() -> Tokens:
    """The generated ledger after its last milestone."""
    return replayed(lines(), made_genesis())


def replayed(milestones: Sequence[Json], genesis: Json) -> Tokens:
    """A ledger after the last of these lines."""
    found = Tokens()
    for each in genesis["outputs"]:
        found.unspent[each["outputId"]] = each["output"]
    for line in milestones:
        milestone = line["milestone"]
        at = {"milestoneIndex": milestone["index"], "milestoneTimestamp": milestone["timestamp"]}
        for entry in line["blocks"]:
            if entry["metadata"].get("ledgerInclusionState") != "included":
                continue
            essence, transaction_id = entry["block"]["payload"]["essence"], entry["transactionId"]
            made = at | {"transactionId": transaction_id, "blockId": entry["id"]}
            for each in essence["inputs"]:
                key = output_id(each["transactionId"], each["transactionOutputIndex"])
                output = found.unspent.pop(key)
                found.spent[key] = milestone["index"], transaction_id
                found.note(key, output, owner_at(output, milestone["timestamp"]), made, is_spent=True)
            for position, output in enumerate(essence["outputs"]):
                found.create(output_id(transaction_id, position), output, made)
        for option in milestone["payload"].get("options", ()):
            for position, fund in enumerate(option.get("funds", ())):
                migrated = {"type": 3, "unlockConditions": [{"type": 0, "address": fund["address"]}]}
                found.unspent[output_id(milestone["milestoneId"], position)] = migrated
        found.last_time = milestone["timestamp"]
    return found
