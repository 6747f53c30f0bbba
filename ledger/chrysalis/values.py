"""Chrysalis (protocol 1) objects as frozen values.

Fields have the wire's content and order. Ids, keys and addresses are `bytes` (an address is the 33 serialized bytes,
type first); amounts and times are `int`. KIND is the object's tag on the wire. Sources: TIP-6 message and indexation,
TIP-7 transaction, TIP-8 milestone, TIP-15 dust allowance, TIP-17 receipt and treasury.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias


@dataclass(frozen=True, slots=True)
class UtxoInput:
    """Spends an output of a transaction."""

    KIND: ClassVar[int] = 0
    transaction_id: bytes
    index: int


@dataclass(frozen=True, slots=True)
class TreasuryInput:
    """Spends the treasury output of the milestone with this id."""

    KIND: ClassVar[int] = 1
    milestone_id: bytes


@dataclass(frozen=True, slots=True)
class SigLockedSingle:
    """An amount for an address."""

    KIND: ClassVar[int] = 0
    address: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class SigLockedDustAllowance:
    """An amount for an address that permits it to receive dust."""

    KIND: ClassVar[int] = 1
    address: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class TreasuryOutput:
    """The funds left for migration."""

    KIND: ClassVar[int] = 2
    amount: int


@dataclass(frozen=True, slots=True)
class SignatureUnlock:
    """An Ed25519 key with its signature of the essence."""

    KIND: ClassVar[int] = 0
    public_key: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class ReferenceUnlock:
    """Refers to the signature of the unlock block at `index`."""

    KIND: ClassVar[int] = 1
    index: int


@dataclass(frozen=True, slots=True)
class Indexation:
    """Data under an index of 1 to 64 bytes."""

    KIND: ClassVar[int] = 2
    index: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class Essence:
    """The inputs, outputs and payload of a transaction, which its signatures sign."""

    inputs: tuple[UtxoInput, ...]
    outputs: "tuple[TransferOutput, ...]"
    payload: Indexation | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """An essence, and one unlock block per input."""

    KIND: ClassVar[int] = 0
    essence: Essence
    unlock_blocks: "tuple[Unlock, ...]"


@dataclass(frozen=True, slots=True)
class TreasuryTransaction:
    """The treasury before and after a receipt."""

    KIND: ClassVar[int] = 4
    input: TreasuryInput
    output: TreasuryOutput


@dataclass(frozen=True, slots=True)
class MigratedFunds:
    """One migrated bundle: tail hash of 49 bytes (t5b1), address and deposit."""

    tail_transaction_hash: bytes
    address: bytes
    deposit: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The funds that a milestone migrates from the legacy network's milestone `migrated_at`."""

    KIND: ClassVar[int] = 3
    migrated_at: int
    final: bool
    funds: tuple[MigratedFunds, ...]
    transaction: TreasuryTransaction


@dataclass(frozen=True, slots=True)
class Milestone:
    """A coordinator's milestone, with one signature per public key, in the same order."""

    KIND: ClassVar[int] = 1
    index: int
    timestamp: int  # unix seconds
    parents: tuple[bytes, ...]
    inclusion_merkle_proof: bytes
    next_pow_score: int
    next_pow_score_milestone_index: int
    public_keys: tuple[bytes, ...]
    receipt: Receipt | None
    signatures: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A vertex of the tangle."""

    network_id: int
    parents: tuple[bytes, ...]
    payload: "MessagePayload | None"
    nonce: int


TransferOutput: TypeAlias = SigLockedSingle | SigLockedDustAllowance
Output: TypeAlias = TransferOutput | TreasuryOutput
Input: TypeAlias = UtxoInput | TreasuryInput
Unlock: TypeAlias = SignatureUnlock | ReferenceUnlock
MessagePayload: TypeAlias = Transaction | Milestone | Indexation
Payload: TypeAlias = MessagePayload | Receipt | TreasuryTransaction
