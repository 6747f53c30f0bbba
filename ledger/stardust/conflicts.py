"""Decides why a Stardust transaction is a conflict, with Hornet 2.0's reasons in the order of its checks.

Invariants:
1. The first check that fails gives the reason: inputs in their order; timelocks; the inputs commitment; unlocks in
   their order, with their signatures; senders; sums and storage deposit returns; native tokens; chains. Sources:
   TIP-18, TIP-20, iota.go 3.0.0-rc.3, Hornet 2.0.1.
2. Transactions are well-formed, because decoding checks that. A node accepts no others.
3. The module is pure. Callers pass the inputs and the milestone's time.
4. A Chrysalis output is spent as the basic output that it became when Stardust began (`carried_over`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TypeAlias

from ledger import ids
from ledger.chrysalis import values as chrysalis_values
from ledger.chrysalis.values import ReferenceUnlock, SignatureUnlock
from ledger.crypto import ed25519
from ledger.inputs import Applied, InputConflict, OutputFacts, apply_in_order
from ledger.stardust.chains import Chains, chain_name, controllers, transitions_allowed
from ledger.stardust.codec import encode_payload
from ledger.stardust.conditions import ALIAS, ED25519, NFT
from ledger.stardust.outputs import MAX_NATIVE_TOKENS, encode_output, owner_at
from ledger.stardust.transaction import encode_essence
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    AliasUnlock,
    BasicOutput,
    NftOutput,
    NftUnlock,
    Sender,
    StorageDepositReturn,
    Timelock,
    Transaction,
    TransferOutput,
    Unlock,
)

_REFERENCES = {ED25519: ReferenceUnlock, ALIAS: AliasUnlock, NFT: NftUnlock}
"""By address type, the unlock that refers to the earlier one which unlocked the address."""

_MAX_U256 = (1 << 256) - 1


class Conflict(IntEnum):
    """Hornet's `conflictReason`. The values for inputs are the same as in Chrysalis."""

    NONE = 0
    INPUT_SPENT = 1
    INPUT_SPENT_IN_MILESTONE = 2
    INPUT_NOT_FOUND = 3
    SUMS_DIFFER = 4
    INVALID_SIGNATURE = 5
    TIMELOCK = 6
    NATIVE_TOKENS = 7
    DEPOSIT_NOT_RETURNED = 8
    INVALID_UNLOCK = 9
    INPUTS_COMMITMENT = 10
    SENDER_NOT_UNLOCKED = 11
    CHAIN_TRANSITION = 12
    SEMANTIC = 255


LedgerOutput: TypeAlias = TransferOutput | chrysalis_values.TransferOutput
"""An output of either era."""

Resolved: TypeAlias = LedgerOutput | InputConflict
"""An input at some position: the unspent output, or why it cannot be spent."""


class _Unlocked:
    """The unlocked addresses: for each the first input that unlocks it, and the inputs that refer to that one."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}
        self._leaning: dict[bytes, set[int]] = defaultdict(set)

    def __contains__(self, address: object) -> bool:
        return address in self._first

    def add(self, address: bytes, index: int) -> None:
        """Records that an input unlocks an address itself."""
        self._first[address] = index
        self._leaning[address] = set()

    def refer(self, address: bytes, first: int, index: int) -> bool:
        """Whether the input `index` may refer to `first` as the one that unlocked its address."""
        if self._first.get(address) != first:
            return False
        self._leaning[address].add(index)
        return True

    def did(self, address: bytes, index: int) -> bool:
        """Whether the address unlocked the input."""
        return self._first.get(address) == index or index in self._leaning.get(address, ())


def find_conflict(transaction: Transaction, inputs: Sequence[Resolved], unix_time: int) -> Conflict:
    """Why a transaction cannot be applied to these inputs; NONE if it can.

    Args:
        transaction: The transaction.
        inputs: The resolved inputs, in the transaction's order.
        unix_time: The timestamp of the referencing milestone, in seconds.
    """
    consumed: list[TransferOutput] = []
    for each in inputs:
        if isinstance(each, InputConflict):
            return Conflict(each)
        consumed.append(carried_over(each))
    conditions = [each for output in consumed for each in output.unlock_conditions]
    if any(isinstance(each, Timelock) and each.unix_time > unix_time for each in conditions):
        return Conflict.TIMELOCK
    essence = transaction.essence
    if ids.inputs_commitment(map(encode_output, consumed)) != essence.inputs_commitment:
        return Conflict.INPUTS_COMMITMENT
    spent_ids = [ids.output_id(each.transaction_id, each.index) for each in essence.inputs]
    before = {key: each for key, each in zip(map(chain_name, consumed, spent_ids), consumed, strict=True) if key}
    after = {key: each for each in essence.outputs if (key := chain_name(each))}
    unlocked = _Unlocked()
    tokens = _sum_tokens(consumed), _sum_tokens(essence.outputs)
    conflict = (
        _unlock_all(transaction, consumed, spent_ids, after, unix_time, unlocked)
        or _check_senders(essence.outputs, unlocked)
        or _check_amounts(consumed, essence.outputs, unlocked)
        or _check_tokens(*tokens, after)
    )
    if not conflict and not transitions_allowed(before, after, essence.outputs, *tokens, unlocked):
        return Conflict.CHAIN_TRANSITION
    return conflict


def carried_over(output: LedgerOutput) -> TransferOutput:
    """The output in Stardust form. A Chrysalis output becomes a basic output with the same address and amount."""
    if isinstance(output, chrysalis_values.SigLockedSingle | chrysalis_values.SigLockedDustAllowance):
        return BasicOutput(output.amount, (), (AddressCondition(output.address),), ())
    return output


def apply(
    milestone_index: int,
    unix_time: int,
    transactions: Iterable[tuple[bytes, Transaction]],
    resolve: Callable[[bytes], OutputFacts[LedgerOutput] | None],
) -> Iterator[Applied[LedgerOutput]]:
    """Applies a milestone's transactions (`inputs.apply_in_order`) with these reasons.

    `unix_time` is the milestone's timestamp in seconds. Callers apply receipts: migrated outputs follow the last
    transaction.
    """

    def judge(transaction: Transaction, inputs: Sequence[Resolved]) -> Conflict:
        return find_conflict(transaction, inputs, unix_time)

    return apply_in_order(milestone_index, transactions, resolve, encode_payload, judge)


def _unlock_all(
    transaction: Transaction,
    consumed: Sequence[TransferOutput],
    spent_ids: Sequence[bytes],
    after: Chains,
    unix_time: int,
    unlocked: _Unlocked,
) -> Conflict:
    signed = ids.signing_hash(encode_essence(transaction.essence))
    for index, (output, unlock) in enumerate(zip(consumed, transaction.unlocks, strict=True)):
        chain = chain_name(output, spent_ids[index])
        following = None if chain is None else after.get(chain)
        owner = owner_at(output, unix_time)
        change = None  # of an alias's state index
        if isinstance(output, AliasOutput):
            change = None if following is None else _state_index(following) - output.state_index
            if change not in (None, 0, 1):
                return Conflict.CHAIN_TRANSITION
            if change != 1:
                owner = controllers(output)[1]
        assert owner is not None
        conflict = _unlock_one(owner, unlock, index, signed, unlocked)
        if conflict:
            return conflict
        # From here an NFT unlocks what it owns, and so does an alias whose state changes. A foundry owns nothing.
        if chain is not None and (isinstance(output, NftOutput) or change == 1):
            unlocked.add(chain, index)
    return Conflict.NONE


def _unlock_one(owner: bytes, unlock: Unlock, index: int, signed: bytes, unlocked: _Unlocked) -> Conflict:
    if isinstance(unlock, SignatureUnlock):
        if owner[0] != ED25519 or owner in unlocked:
            return Conflict.INVALID_UNLOCK
        if ids.ed25519_address(unlock.public_key) != owner:
            return Conflict.INVALID_SIGNATURE
        if not ed25519.verify(unlock.public_key, signed, unlock.signature):
            return Conflict.INVALID_SIGNATURE
        unlocked.add(owner, index)
        return Conflict.NONE
    if isinstance(unlock, _REFERENCES[owner[0]]) and unlocked.refer(owner, unlock.index, index):
        return Conflict.NONE
    return Conflict.INVALID_UNLOCK


def _state_index(output: TransferOutput) -> int:
    assert isinstance(output, AliasOutput)
    return output.state_index


def _check_senders(outputs: Sequence[TransferOutput], unlocked: _Unlocked) -> Conflict:
    senders = [each.address for output in outputs for each in output.features if isinstance(each, Sender)]
    return Conflict.NONE if all(each in unlocked for each in senders) else Conflict.SENDER_NOT_UNLOCKED


def _check_amounts(
    consumed: Sequence[TransferOutput], created: Sequence[TransferOutput], unlocked: _Unlocked
) -> Conflict:
    if sum(each.amount for each in consumed) != sum(each.amount for each in created):
        return Conflict.SUMS_DIFFER
    owed: Counter[bytes] = Counter()
    for index, output in enumerate(consumed):
        for each in output.unlock_conditions:
            # The return address of an expired output owes no deposit.
            if isinstance(each, StorageDepositReturn) and not unlocked.did(each.return_address, index):
                owed[each.return_address] += each.amount
    if not owed:
        return Conflict.NONE
    paid: Counter[bytes] = Counter()
    for output in created:
        plain = len(output.unlock_conditions) == 1 and not output.features and not output.native_tokens
        owner = owner_at(output, 0)
        if isinstance(output, BasicOutput) and plain and owner is not None:
            paid[owner] += output.amount
    if all(paid[address] >= amount for address, amount in owed.items()):
        return Conflict.NONE
    return Conflict.DEPOSIT_NOT_RETURNED


def _sum_tokens(outputs: Sequence[TransferOutput]) -> Counter[bytes]:
    amounts: Counter[bytes] = Counter()
    for output in outputs:
        for token in output.native_tokens:
            amounts[token.token_id] += token.amount
    return amounts


def _check_tokens(spent: Counter[bytes], created: Counter[bytes], after: Chains) -> Conflict:
    if len(spent.keys() | created.keys()) > MAX_NATIVE_TOKENS:
        return Conflict.NATIVE_TOKENS
    if any(amount > _MAX_U256 for amounts in (spent, created) for amount in amounts.values()):
        return Conflict.NATIVE_TOKENS
    # Without its foundry a token may be burned but not minted.
    if any(amount > spent[token_id] for token_id, amount in created.items() if token_id not in after):
        return Conflict.NATIVE_TOKENS
    return Conflict.NONE
