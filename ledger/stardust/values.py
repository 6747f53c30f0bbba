"""Stardust (protocol 2) objects as frozen values.

Fields have the wire's content and order. Inputs, signatures and treasury are the Chrysalis values. Sources: TIP-18
outputs, TIP-20 transaction, TIP-23 tagged data, TIP-24 block, TIP-29 milestone, TIP-34 receipt, TIP-35 protocol
parameters option.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ledger.chrysalis.values import (
    MigratedFunds,
    ReferenceUnlock,
    SignatureUnlock,
    TreasuryInput,
    TreasuryOutput,
    TreasuryTransaction,
    UtxoInput,
)


@dataclass(frozen=True, slots=True)
class NativeToken:
    """An amount of a native token. The token's id (38 bytes) is its foundry's id."""

    token_id: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class SimpleTokenScheme:
    """How many tokens a foundry has minted and melted, and the most it may mint."""

    KIND: ClassVar[int] = 0
    minted: int
    melted: int
    maximum: int


@dataclass(frozen=True, slots=True)
class AddressCondition:
    """The owner of the output."""

    KIND: ClassVar[int] = 0
    address: bytes


@dataclass(frozen=True, slots=True)
class StorageDepositReturn:
    """The amount that the spender must return, and to which address."""

    KIND: ClassVar[int] = 1
    return_address: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class Timelock:
    """Nobody can spend the output before this time, in unix seconds."""

    KIND: ClassVar[int] = 2
    unix_time: int


@dataclass(frozen=True, slots=True)
class Expiration:
    """From this time, in unix seconds, the output belongs to the return address."""

    KIND: ClassVar[int] = 3
    return_address: bytes
    unix_time: int


@dataclass(frozen=True, slots=True)
class StateController:
    """The address that may change the state of an alias."""

    KIND: ClassVar[int] = 4
    address: bytes


@dataclass(frozen=True, slots=True)
class Governor:
    """The address that may change the controllers of an alias or end it."""

    KIND: ClassVar[int] = 5
    address: bytes


@dataclass(frozen=True, slots=True)
class ImmutableAlias:
    """The alias that a foundry belongs to, for as long as it exists."""

    KIND: ClassVar[int] = 6
    address: bytes


@dataclass(frozen=True, slots=True)
class Sender:
    """The creator of the output, proved by one of the transaction's inputs."""

    KIND: ClassVar[int] = 0
    address: bytes


@dataclass(frozen=True, slots=True)
class Issuer:
    """The creator of the alias or NFT."""

    KIND: ClassVar[int] = 1
    address: bytes


@dataclass(frozen=True, slots=True)
class Metadata:
    """Arbitrary data."""

    KIND: ClassVar[int] = 2
    data: bytes


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag under which indexers find the output."""

    KIND: ClassVar[int] = 3
    tag: bytes


@dataclass(frozen=True, slots=True)
class BasicOutput:
    """An amount, with native tokens, for an address."""

    KIND: ClassVar[int] = 3
    amount: int
    native_tokens: tuple[NativeToken, ...]
    unlock_conditions: "tuple[UnlockCondition, ...]"
    features: "tuple[Feature, ...]"


@dataclass(frozen=True, slots=True)
class AliasOutput:
    """One state of an alias. `alias_id` is zero in the first."""

    KIND: ClassVar[int] = 4
    amount: int
    native_tokens: tuple[NativeToken, ...]
    alias_id: bytes
    state_index: int
    state_metadata: bytes
    foundry_counter: int
    unlock_conditions: "tuple[UnlockCondition, ...]"
    features: "tuple[Feature, ...]"
    immutable_features: "tuple[Feature, ...]"


@dataclass(frozen=True, slots=True)
class FoundryOutput:
    """One state of a foundry, which mints and melts the native token of its id."""

    KIND: ClassVar[int] = 5
    amount: int
    native_tokens: tuple[NativeToken, ...]
    serial_number: int
    token_scheme: SimpleTokenScheme
    unlock_conditions: "tuple[UnlockCondition, ...]"
    features: "tuple[Feature, ...]"
    immutable_features: "tuple[Feature, ...]"


@dataclass(frozen=True, slots=True)
class NftOutput:
    """One state of an NFT. `nft_id` is zero in the first."""

    KIND: ClassVar[int] = 6
    amount: int
    native_tokens: tuple[NativeToken, ...]
    nft_id: bytes
    unlock_conditions: "tuple[UnlockCondition, ...]"
    features: "tuple[Feature, ...]"
    immutable_features: "tuple[Feature, ...]"


@dataclass(frozen=True, slots=True)
class AliasUnlock:
    """Unlocked by the alias that the unlock at `index` unlocked."""

    KIND: ClassVar[int] = 2
    index: int


@dataclass(frozen=True, slots=True)
class NftUnlock:
    """Unlocked by the NFT that the unlock at `index` unlocked."""

    KIND: ClassVar[int] = 3
    index: int


@dataclass(frozen=True, slots=True)
class TaggedData:
    """Data under a tag of up to 64 bytes."""

    KIND: ClassVar[int] = 5
    tag: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class Essence:
    """The inputs, outputs and payload of a transaction, which its signatures sign."""

    network_id: int
    inputs: tuple[UtxoInput, ...]
    inputs_commitment: bytes
    outputs: "tuple[TransferOutput, ...]"
    payload: TaggedData | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """An essence, and one unlock per input."""

    KIND: ClassVar[int] = 6
    essence: Essence
    unlocks: "tuple[Unlock, ...]"


@dataclass(frozen=True, slots=True)
class ReceiptOption:
    """The funds that a milestone migrates from the legacy network's milestone `migrated_at`."""

    KIND: ClassVar[int] = 0
    migrated_at: int
    final: bool
    funds: tuple[MigratedFunds, ...]
    transaction: TreasuryTransaction


@dataclass(frozen=True, slots=True)
class ParametersOption:
    """Encoded protocol parameters (`protocol_parameters`) that apply from a later milestone."""

    KIND: ClassVar[int] = 1
    target_milestone_index: int
    protocol_version: int
    params: bytes


@dataclass(frozen=True, slots=True)
class MilestoneSignature:
    """One coordinator key's signature of a milestone's essence."""

    KIND: ClassVar[int] = 0
    public_key: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Milestone:
    """A coordinator's milestone."""

    KIND: ClassVar[int] = 7
    index: int
    timestamp: int  # unix seconds
    protocol_version: int
    previous_milestone_id: bytes
    parents: tuple[bytes, ...]
    inclusion_merkle_root: bytes
    applied_merkle_root: bytes
    metadata: bytes
    options: "tuple[MilestoneOption, ...]"
    signatures: tuple[MilestoneSignature, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A vertex of the tangle."""

    protocol_version: int
    parents: tuple[bytes, ...]
    payload: "BlockPayload | None"
    nonce: int


UnlockCondition: TypeAlias = (
    AddressCondition | StorageDepositReturn | Timelock | Expiration | StateController | Governor | ImmutableAlias
)
Feature: TypeAlias = Sender | Issuer | Metadata | Tag
TransferOutput: TypeAlias = BasicOutput | AliasOutput | FoundryOutput | NftOutput
Output: TypeAlias = TransferOutput | TreasuryOutput
Input: TypeAlias = UtxoInput | TreasuryInput
Unlock: TypeAlias = SignatureUnlock | ReferenceUnlock | AliasUnlock | NftUnlock
MilestoneOption: TypeAlias = ReceiptOption | ParametersOption
BlockPayload: TypeAlias = TaggedData | Transaction | Milestone
Payload: TypeAlias = BlockPayload | TreasuryTransaction
