"""Decides which transactions change the ledger (white flag, TIP-2), with Hornet 1.2's conflict reasons.

Invariants:
1. The checks run in Hornet's order, because the first that fails gives the reason: inputs in their order; unlock blocks
   that do not match their inputs; sums; dust; signatures. Signatures come last because they cost most.
2. Transactions are well-formed (sorted, unique, amounts above 0). A node accepts no others.
3. The module is pure. Callers pass functions that look up outputs and dust; verdicts and changes are returned.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import TypeAlias

from ledger import ids
from ledger.chrysalis.codec import encode_essence, encode_payload
from ledger.chrysalis.dust import NO_DUST, Dust, dust_of
from ledger.chrysalis.transaction import ED25519
from ledger.chrysalis.values import ReferenceUnlock, SignatureUnlock, Transaction, TransferOutput
from ledger.crypto import ed25519
from ledger.inputs import Applied, InputConflict, OutputFacts, apply_in_order

AddressDust: TypeAlias = Callable[[bytes], Dust]
"""Returns the dust state of an address (33 bytes) at some position."""


class Conflict(IntEnum):
    """Hornet's `conflict_reason`."""

    NONE = 0
    INPUT_SPENT = 1
    INPUT_SPENT_IN_MILESTONE = 2
    INPUT_NOT_FOUND = 3
    SUMS_DIFFER = 4
    INVALID_SIGNATURE = 5
    DUST_ALLOWANCE = 6
    SEMANTIC = 255


Resolved: TypeAlias = TransferOutput | InputConflict
"""An input at some position: the unspent output, or why it cannot be spent."""


def find_conflict(transaction: Transaction, inputs: Sequence[Resolved], dust: AddressDust) -> Conflict:
    """Why a transaction cannot be applied to these inputs; NONE if it can.

    Args:
        transaction: The transaction.
        inputs: The resolved inputs, in the transaction's order.
        dust: Called only for addresses whose dust the transaction changes.
    """
    consumed: list[TransferOutput] = []
    for each in inputs:
        if isinstance(each, InputConflict):
            return Conflict(each)
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
    """The change in dust by address. An address is included if any of its outputs is relevant, even if the sum is 0."""
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
    resolve: Callable[[bytes], OutputFacts[TransferOutput] | None],
    dust: AddressDust,
) -> Iterator[Applied[TransferOutput]]:
    """Applies a milestone's transactions (`inputs.apply_in_order`) with these reasons.

    `dust` returns the state of an address after the previous milestone. Callers apply receipts: migrated outputs follow
    the last transaction.
    """
    moved: dict[bytes, Dust] = {}

    def judge(transaction: Transaction, inputs: Sequence[Resolved]) -> Conflict:
        return find_conflict(transaction, inputs, lambda address: dust(address) + moved.get(address, NO_DUST))

    for applied in apply_in_order(milestone_index, transactions, resolve, encode_payload, judge):
        spent, created = ([output for _, output in pairs] for pairs in (applied.spent, applied.created))
        for address, change in dust_changes(spent, created).items():
            moved[address] = moved.get(address, NO_DUST) + change
        yield applied


def _signatures(transaction: Transaction, consumed: Sequence[TransferOutput]) -> dict[bytes, SignatureUnlock] | None:
    """The signature to verify for each address; None if inputs of one address refer to different signatures."""
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
