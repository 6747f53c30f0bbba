"""Which transactions change the ledger, and why the others do not: white flag (TIP-2) with Hornet 1.2's reasons.

Rules of this file:
1. The order of the checks is Hornet's, since the first one that fails gives the reason: inputs in their order; unlock
   blocks that do not fit their inputs; sums; dust; signatures. Hornet leaves those to the end, as they cost most.
2. Transactions are taken to be well-formed (sorted, unique, amounts above 0): a node lets no others into its tangle.
3. Pure: what is known of outputs and addresses is asked of callables, and comes back as changes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import TypeAlias

from ledger import ed25519, ids
from ledger.chrysalis import encode_essence, encode_payload
from ledger.chrysalis_transaction import ED25519
from ledger.chrysalis_values import ReferenceUnlock, SignatureUnlock, Transaction, TransferOutput
from ledger.dust import NO_DUST, Dust, dust_of

Position: TypeAlias = tuple[int, int]
"""(milestone index, white-flag index) of a message. Migrated outputs stand at their milestone's own message, the last;
genesis outputs at (ledger index of the genesis, 0)."""

AddressDust: TypeAlias = Callable[[bytes], Dust]
"""The dust state of an address, 33 bytes, at some position."""


class Conflict(IntEnum):
    """Hornet's conflict_reason."""

    NONE = 0
    INPUT_SPENT = 1
    INPUT_SPENT_IN_MILESTONE = 2
    INPUT_NOT_FOUND = 3
    SUMS_DIFFER = 4
    INVALID_SIGNATURE = 5
    DUST_ALLOWANCE = 6
    SEMANTIC = 255


Resolved: TypeAlias = TransferOutput | Conflict
"""An input at some position: the output, unspent; or one of the three INPUT conflicts."""


@dataclass(frozen=True, slots=True)
class OutputFacts:
    """What the ledger knows of an output: who created it where, and where it was spent, if it was."""

    output: TransferOutput
    created: Position
    spent: Position | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """A transaction's verdict and changes: (output id, output) of each input and output, none if it conflicts."""

    message_id: bytes
    transaction_id: bytes
    conflict: Conflict
    spent: tuple[tuple[bytes, TransferOutput], ...] = ()
    created: tuple[tuple[bytes, TransferOutput], ...] = ()


def resolve_at(position: Position, facts: OutputFacts | None) -> Resolved:
    """How an output, None for an unknown one, looks to a transaction at that position.

    The facts may reach beyond it: what was created or spent at the position or later has not happened yet.
    """
    if facts is None or facts.created >= position:
        return Conflict.INPUT_NOT_FOUND
    if facts.spent is None or facts.spent >= position:
        return facts.output
    return Conflict.INPUT_SPENT_IN_MILESTONE if facts.spent[0] == position[0] else Conflict.INPUT_SPENT


def find_conflict(transaction: Transaction, inputs: Sequence[Resolved], dust: AddressDust) -> Conflict:
    """Why a transaction cannot be applied where its inputs look like that; NONE if it can.

    `inputs` holds one for each of its inputs, in their order; `dust` is asked only for addresses whose dust it changes.
    """
    consumed: list[TransferOutput] = []
    for each in inputs:
        if isinstance(each, Conflict):
            return each
        consumed.append(each)
    essence = transaction.essence
    signatures = _signatures(transaction, consumed)
    if signatures is None:
        return Conflict.SEMANTIC
    if sum(each.amount for each in consumed) != sum(each.amount for each in essence.outputs):
        return Conflict.SUMS_DIFFER
    for address, change in dust_changes(consumed, essence.outputs).items():
        after = dust(address) + change
        if after.outputs > after.most_outputs:
            return Conflict.DUST_ALLOWANCE
    signed = ids.signing_hash(encode_essence(essence))
    if not all(_signs(block, signed, address) for address, block in signatures.items()):
        return Conflict.INVALID_SIGNATURE
    return Conflict.NONE


def dust_changes(spent: Iterable[TransferOutput], created: Iterable[TransferOutput]) -> dict[bytes, Dust]:
    """By address what outputs change in dust; an address is in it if any of its outputs counts, also for a sum of 0."""
    changes: dict[bytes, Dust] = {}
    for output in created:
        if (added := dust_of(output)) != NO_DUST:
            changes[output.address] = changes.get(output.address, NO_DUST) + added
    for output in spent:
        if (taken := dust_of(output)) != NO_DUST:
            changes[output.address] = changes.get(output.address, NO_DUST) - taken
    return changes


def apply(
    milestone_index: int,
    transactions: Iterable[tuple[bytes, Transaction]],
    resolve: Callable[[bytes], OutputFacts | None],
    dust: AddressDust,
) -> Iterator[Applied]:
    """The verdict of each of a milestone's transactions, given as (message id, payload) in white-flag order.

    `resolve` gives what is known of an output id; what it knows of this milestone and of later ones does not disturb.
    `dust` gives the state of an address as the milestone before left it. Receipts are the caller's: the outputs they
    migrate come after the last transaction.
    """
    start = (milestone_index, 0)
    created: dict[bytes, TransferOutput] = {}
    spent: set[bytes] = set()
    moved: dict[bytes, Dust] = {}

    def look_up(output_id: bytes) -> Resolved:
        if output_id in spent:
            return Conflict.INPUT_SPENT_IN_MILESTONE
        return created.get(output_id) or resolve_at(start, resolve(output_id))

    def dust_now(address: bytes) -> Dust:
        return dust(address) + moved.get(address, NO_DUST)

    for message_id, transaction in transactions:
        essence = transaction.essence
        transaction_id = ids.transaction_id(encode_payload(transaction))
        input_ids = [ids.output_id(each.transaction_id, each.index) for each in essence.inputs]
        inputs = [look_up(each) for each in input_ids]
        conflict = find_conflict(transaction, inputs, dust_now)
        if conflict:
            yield Applied(message_id, transaction_id, conflict)
            continue
        consumed = [each for each in inputs if not isinstance(each, Conflict)]
        outputs = [(ids.output_id(transaction_id, index), each) for index, each in enumerate(essence.outputs)]
        spent.update(input_ids)
        created.update(outputs)
        for address, change in dust_changes(consumed, essence.outputs).items():
            moved[address] = moved.get(address, NO_DUST) + change
        pairs = tuple(zip(input_ids, consumed, strict=True))
        yield Applied(message_id, transaction_id, conflict, pairs, tuple(outputs))


def _signatures(transaction: Transaction, consumed: Sequence[TransferOutput]) -> dict[bytes, SignatureUnlock] | None:
    """The signature that must hold for each address; None where inputs of one address name different ones."""
    blocks = transaction.unlock_blocks
    chosen: dict[bytes, int] = {}
    signatures: dict[bytes, SignatureUnlock] = {}
    for position, (block, output) in enumerate(zip(blocks, consumed, strict=True)):
        index = position
        if isinstance(block, ReferenceUnlock):
            index = block.index
            block = blocks[index] if index < position else block
        if not isinstance(block, SignatureUnlock) or chosen.setdefault(output.address, index) != index:
            return None
        signatures[output.address] = block
    return signatures


def _signs(block: SignatureUnlock, signed: bytes, address: bytes) -> bool:
    if address[0] != ED25519 or blake2b(block.public_key, digest_size=32).digest() != address[1:]:
        return False
    return ed25519.verify(block.public_key, signed, block.signature)
