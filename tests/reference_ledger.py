"""The ledger state after each milestone of an oracle ledger, replayed from its genesis with simple, slow code.

It adds to the rows of reference_rows.py and, like it, uses nothing of ledger/ or etl/. Unspent outputs are kept in a
dict. Milestones are applied in white-flag order, each with its receipt last.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference_facts import Genesis, Message, Milestone, Output, Transaction
from tests.reference_rows import (
    STARDUST_LOOKUPS,
    Lookup,
    Rows,
    id_row,
    output_rows,
    partition_rows,
    proof_row,
    u16,
)

DUST_BELOW = 1_000_000

LOOKUPS: dict[str, Lookup] = {
    "ledger_updates_by_address": (
        ("address",),
        "addresses_hints",
        {"output_kind": "ledger", "variant": "address", "included": True},
    ),
    "unspent_outputs": (("lookup", "output_kind", "key"), "unspent_hints", {}),
    "native_token_updates": (
        ("token_id",),
        "addresses_hints",
        {"output_kind": "native_token", "variant": "ledger", "included": True},
    ),
}
"""The tables of the ledger state."""


@dataclass
class Replay:
    """The unspent outputs after the milestones applied so far, all outputs ever created, and the addresses touched
    since the last call.
    """

    unspent: dict[str, Output] = field(default_factory=dict)
    created: dict[str, Output] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def create(self, output_id: str, output: Output) -> None:
        self.unspent[output_id] = self.created[output_id] = output
        self.touched.add(output.owner)

    def spend(self, output_id: str) -> Output:
        output = self.unspent.pop(output_id)
        self.touched.add(output.owner)
        return output

    def balance_rows(self, milestone_index: int, chunk_size: int) -> list[dict[str, Any]]:
        """A row for each address touched since the last call: the sum of the unspent outputs that name it."""
        touched, self.touched = self.touched, set()
        rows = []
        for address in touched:
            owned = [output for output in self.unspent.values() if output.owner == address]
            legacy = [output for output in owned if output.kind == "legacy"]
            rows.append(
                {
                    "address": address,
                    "ms_range_id": milestone_index // chunk_size,
                    "milestone_index": milestone_index,
                    "balance": sum(output.amount for output in owned),
                    "unspent_count": len(owned),
                    "dust_allowance": sum(output.amount for output in legacy if output.output_type == 1),
                    "dust_outputs": sum(output.output_type == 0 and output.amount < DUST_BELOW for output in legacy),
                }
            )
        return rows


def wealth_rows(rows: Rows, replay: "Replay", network: str, index: int) -> None:
    """Balances by address after a milestone."""
    balances: dict[str, int] = defaultdict(int)
    for output in replay.unspent.values():
        balances[output.owner] += output.amount
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


def unspent_rows(output_id: str, output: Output, index: int, key_of_all: str) -> list[dict[str, Any]]:
    """The rows of unspent_outputs for one created output that is not spent yet."""
    row = {
        "output_kind": output.kind,
        "milestone_index": index,
        "output_id": output_id,
        "output_type": output.output_type,
        "amount": output.amount,
        "spent_milestone_index": None,
        **output.filter_values,
    }
    keys = output.keys(output_id) | {"": key_of_all}
    row["address"] = output.owner if output.tokens else None
    of_tokens = [{"lookup": "native_token", "key": key, "token_amount": amount} for key, amount in output.tokens]
    return [row | {"lookup": lookup, "key": key} for lookup, key in keys.items()] + [row | each for each in of_tokens]


def ledger_rows(
    rows: Rows,
    milestones: Sequence[Milestone],
    genesis: Genesis,
    network: str,
    chunk_size: int,
    partition_size: int,
) -> None:
    """Adds genesis and the ledger state after each of the milestones, which follow it without a gap. Genesis names the
    keys that sign them, so all of them are `signed`.
    """
    replay, start = Replay(), genesis.index
    for row in rows["sync"]:
        row["verified"] = "signed"
    ranges = {row["ms_range_id"] for row in rows["sync"]}
    rows["proofs"] = [
        proof_row(network, each, [row for row in rows["sync"] if row["ms_range_id"] == each], "signed")
        for each in sorted(ranges)
    ]
    early: Rows = defaultdict(list)
    for output_id, output in genesis.outputs.items():
        output_rows(early, output, output_id, "00" * 32, start, None, None, included=True)
        id_row(early, output_id)
        replay.create(output_id, output)
        # These are in the first partition, like other rows of genesis.
        first = unspent_rows(output_id, output, start, output_id[:2])
        early["unspent_outputs"] += [row | {"ms_range_id": start // chunk_size, "partition_id": 0} for row in first]
    milestone_id, amount = genesis.treasury
    early["treasury"].append(
        {"network": network, "milestone_index": start, "milestone_id": milestone_id, "amount": amount}
    )
    known = {row["output_id"]: row for row in rows["outputs"]}
    for row in early.pop("outputs"):
        known[row["output_id"]] = known.get(row["output_id"], {}) | row
    rows["outputs"] = list(known.values())
    assert not early.keys() & STARDUST_LOOKUPS, "no oracle's genesis has tags or chain objects"
    assert not any(output.tokens for output in genesis.outputs.values()), "nor native tokens"
    for row in early["outputs_by_address"]:
        # No run counts them: their partition follows from the splits, none of which begins at genesis.
        row |= {"ms_range_id": start // chunk_size, "partition_id": 0}
        hint = {name: row[name] for name in HINT_OF_OUTPUT}
        if hint not in rows["addresses_hints"]:
            rows["addresses_hints"].append(hint)
    wealth_rows(early, replay, network, start)
    later: Rows = defaultdict(list)
    unspent: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in early["unspent_outputs"]:
        unspent[row["output_id"]].append(row)
    rows["address_balances"] = replay.balance_rows(start, chunk_size)
    at_genesis = [
        {"milestone_index": start, "output_id": output_id, "is_spent": False, "amount": output.amount}
        for output_id, output in genesis.outputs.items()
    ]
    rows["address_movements"] = movement_rows(replay, at_genesis, None, chunk_size)
    rows["ledger_updates_by_milestone"] = []
    last_of_day = {milestone.timestamp // 86_400: milestone.index for milestone in milestones}
    day_ends = {*last_of_day.values()} - {milestones[-1].index}
    for milestone in milestones:
        news = changes(replay, milestone)
        rows["ledger_updates_by_milestone"] += news
        sent_amounts(rows, milestone, news)
        for each in news:
            index, output_id, update = each["milestone_index"], each["output_id"], update_row(milestone, each)
            later["ledger_updates_by_address"].append(update)
            output = replay.created[output_id]
            token_update = {name: value for name, value in update.items() if name != "amount"}
            later["native_token_updates"] += [
                token_update | {"token_id": token_id, "token_amount": amount} for token_id, amount in output.tokens
            ]
            if each["is_spent"]:
                for row in unspent[output_id]:
                    row["spent_milestone_index"] = index
                continue
            for row in unspent_rows(output_id, output, index, ""):
                row["ms_timestamp"] = 1000 * milestone.timestamp
                unspent[output_id].append(row)
                later["unspent_outputs"].append(row)
        rows["address_balances"] += replay.balance_rows(milestone.index, chunk_size)
        rows["address_movements"] += movement_rows(replay, news, milestone, chunk_size)
        if milestone.index in day_ends:
            wealth_rows(later, replay, network, milestone.index)
    run = [milestone.index for milestone in milestones]
    partition_rows(later, run, chunk_size, partition_size, LOOKUPS)
    for row in early["unspent_outputs"]:
        hint = {name: row[name] for name in HINT_OF_UNSPENT}
        if hint not in later["unspent_hints"]:
            later["unspent_hints"].append(hint)
    last = start + len(milestones)
    assert run == list(range(start + 1, last + 1))
    wealth_rows(later, replay, network, last)
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
    kind = {"output_kind": "movement", "variant": "address", "included": True}
    places = {(row["address"], row["ms_range_id"], row["partition_id"]) for row in rows["address_movements"]}
    names = ("address", "ms_range_id", "partition_id")
    rows["addresses_hints"] += [dict(zip(names, each, strict=True)) | kind for each in sorted(places)]
    rows["ledger_frontier"] = [{"network": network, "ledger_index": index} for index in (start, last)]


HINT_OF_UNSPENT = ("lookup", "output_kind", "key", "ms_range_id", "partition_id")
HINT_OF_OUTPUT = ("address", "output_kind", "variant", "included", "ms_range_id", "partition_id")


def update_row(milestone: Milestone, change: dict[str, Any]) -> dict[str, Any]:
    """The row of ledger_updates_by_address of one of ledger_updates_by_milestone."""
    names = ("address", "milestone_index", "output_id", "is_spent", "amount")
    created_by = change["output_id"][:64]
    if created_by == milestone.milestone_id:
        assert milestone.receipt is not None
        message_id, transaction_id = milestone.receipt.message_id, created_by
    else:
        message = milestone.messages[change["white_flag_index"]]
        message_id, transaction_id = message.message_id, transaction_of(message).transaction_id
    return {name: change[name] for name in names} | {
        "message_id": message_id,
        "transaction_id": transaction_id,
        "ms_timestamp": 1000 * milestone.timestamp,
    }


def movement_rows(
    replay: Replay, news: Sequence[dict[str, Any]], milestone: Milestone | None, chunk_size: int
) -> list[dict[str, Any]]:
    """Rows of address_movements for one milestone's changes; without a milestone, for genesis."""
    by_effect: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in news:
        is_mine = milestone is None or each["output_id"][:64] == milestone.milestone_id
        by = each["output_id"][:64] if is_mine else update_row(milestone, each)["transaction_id"]
        by_effect[by].append(each | {"named": replay.created[each["output_id"]].owner})
    rows = []
    for transaction_id, members in by_effect.items():
        senders = {each["named"] for each in members if each["is_spent"]}
        recipients = {each["named"] for each in members if not each["is_spent"]}
        for address in senders | recipients:
            mine = [each for each in members if each["named"] == address]
            amount = sum(-each["amount"] if each["is_spent"] else each["amount"] for each in mine)
            if not amount:
                continue
            others = sorted((senders if amount > 0 else recipients) - {address})
            index, parts_size = members[0]["milestone_index"], -(-chunk_size // 100)
            without_inputs = "genesis" if milestone is None else "migration"
            rows.append(
                {
                    "address": address,
                    "ms_range_id": index // chunk_size,
                    "partition_id": index - index % chunk_size % parts_size,
                    "milestone_index": index,
                    "white_flag_index": members[0].get("white_flag_index", 2**31 - 1),
                    "transaction_id": transaction_id,
                    "kind": "transaction" if senders else without_inputs,
                    "amount": amount,
                    "counterparties": bytes.fromhex("".join(others)),
                    "ms_timestamp": None if milestone is None else 1000 * milestone.timestamp,
                }
            )
    return rows


def sent_amounts(rows: Rows, milestone: Milestone, news: Sequence[dict[str, Any]]) -> None:
    """Adds to one milestone's included transactions what each signing address spent in them."""
    sent: dict[tuple[str, str], int] = defaultdict(int)
    for each in news:
        if each["is_spent"]:
            message = milestone.messages[each["white_flag_index"]]
            if signer(transaction_of(message), each["idx"]) == each["address"]:
                sent[message.message_id, each["address"]] += each["amount"]
    for row in rows["transactions_by_address"]:
        amount = sent.pop((row["message_id"], row["address"]), None)
        if amount is not None:
            row["sent"] = amount
    assert not sent, "who signs has a row"


def transaction_of(message: Message) -> Transaction:
    """The transaction of a message that changed the ledger."""
    assert message.transaction is not None
    return message.transaction


def signer(transaction: Transaction, idx: int) -> str | None:
    """The signer of an input: of its own unlock or of the unlock that it refers to."""
    spend = transaction.spends[idx]
    if spend.unlock[0] == 1:
        return transaction.spends[int.from_bytes(spend.unlock[1:], "little")].signer
    return spend.signer


def owner_at(output: Output, unix_time: int) -> str:
    """The owner of the output at a time: from its expiration on, the return address (TIP-18)."""
    if output.expiration is not None and unix_time >= output.expiration[0]:
        return output.expiration[1]
    return output.owner


def changes(replay: Replay, milestone: Milestone) -> list[dict[str, Any]]:
    """Rows of ledger_updates_by_milestone for one milestone."""
    found = []

    def note(output_id: str, amount: int, address: str, position: int, idx: int, *, is_spent: bool) -> None:
        found.append(
            {
                "milestone_index": milestone.index,
                "output_id": output_id,
                "is_spent": is_spent,
                "white_flag_index": position,
                "idx": idx,
                "address": address,
                "amount": amount,
            }
        )

    def create(output_id: str, output: Output, position: int, idx: int) -> None:
        replay.create(output_id, output)
        note(output_id, output.amount, output.owner, position, idx, is_spent=False)

    for position, message in enumerate(milestone.messages):
        if message.state != 1:
            continue
        transaction = transaction_of(message)
        for idx, spend in enumerate(transaction.spends):
            output = replay.spend(spend.output_id)
            owner = owner_at(output, milestone.timestamp)
            note(spend.output_id, output.amount, owner, position, idx, is_spent=True)
        for idx, output in enumerate(transaction.outputs):
            create(transaction.transaction_id + u16(idx).hex(), output, position, idx)
    if milestone.receipt is not None:
        for idx, output in enumerate(milestone.receipt.funds):
            create(milestone.milestone_id + u16(idx).hex(), output, milestone.receipt.position, idx)
    return found
