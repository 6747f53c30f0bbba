"""The expected results of the ten queries in docs/analysts.md, computed in plain Python from an oracle ledger's input.

Each query has a method named after its heading. Amounts are integers, ids and addresses hex.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

from tests.reference_facts import Genesis, Milestone, Output
from tests.reference_ledger import transaction_of
from tests.reference_rows import u16

Rows: TypeAlias = list[tuple[Any, ...]]


def day(milestone: Milestone) -> date:
    return datetime.fromtimestamp(milestone.timestamp, UTC).date()


def tokens(output: Output) -> Iterator[tuple[str, bytes]]:
    """Native tokens and their amounts, where TIP-18 stores them."""
    for at in range(10, 10 + 70 * output.data[9] if output.kind != "legacy" else 0, 70):
        yield output.data[at : at + 38].hex(), output.data[at + 38 : at + 70]


@dataclass(frozen=True)
class Ledger:
    """A ledger's milestones after genesis, and the address of an account statement."""

    milestones: Sequence[Milestone]
    genesis: Genesis
    address: str

    def messages(self) -> Iterator[tuple[Milestone, Any]]:
        return ((milestone, message) for milestone in self.milestones for message in milestone.messages)

    def created(self) -> Iterator[tuple[int, str, Output]]:
        """(milestone, id, output) in the order of creation, genesis first."""
        yield from ((self.genesis.index, *each) for each in self.genesis.outputs.items())
        for milestone in self.milestones:
            for message in milestone.messages:
                if message.state == 1:
                    made = transaction_of(message)
                    for place, output in enumerate(made.outputs):
                        yield milestone.index, made.transaction_id + u16(place).hex(), output
            for place, output in enumerate(milestone.receipt.funds if milestone.receipt else ()):
                yield milestone.index, milestone.milestone_id + u16(place).hex(), output

    def spent(self) -> dict[str, int]:
        """Output → milestone."""
        return {
            spend.output_id: milestone.index
            for milestone, message in self.messages()
            if message.state == 1
            for spend in transaction_of(message).spends
        }

    def unspent(self) -> list[Output]:
        gone = self.spent()
        return [output for _, output_id, output in self.created() if output_id not in gone]

    def daily_volume(self) -> Rows:
        counts, volume = Counter[date](), Counter[date]()
        for milestone, message in self.messages():
            if message.state == 1:
                counts[day(milestone)] += 1
                volume[day(milestone)] += sum(output.amount for output in transaction_of(message).outputs)
        return [(each, counts[each], volume[each]) for each in sorted(counts)]

    def busiest_tags(self) -> Rows:
        counts = Counter(tag for _, message in self.messages() for tag in message.tags)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]

    def address_statement(self) -> Rows:
        received, sent, gone, rows, balance = Counter[int](), Counter[int](), self.spent(), [], 0
        for index, output_id, output in self.created():
            if output.owner == self.address:
                received[index] += output.amount
                if output_id in gone:
                    sent[gone[output_id]] += output.amount
        for index in sorted(received | sent):
            balance += received[index] - sent[index]
            rows.append((index, received[index], sent[index], balance))
        return rows

    def richest_addresses(self) -> Rows:
        balances, counts = Counter[str](), Counter[str]()
        for output in self.unspent():
            balances[output.owner] += output.amount
            counts[output.owner] += 1
        ranked = sorted(balances.items(), key=lambda item: (-item[1], item[0]))
        return [(address, amount, counts[address]) for address, amount in ranked[:10]]

    def token_holders(self) -> Rows:
        held = Counter[tuple[str, str]]()
        for output in self.unspent():
            for token, amount in tokens(output):
                held[token, output.owner] += int.from_bytes(amount, "little")
        return sorted(((*key, amount) for key, amount in held.items()), key=lambda row: (row[0], -row[2], row[1]))

    def nft_transfers(self) -> Rows:
        owners, rows = dict[str, str](), []
        for index, output_id, output in self.created():
            if output.kind == "nft":
                nft = output.keys(output_id)["chain"]
                if owners.get(nft) != output.owner:
                    rows.append((index, nft, owners.get(nft), output.owner))
                owners[nft] = output.owner
        return [(nft, index, *rest) for index, nft, *rest in sorted(rows, key=lambda row: row[:2])]

    def conflict_rate(self) -> Rows:
        counts: dict[date, Counter[int]] = defaultdict(Counter)
        for milestone, message in self.messages():
            counts[day(milestone)][message.state] += 1
        return [
            (each, states[1] + states[2], states[2], states[2] / (states[1] + states[2]))
            for each, states in sorted(counts.items())
            if states[1] + states[2]
        ]

    def conflict_reasons(self) -> Rows:
        counts = Counter(message.conflict_reason for _, message in self.messages() if message.state == 2)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def what_messages_carry(self) -> Rows:
        counts, sizes = Counter[int | None](), Counter[int | None]()
        for _, message in self.messages():
            counts[message.payload_kind] += 1
            sizes[message.payload_kind] += len(message.data)
        return sorted(((kind, counts[kind], sizes[kind]) for kind in counts), key=lambda row: (-row[1], -row[2]))

    def busiest_milestones(self) -> Rows:
        rows, pairs = [], zip(self.milestones, self.milestones[1:], strict=False)
        for before, milestone in pairs:
            rows.append((milestone.index, len(milestone.messages), milestone.timestamp - before.timestamp))
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:10]
