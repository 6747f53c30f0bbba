"""The ledger state after each milestone of an oracle ledger, replayed the slow and plain way from its genesis.

Rules of this file: as in reference.py, which it adds to: unspent outputs are kept in a dict, inputs taken out and
outputs put in as the lines tell, in white-flag order, a milestone's receipt last.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from db.partitions import place
from tests.reference import ORACLE, Lookup, Rows, output_rows, owner, partition_rows, read_json, u16

DUST_BELOW = 1_000_000

LOOKUPS: dict[str, Lookup] = {
    "ledger_updates_by_address": (
        ("address",),
        "addresses_hints",
        {"output_kind": "ledger", "variant": "address", "included": True},
    ),
    "unspent_outputs": (("lookup", "output_kind", "key"), "unspent_hints", {}),
}
"""Those that the ledger state fills."""


def genesis() -> dict[str, Any]:
    """The oracle ledger's initial outputs and treasury."""
    found: dict[str, Any] = read_json(ORACLE / "genesis.json")
    return found


@dataclass
class Replay:
    """Unspent outputs as the lines gone through leave them, all that were ever created, and who was touched since that
    was last asked.
    """

    unspent: dict[str, dict[str, Any]] = field(default_factory=dict)
    created: dict[str, dict[str, Any]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def create(self, output_id: str, output: dict[str, Any]) -> str:
        self.unspent[output_id] = self.created[output_id] = output
        return self._touch(output)

    def spend(self, output_id: str) -> dict[str, Any]:
        output = self.unspent.pop(output_id)
        self._touch(output)
        return output

    def _touch(self, output: dict[str, Any]) -> str:
        self.touched.add(owner(output))
        return owner(output)

    def balance_rows(self, milestone_index: int, chunk_size: int) -> list[dict[str, Any]]:
        """A row for each address touched since the last call."""
        touched, self.touched = self.touched, set()
        rows = []
        for address in touched:
            owned = [output for output in self.unspent.values() if owner(output) == address]
            allowances = [output["amount"] for output in owned if output["type"] == 1]
            rows.append(
                {
                    "address": address,
                    "ms_range_id": milestone_index // chunk_size,
                    "milestone_index": milestone_index,
                    "balance": sum(output["amount"] for output in owned),
                    "unspent_count": len(owned),
                    "dust_allowance": sum(allowances),
                    "dust_outputs": sum(output["type"] == 0 and output["amount"] < DUST_BELOW for output in owned),
                }
            )
        return rows


def wealth_rows(rows: Rows, replay: "Replay", network: str, index: int) -> None:
    """Who owns how much after a milestone."""
    balances: dict[str, int] = defaultdict(int)
    for output in replay.unspent.values():
        balances[owner(output)] += output["amount"]
    at = {"network": network, "ledger_index": index}
    richest = sorted(balances.items(), key=lambda item: (-item[1], item[0]))
    rows["rich_list"] += [
        at | {"rank": rank, "address": address, "balance": balance}
        for rank, (address, balance) in enumerate(richest, start=1)
    ]
    for power in range(20):
        inside = [balance for balance in balances.values() if 10**power <= balance < 10 ** (power + 1)]
        if inside:
            rows["distribution"].append(at | {"power": power, "addresses": len(inside), "amount": sum(inside)})


def unspent_rows(output_id: str, output: dict[str, Any], index: int, key_of_all: str) -> list[dict[str, Any]]:
    """The rows of unspent_outputs of one created output, not yet spent."""
    row = {
        "output_kind": "legacy",
        "milestone_index": index,
        "output_id": output_id,
        "output_type": output["type"],
        "amount": output["amount"],
        "spent_milestone_index": None,
    }
    return [row | {"lookup": "address", "key": owner(output)}, row | {"lookup": "", "key": key_of_all}]


def ledger_rows(
    rows: Rows, lines: Sequence[dict[str, Any]], network: str, chunk_size: int, partition_size: int
) -> None:
    """Adds genesis and the ledger state after each of the lines, which follow it without a gap."""
    start, replay = genesis(), Replay()
    assert start["ledgerIndex"] == 0
    early: Rows = defaultdict(list)
    for each in start["outputs"]:
        output_rows(early, each["output"], each["outputId"], "00" * 32, 0, None, None, included=True)
        replay.create(each["outputId"], each["output"])
        # These stand in the first partition, as other rows of genesis do.
        first = unspent_rows(each["outputId"], each["output"], 0, each["outputId"][:2])
        early["unspent_outputs"] += [row | {"ms_range_id": 0, "partition_id": 0} for row in first]
    treasury = start["treasury"]
    early["treasury"].append(
        {
            "network": network,
            "milestone_index": 0,
            "milestone_id": treasury["milestoneId"],
            "amount": treasury["amount"],
        }
    )
    known = {row["output_id"]: row for row in rows["outputs"]}
    for row in early.pop("outputs"):
        known[row["output_id"]] = known.get(row["output_id"], {}) | row
    rows["outputs"] = list(known.values())
    for row in early["outputs_by_address"]:
        # No run counts them: where they stand follows from the splits, none of which begins at milestone 0.
        row |= {"ms_range_id": 0, "partition_id": place((), 0)}
        hint = {name: row[name] for name in HINT_OF_OUTPUT}
        if hint not in rows["addresses_hints"]:
            rows["addresses_hints"].append(hint)
    wealth_rows(early, replay, network, 0)
    later: Rows = defaultdict(list)
    unspent = {(row["output_id"], row["lookup"]): row for row in early["unspent_outputs"]}
    rows["address_balances"] = replay.balance_rows(0, chunk_size)
    rows["ledger_updates_by_milestone"] = []
    for line in lines:
        news = changes(replay, line)
        rows["ledger_updates_by_milestone"] += news
        sent_amounts(rows, line, news)
        later["ledger_updates_by_address"] += [update_row(line, each) for each in news]
        for each in news:
            index, output_id = each["milestone_index"], each["output_id"]
            if each["is_spent"]:
                for lookup in ("address", ""):
                    unspent[output_id, lookup]["spent_milestone_index"] = index
                continue
            for row in unspent_rows(output_id, replay.created[output_id], index, ""):
                row["ms_timestamp"] = 1000 * line["milestone"]["timestamp"]
                unspent[output_id, row["lookup"]] = row
                later["unspent_outputs"].append(row)
        rows["address_balances"] += replay.balance_rows(line["milestone"]["index"], chunk_size)
    run = [line["milestone"]["index"] for line in lines]
    partition_rows(later, run, chunk_size, partition_size, LOOKUPS)
    for row in early["unspent_outputs"]:
        hint = {name: row[name] for name in HINT_OF_UNSPENT}
        if hint not in later["unspent_hints"]:
            later["unspent_hints"].append(hint)
    wealth_rows(later, replay, network, len(lines))
    for added in (early, later):
        for name, members in added.items():
            rows[name] = rows.get(name, []) + members
    rows["addresses_hints"] += [
        {
            "address": address,
            "output_kind": "balance",
            "variant": "address",
            "included": True,
            "ms_range_id": ms_range_id,
            "partition_id": 0,
        }
        for address, ms_range_id in sorted({(row["address"], row["ms_range_id"]) for row in rows["address_balances"]})
    ]
    rows["ledger_frontier"] = [{"network": network, "ledger_index": index} for index in (0, len(lines))]


HINT_OF_UNSPENT = ("lookup", "output_kind", "key", "ms_range_id", "partition_id")
HINT_OF_OUTPUT = ("address", "output_kind", "variant", "included", "ms_range_id", "partition_id")


def update_row(line: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The row of ledger_updates_by_address of one of ledger_updates_by_milestone."""
    entry = line["messages"][change["white_flag_index"]]
    names = ("address", "milestone_index", "output_id", "is_spent", "amount")
    return {name: change[name] for name in names} | {
        "message_id": entry["id"],
        "transaction_id": entry["transactionId"] if change["is_spent"] else change["output_id"][:64],
        "ms_timestamp": 1000 * line["milestone"]["timestamp"],
    }


def sent_amounts(rows: Rows, line: dict[str, Any], news: Sequence[dict[str, Any]]) -> None:
    """Completes the history of one milestone's included transactions by what each address spent in them."""
    sent: dict[tuple[str, str], int] = defaultdict(int)
    for each in news:
        if each["is_spent"]:
            sent[line["messages"][each["white_flag_index"]]["id"], each["address"]] += each["amount"]
    for row in rows["transactions_by_address"]:
        amount = sent.pop((row["message_id"], row["address"]), None)
        if amount is not None:
            row["sent"] = amount
    assert not sent, "only who signs spends"


def changes(replay: Replay, line: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of ledger_updates_by_milestone of one milestone."""
    milestone, found = line["milestone"], []

    def note(output_id: str, output: dict[str, Any], position: int, idx: int, *, is_spent: bool) -> None:
        found.append(
            {
                "milestone_index": milestone["index"],
                "output_id": output_id,
                "is_spent": is_spent,
                "white_flag_index": position,
                "idx": idx,
                "address": owner(output),
                "amount": output["amount"],
            }
        )

    for position, entry in enumerate(line["messages"]):
        if entry["metadata"]["ledgerInclusionState"] != "included":
            continue
        essence = entry["message"]["payload"]["essence"]
        for idx, spent in enumerate(essence["inputs"]):
            output_id = spent["transactionId"] + u16(spent["transactionOutputIndex"]).hex()
            note(output_id, replay.spend(output_id), position, idx, is_spent=True)
        for idx, output in enumerate(essence["outputs"]):
            output_id = entry["transactionId"] + u16(idx).hex()
            replay.create(output_id, output)
            note(output_id, output, position, idx, is_spent=False)
    receipt = milestone["payload"]["receipt"]
    for idx, fund in enumerate(receipt["funds"] if receipt else ()):
        output_id = milestone["milestoneId"] + u16(idx).hex()
        output = {"type": 0, "address": fund["address"], "amount": fund["deposit"]}
        replay.create(output_id, output)
        note(output_id, output, len(line["messages"]) - 1, idx, is_spent=False)
    return found
