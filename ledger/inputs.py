"""Applies a milestone's transactions to outputs in white-flag order (TIP-2).

The module is independent of eras: callers pass functions that look up outputs and judge transactions. It returns
verdicts and changes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Generic, TypeAlias, TypeVar

from ledger import ids

Position: TypeAlias = tuple[int, int]
"""(milestone index, white-flag index) of a message. Migrated outputs follow all messages of their milestone. Genesis
outputs have (ledger index of the genesis, 0).
"""

Output = TypeVar("Output", covariant=True)


class InputConflict(IntEnum):
    """Why an input cannot be spent, by Hornet's number."""

    SPENT = 1
    SPENT_IN_MILESTONE = 2
    NOT_FOUND = 3


@dataclass(frozen=True, slots=True)
class OutputFacts(Generic[Output]):
    """Where an output was created, and where it was spent, if it was."""

    output: Output
    created: Position
    spent: Position | None = None


@dataclass(frozen=True, slots=True)
class Applied(Generic[Output]):
    """A transaction's verdict (the era's Conflict), and the (output id, output) pairs of its inputs and outputs. Both
    are empty for a conflict.
    """

    message_id: bytes
    transaction_id: bytes
    conflict: IntEnum
    spent: tuple[tuple[bytes, Output], ...] = ()
    created: tuple[tuple[bytes, Output], ...] = ()


def resolve_at(position: Position, facts: OutputFacts[Output] | None) -> Output | InputConflict:
    """Resolves an input for a transaction at a position. `facts` is None for an unknown output.

    Facts at or after the position are ignored: for this transaction they have not happened yet.
    """
    if facts is None or facts.created >= position:
        return InputConflict.NOT_FOUND
    if facts.spent is None or facts.spent >= position:
        return facts.output
    return InputConflict.SPENT_IN_MILESTONE if facts.spent[0] == position[0] else InputConflict.SPENT


def apply_in_order(
    milestone_index: int,
    transactions: Iterable[tuple[bytes, Any]],
    resolve: Callable[[bytes], OutputFacts[Output] | None],
    encode_payload: Callable[[Any], bytes],
    judge: Callable[[Any, Sequence[Output | InputConflict]], IntEnum],
) -> Iterator[Applied[Output]]:
    """Yields the verdict of each of a milestone's transactions.

    Args:
        milestone_index: The milestone.
        transactions: (message id, payload) in white-flag order.
        resolve: Looks up the facts about an output id. Facts of this milestone and of later ones are ignored.
        encode_payload: Encodes a payload; its hash is the transaction id.
        judge: Returns the verdict of a transaction, given its inputs. Called when all earlier verdicts are yielded.
    """
    start = (milestone_index, 0)
    created: dict[bytes, Output] = {}
    spent: set[bytes] = set()

    def look_up(output_id: bytes) -> Output | InputConflict:
        if output_id in spent:
            return InputConflict.SPENT_IN_MILESTONE
        return created[output_id] if output_id in created else resolve_at(start, resolve(output_id))

    for message_id, transaction in transactions:
        essence = transaction.essence
        transaction_id = ids.transaction_id(encode_payload(transaction))
        input_ids = [ids.output_id(each.transaction_id, each.index) for each in essence.inputs]
        inputs = [look_up(each) for each in input_ids]
        conflict = judge(transaction, inputs)
        if conflict:
            yield Applied(message_id, transaction_id, conflict)
            continue
        consumed = [each for each in inputs if not isinstance(each, InputConflict)]
        outputs = [(ids.output_id(transaction_id, index), each) for index, each in enumerate(essence.outputs)]
        spent.update(input_ids)
        created.update(outputs)
        pairs = tuple(zip(input_ids, consumed, strict=True))
        yield Applied(message_id, transaction_id, conflict, pairs, tuple(outputs))
