"""The expected events of an oracle ledger, computed from the facts in its lines, in plain Python."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference_facts import Message, Milestone

Json = dict[str, Any]

STATES = ("noTransaction", "included", "conflicting")


@dataclass(frozen=True)
class Wanted:
    """A subscription. Keys are hex without 0x, as in the facts."""

    milestones: bool = False
    tags: Sequence[str] = ()
    addresses: Sequence[str] = ()
    outputs: Sequence[str] = ()

    def query(self, bech32: Callable[[str], str]) -> dict[str, str]:
        """The parameters of a request."""
        lists = {
            "tag": [f"0x{each}" for each in self.tags],
            "address": [bech32(each) for each in self.addresses],
            "output": [f"0x{each}" for each in self.outputs],
        }
        found = {name: ",".join(values) for name, values in lists.items() if values}
        return found | ({"milestones": "true"} if self.milestones else {})


def expected_events(milestones: Sequence[Milestone], wanted: Wanted, bech32: Callable[[str], str]) -> list[Json]:
    """The events of these milestones, in order."""
    amounts = {
        output_id(message, number): output.amount
        for milestone in milestones
        for message in milestone.messages
        for number, output in enumerate(message.transaction.outputs if message.transaction else ())
    }
    return [event for milestone in milestones for event in _of_milestone(milestone, wanted, bech32, amounts)]


def output_id(message: Message, number: int) -> str:
    """The id of an output of a message's transaction."""
    assert message.transaction is not None
    return message.transaction.transaction_id + number.to_bytes(2, "little").hex()


def _of_milestone(
    milestone: Milestone, wanted: Wanted, bech32: Callable[[str], str], amounts: dict[str, int]
) -> Iterator[Json]:
    index = milestone.index
    common = {"milestoneIndex": index, "milestoneTimestamp": milestone.timestamp}
    messages = sorted(milestone.messages, key=lambda each: each.message_id)
    for message in messages:
        tags = [tag for tag in wanted.tags if tag in message.tags]
        addresses = [each for each in wanted.addresses if each in parties(message)]
        if tags or addresses:
            assert message.state is not None
            yield {
                "event": "message",
                "cursor": f"{index}.0.{message.message_id}",
                **common,
                "messageId": f"0x{message.message_id}",
                "inclusionState": STATES[message.state],
                "tags": [f"0x{each}" for each in tags],
                "addresses": [bech32(each) for each in addresses],
            }
    included = [(each, each.transaction) for each in messages if each.transaction is not None and each.state == 1]
    created = {output_id(each, number): each for each, paid in included for number in range(len(paid.outputs))}
    spent = {spend.output_id: each for each, paid in included for spend in paid.spends}
    for kind, (name, found) in enumerate((("created", created), ("spent", spent)), 1):
        for each in sorted({*wanted.outputs} & found.keys()):
            message = found[each]
            assert message.transaction is not None
            yield {
                "event": name,
                "cursor": f"{index}.{kind}.{each}",
                **common,
                "outputId": f"0x{each}",
                "transactionId": f"0x{message.transaction.transaction_id}",
                "messageId": f"0x{message.message_id}",
                "amount": str(amounts[each]),
            }
    if wanted.milestones:
        yield {"event": "milestone", "cursor": str(index), **common, "milestoneId": f"0x{milestone.milestone_id}"}


def parties(message: Message) -> set[str]:
    """The addresses that a transaction pays, and its signers."""
    if message.transaction is None:
        return set()
    paid = {each.owner for each in message.transaction.outputs}
    return paid | {each.signer for each in message.transaction.spends if each.signer is not None}
