"""The response fields of a Stardust block and its payloads, as the core API v2 writes them.

ledger/stardust/json.py renders them. A field that a node leaves out when it is empty may be absent. A model that
Chrysalis also has ends in V2.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from api.fields.chrysalis_payloads import U32, U64Text
from api.fields.examples import BLOCK_ID
from api.http.responses import omitted, whole_example

HexId: TypeAlias = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$")]
HexOutputId: TypeAlias = Annotated[str, Field(pattern="^0x[0-9a-f]{68}$")]
HexTokenId: TypeAlias = Annotated[str, Field(pattern="^0x[0-9a-f]{76}$")]
HexTail: TypeAlias = Annotated[str, Field(pattern="^0x[0-9a-f]{98}$")]
HexSignature: TypeAlias = Annotated[str, Field(pattern="^0x[0-9a-f]{128}$")]
HexBytes: TypeAlias = Annotated[str, Field(pattern="^0x([0-9a-f]{2})+$")]
HexU256: TypeAlias = Annotated[str, Field(pattern="^0x(0|[1-9a-f][0-9a-f]{0,63})$")]
Bech32: TypeAlias = Annotated[str, Field(pattern="^[a-z]{1,30}1[02-9ac-hj-np-z]{59}$")]
U8: TypeAlias = Annotated[int, Field(ge=0, lt=2**8)]
OutputIndexV2: TypeAlias = Annotated[int, Field(ge=0, le=127)]


class Ed25519AddressV2(BaseModel):
    """Address type 0: BLAKE2b-256 of the public key."""

    type: Literal[0]
    pubKeyHash: HexId


class AliasAddress(BaseModel):
    """Address type 8: an alias."""

    type: Literal[8]
    aliasId: HexId


class NftAddress(BaseModel):
    """Address type 16: an NFT."""

    type: Literal[16]
    nftId: HexId


AddressV2: TypeAlias = Ed25519AddressV2 | AliasAddress | NftAddress


class NativeToken(BaseModel):
    """An amount of a native token. Its id is the id of its foundry."""

    id: HexTokenId
    amount: HexU256


class AddressUnlockCondition(BaseModel):
    """Type 0: the owner. In an alias output, 4 is the state controller and 5 the governor; in a foundry output, 6 is
    the alias.
    """

    type: Literal[0, 4, 5, 6]
    address: AddressV2


class StorageDepositReturnUnlockCondition(BaseModel):
    """Type 1: the amount that the spender must return."""

    type: Literal[1]
    returnAddress: AddressV2
    amount: U64Text


class TimelockUnlockCondition(BaseModel):
    """Type 2: the output cannot be spent before this time."""

    type: Literal[2]
    unixTime: U32


class ExpirationUnlockCondition(BaseModel):
    """Type 3: from this time on, the output belongs to the return address."""

    type: Literal[3]
    returnAddress: AddressV2
    unixTime: U32


UnlockCondition: TypeAlias = (
    AddressUnlockCondition | StorageDepositReturnUnlockCondition | TimelockUnlockCondition | ExpirationUnlockCondition
)


class AddressFeature(BaseModel):
    """Feature type 0: the sender; 1: the issuer."""

    type: Literal[0, 1]
    address: AddressV2


class MetadataFeature(BaseModel):
    """Feature type 2: any data."""

    type: Literal[2]
    data: HexBytes


class TagFeature(BaseModel):
    """Feature type 3: a tag for indexers."""

    type: Literal[3]
    tag: HexBytes


Feature: TypeAlias = AddressFeature | MetadataFeature | TagFeature


class BasicOutput(BaseModel):
    """Output type 3: an amount and native tokens for an address."""

    type: Literal[3]
    amount: U64Text
    nativeTokens: list[NativeToken] = omitted()
    unlockConditions: list[UnlockCondition]
    features: list[Feature] = omitted()


class AliasOutput(BaseModel):
    """Output type 4: a state of an alias. In the first state, its id is zero."""

    type: Literal[4]
    amount: U64Text
    nativeTokens: list[NativeToken] = omitted()
    aliasId: HexId
    stateIndex: U32
    stateMetadata: HexBytes = omitted()
    foundryCounter: U32
    unlockConditions: list[UnlockCondition]
    features: list[Feature] = omitted()
    immutableFeatures: list[Feature] = omitted()


class TokenScheme(BaseModel):
    """Token scheme type 0: the number of tokens minted, melted, and their maximum."""

    type: Literal[0]
    mintedTokens: HexU256
    meltedTokens: HexU256
    maximumSupply: HexU256


class FoundryOutput(BaseModel):
    """Output type 5: a state of a foundry."""

    type: Literal[5]
    amount: U64Text
    nativeTokens: list[NativeToken] = omitted()
    serialNumber: U32
    tokenScheme: TokenScheme
    unlockConditions: list[UnlockCondition]
    features: list[Feature] = omitted()
    immutableFeatures: list[Feature] = omitted()


class NftOutput(BaseModel):
    """Output type 6: a state of an NFT. In the first state, its id is zero."""

    type: Literal[6]
    amount: U64Text
    nativeTokens: list[NativeToken] = omitted()
    nftId: HexId
    unlockConditions: list[UnlockCondition]
    features: list[Feature] = omitted()
    immutableFeatures: list[Feature] = omitted()


StardustOutput: TypeAlias = BasicOutput | AliasOutput | FoundryOutput | NftOutput


class UtxoInputV2(BaseModel):
    """Input type 0: an output, given by its transaction and index."""

    type: Literal[0]
    transactionId: HexId
    transactionOutputIndex: OutputIndexV2


class TreasuryInputV2(BaseModel):
    """Input type 1: the treasury after a milestone."""

    type: Literal[1]
    milestoneId: HexId


class TreasuryOutputV2(BaseModel):
    """Output type 2: the funds left in the treasury."""

    type: Literal[2]
    amount: U64Text


class Ed25519SignatureV2(BaseModel):
    """Signature type 0."""

    type: Literal[0]
    publicKey: HexId
    signature: HexSignature


class SignatureUnlock(BaseModel):
    """Unlock type 0: a signature."""

    type: Literal[0]
    signature: Ed25519SignatureV2


class ReferenceUnlock(BaseModel):
    """Unlock type 1: a reference to an earlier signature; 2 and 3: to the unlock of an alias or NFT."""

    type: Literal[1, 2, 3]
    reference: OutputIndexV2


class TaggedDataPayload(BaseModel):
    """Payload type 5: data under a tag."""

    type: Literal[5]
    tag: HexBytes = omitted()
    data: HexBytes = omitted()


class TransactionEssenceV2(BaseModel):
    """The part of a transaction that its signatures sign."""

    type: Literal[1]
    networkId: U64Text
    inputs: list[UtxoInputV2]
    inputsCommitment: HexId
    outputs: list[StardustOutput]
    payload: TaggedDataPayload = omitted()


class TransactionPayloadV2(BaseModel):
    """Payload type 6."""

    type: Literal[6]
    essence: TransactionEssenceV2
    unlocks: list[SignatureUnlock | ReferenceUnlock]


class MigratedFundsV2(BaseModel):
    """Funds that left the legacy network."""

    tailTransactionHash: HexTail
    address: Ed25519AddressV2
    deposit: U64Text


class TreasuryTransactionPayloadV2(BaseModel):
    """Payload type 4, inside a receipt."""

    type: Literal[4]
    input: TreasuryInputV2
    output: TreasuryOutputV2


class ReceiptOption(BaseModel):
    """Milestone option type 0: migrated funds."""

    type: Literal[0]
    migratedAt: U32
    funds: list[MigratedFundsV2]
    transaction: TreasuryTransactionPayloadV2
    final: bool


class ParametersOption(BaseModel):
    """Milestone option type 1: serialized protocol parameters that apply from a later milestone on."""

    type: Literal[1]
    targetMilestoneIndex: U32
    protocolVersion: U8
    params: str


class RentStructure(BaseModel):
    """The cost of a byte of an output."""

    vByteCost: U32
    vByteFactorData: U8
    vByteFactorKey: U8


class MilestonePayloadV2(BaseModel):
    """Payload type 7."""

    model_config = whole_example(
        type=7,
        index=1,
        timestamp=1664553610,
        protocolVersion=2,
        previousMilestoneId="0x" + "00" * 32,
        parents=["0x10f09a664458b003b6af91a9f441eb887820f75f6f237fda0d5672d102fb480d"],
        inclusionMerkleRoot="0x7b839f1194041e0f2b237a199b79edeeea0cf56b7a6229ec2ac5300582ad9849",
        appliedMerkleRoot="0xd820d31bc743d25658c9f9e00d6056766737c29aa65002d542c30d40a6b8d67f",
        signatures=[
            {
                "type": 0,
                "publicKey": "0xd53d6c3d9498944ce40ddee81065e86f1e74d48365714bf02b4e96f01e1315e9",
                "signature": "0x8205963e8495e45011aad2d73f74f8ca0fc45acc4ac63a9214ed62e43774733e"
                "1459118e7ac5be842e3c61fb0ea9812cf847fde11a9a860975c93fe4a40b0600",
            }
        ],
    )
    type: Literal[7]
    index: U32
    timestamp: U32
    protocolVersion: U8
    previousMilestoneId: HexId
    parents: list[HexId]
    inclusionMerkleRoot: HexId
    appliedMerkleRoot: HexId
    metadata: HexBytes = omitted()
    options: list[ReceiptOption | ParametersOption] = omitted()
    signatures: list[Ed25519SignatureV2]


class Block(BaseModel):
    """A block."""

    model_config = whole_example(
        protocolVersion=2,
        parents=[BLOCK_ID],
        payload={"type": 5, "tag": "0x484f524e4554205370616d6d6572", "data": "0x5370616d"},
        nonce="62",
    )
    protocolVersion: U8
    parents: list[HexId]
    payload: TransactionPayloadV2 | MilestonePayloadV2 | TaggedDataPayload = omitted()
    nonce: U64Text
