"""Chrysalis (protocol 1) objects as frozen values.

Rules of this file: a field is what the wire carries, in wire order. Ids, keys and addresses are `bytes` (an address
is the 33 serialized ones, type first), amounts and times `int`. KIND is the tag that the object carries on the wire.
Sources: TIP-6 message and indexation, TIP-7 transaction, TIP-8 milestone, TIP-15 dust allowance, TIP-17 receipt and
treasury.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias


@dataclass(frozen=True, slots=True)
class UtxoInput:
    """The spending of an output of a transaction."""

    KIND: ClassVar[int] = 0
    transaction_id: bytes
    index: int


@dataclass(frozen=True, slots=True)
class TreasuryInput:
    """The spending of the treasury as that milestone left it."""

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
    """An amount for an address that lets it receive dust."""

    KIND: ClassVar[int] = 1
    address: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class TreasuryOutput:
    """What is left for migration."""

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
    """The same signature as the unlock block at `index`."""

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
    """What a transaction moves; its signatures sign this."""

    inputs: tuple[UtxoInput, ...]
    outputs: "tuple[TransferOutput, ...]"
    payload: Indexation | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """An essence, and one unlock block for each of its inputs."""

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
    """One migrated bundle: 49 bytes of tail hash (t5b1), and who gets how much."""

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
    """A coordinator's milestone; one signature for each public key, in their order."""

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
