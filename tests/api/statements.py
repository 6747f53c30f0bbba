"""The statement of an account, computed from the input of the oracle ledgers: from each output, when and by which
transaction it was created and spent, and the order of transactions in the lines.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ledger.crypto.bech32 import format_address
from tests.api.explorer import Explorer
from tests.api.oracle import GENESIS, Json, Oracle
from tests.reference_facts import Genesis, Milestone


@dataclass(frozen=True)
class Effect:
    """A transaction, migration or genesis output: what it took from whom and what it gave to whom."""

    milestone: int
    position: int
    transaction_id: str
    kind: str
    time: int | None
    inputs: Sequence[tuple[str, int]]
    outputs: Sequence[tuple[str, int]]

    @property
    def parties(self) -> set[str]:
        return {address for address, _ in (*self.inputs, *self.outputs)}


@dataclass(frozen=True)
class Statements:
    """The effects of a ledger in their order, and its last milestone."""

    effects: Sequence[Effect]
    last: int

    @property
    def hrp(self) -> str:
        return self.addresses[0].rpartition("1")[0]

    @cached_property
    def addresses(self) -> list[str]:
        return sorted({address for each in self.effects for address in each.parties})

    def balance(self, addresses: Iterable[str], last: int) -> int:
        """The sum of what these addresses own after a milestone."""
        mine = {*addresses}
        return sum(
            sum(amount for address, amount in each.outputs if address in mine)
            - sum(amount for address, amount in each.inputs if address in mine)
            for each in self.effects
            if each.milestone <= last
        )

    def items(self, addresses: Iterable[str], first: int = 0, last: int | None = None) -> list[Json]:
        """The movements without cursors, oldest first."""
        mine, last = {*addresses}, self.last if last is None else last
        balance, found = self.balance(mine, first - 1), []
        for each in self.effects:
            received = sum(amount for address, amount in each.outputs if address in mine)
            amount = received - sum(amount for address, amount in each.inputs if address in mine)
            if not first <= each.milestone <= last or not amount:
                continue
            balance += amount
            others = {address for address, _ in (each.inputs if amount > 0 else each.outputs)} - mine
            found.append(
                {
                    "kind": each.kind,
                    "milestoneIndex": each.milestone,
                    "milestoneTimestamp": each.time,
                    "transactionId": each.transaction_id,
                    "amount": str(amount),
                    "balance": str(balance),
                    "valueUsd": None,
                    "counterparties": {*others},
                }
            )
        return found


def collected(moves: Iterable[tuple[int, int, str, bool, str, int]], times: dict[int, int]) -> list[Effect]:
    """Effects of (milestone, position, transaction id, whether spent, owner, amount)."""
    parts: dict[tuple[int, int, str], tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for milestone, position, transaction_id, is_spent, owner, amount in moves:
        parts[milestone, position, transaction_id][not is_spent].append((owner, amount))
    effects = []
    for (milestone, position, transaction_id), (inputs, outputs) in sorted(parts.items()):
        kind = "transaction" if inputs else "migration" if milestone else "genesis"
        effects.append(
            Effect(
                milestone,
                position,
                transaction_id,
                kind,
                None if kind == "genesis" else times[milestone],
                inputs,
                outputs,
            )
        )
    return effects


LAST_PLACE = 10**6


def of_stardust(explorer: Explorer) -> Statements:
    lines = explorer.ledger.milestones
    places = {
        (line["milestone"]["index"], entry["transactionId"]): position
        for line in lines
        for position, entry in enumerate(line["blocks"])
        if entry["metadata"].get("ledgerInclusionState") == "included"
    }
    moves = []
    for each in explorer.outputs.values():
        output, metadata = each["output"], each["metadata"]
        roles, amount = explorer.roles(output), int(output["amount"])
        owner = roles.get("address") or roles["stateController"]
        events = [(metadata["milestoneIndexBooked"], metadata["transactionId"], False)]
        if metadata["isSpent"]:
            events.append((metadata["milestoneIndexSpent"], metadata["transactionIdSpent"], True))
        for index, transaction_id, is_spent in events:
            place = places.get((index, transaction_id), LAST_PLACE)
            moves.append((index, place, transaction_id, is_spent, owner, amount))
    return Statements(collected(moves, explorer.time_of), explorer.last)


def of_chrysalis(oracle: Oracle) -> Statements:
    places = {entry["id"]: position for line in oracle.milestones for position, entry in enumerate(line["messages"])}
    hrp = oracle.expected["bech32Hrp"]
    moves = []
    for output_id, each in oracle.outputs.items():
        owner = format_address(hrp, b"\0" + bytes.fromhex(each["output"]["address"]["address"]))
        amount, message_id = each["output"]["amount"], each["messageId"]
        position = LAST_PLACE if message_id == GENESIS else places[message_id]
        created = oracle.milestone_of[message_id], position, f"0x{output_id[:64]}"
        moves.append((*created, False, owner, amount))
        spender = oracle.spender.get((output_id[:64], int.from_bytes(bytes.fromhex(output_id[64:]), "little")))
        if spender is not None:
            by = f"0x{oracle.by_id[spender]['transactionId']}"
            moves.append((oracle.milestone_of[spender], places[spender], by, True, owner, amount))
    return Statements(collected(moves, oracle.time_of), len(oracle.milestones))


def of_facts(milestones: Sequence[Milestone], genesis: Genesis, hrp: str) -> Statements:
    """The statements of a ledger of any eras, from the facts of its lines."""

    def text(owner: str) -> str:
        return format_address(hrp, bytes.fromhex(owner))

    created = dict(genesis.outputs)
    moves = [
        (genesis.index, LAST_PLACE, f"0x{output_id[:64]}", False, text(output.owner), output.amount)
        for output_id, output in created.items()
    ]
    for milestone in milestones:
        for position, message in enumerate(milestone.messages):
            transaction = message.transaction
            if message.state != 1 or transaction is None:
                continue
            by = milestone.index, position, f"0x{transaction.transaction_id}"
            for spend in transaction.spends:
                spent = created[spend.output_id]
                moves.append((*by, True, text(spent.owner), spent.amount))
            for index, output in enumerate(transaction.outputs):
                created[transaction.transaction_id + index.to_bytes(2, "little").hex()] = output
                moves.append((*by, False, text(output.owner), output.amount))
        for index, output in enumerate(milestone.receipt.funds if milestone.receipt else ()):
            created[milestone.milestone_id + index.to_bytes(2, "little").hex()] = output
            by = milestone.index, LAST_PLACE, f"0x{milestone.milestone_id}"
            moves.append((*by, False, text(output.owner), output.amount))
    times = {each.index: each.timestamp for each in milestones}
    return Statements(collected(moves, times), milestones[-1].index)
