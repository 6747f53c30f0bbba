"""The response fields of a Chrysalis message and its payloads, as node REST v1 writes them.

ledger/chrysalis/json.py renders them. The constant in `type` distinguishes the kinds. There is no OpenAPI
`discriminator`: it supports only text, and client generators would treat the numbers as text.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

Hex32: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Hex34: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{68}$")]
Hex49: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{98}$")]
Hex64: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
Hex: TypeAlias = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
U64Text: TypeAlias = Annotated[str, Field(pattern="^[0-9]{1,20}$")]
Amount: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
U32: TypeAlias = Annotated[int, Field(ge=0, lt=2**32)]
AddressType: TypeAlias = Literal[0, 8, 16]
"""The first byte of a serialized address: Ed25519, of Stardust also alias and NFT."""


class Ed25519Address(BaseModel):
    """Address type 0: BLAKE2b-256 of the public key."""

    type: Literal[0]
    address: Hex32


class UtxoInput(BaseModel):
    """Input type 0: an output, given by its transaction and index."""

    type: Literal[0]
    transactionId: Hex32
    transactionOutputIndex: Annotated[int, Field(ge=0, le=126)]


class TreasuryInput(BaseModel):
    """Input type 1: the treasury after a milestone."""

    type: Literal[1]
    milestoneId: Hex32


class SigLockedOutput(BaseModel):
    """Output type 0 SigLockedSingle, 1 SigLockedDustAllowance."""

    type: Literal[0, 1]
    address: Ed25519Address
    amount: Amount


class TreasuryOutput(BaseModel):
    """Output type 2: the funds left in the treasury."""

    type: Literal[2]
    amount: Amount


class Ed25519Signature(BaseModel):
    """Signature type 0."""

    type: Literal[0]
    publicKey: Hex32
    signature: Hex64


class SignatureUnlockBlock(BaseModel):
    """Unlock block type 0: a signature."""

    type: Literal[0]
    signature: Ed25519Signature


class ReferenceUnlockBlock(BaseModel):
    """Unlock block type 1: a reference to an earlier signature."""

    type: Literal[1]
    reference: Annotated[int, Field(ge=0, le=126)]


class IndexationPayload(BaseModel):
    """Payload type 2: data under an index."""

    type: Literal[2]
    index: Hex
    data: Hex


class TransactionEssence(BaseModel):
    """The part of a transaction that its signatures sign."""

    type: Literal[0]
    inputs: list[UtxoInput]
    outputs: list[SigLockedOutput]
    payload: IndexationPayload | None


class TransactionPayload(BaseModel):
    """Payload type 0."""

    type: Literal[0]
    essence: TransactionEssence
    unlockBlocks: list[SignatureUnlockBlock | ReferenceUnlockBlock]


class MigratedFunds(BaseModel):
    """Funds that left the legacy network."""

    tailTransactionHash: Hex49
    address: Ed25519Address
    deposit: Amount


class TreasuryTransactionPayload(BaseModel):
    """Payload type 4, inside a receipt."""

    type: Literal[4]
    input: TreasuryInput
    output: TreasuryOutput


class ReceiptPayload(BaseModel):
    """Payload type 3, inside a milestone."""

    type: Literal[3]
    migratedAt: U32
    funds: list[MigratedFunds]
    transaction: TreasuryTransactionPayload
    final: bool


class MilestonePayload(BaseModel):
    """Payload type 1."""

    type: Literal[1]
    index: U32
    timestamp: int
    parentMessageIds: list[Hex32]
    inclusionMerkleProof: Hex32
    nextPoWScore: U32
    nextPoWScoreMilestoneIndex: U32
    publicKeys: list[Hex32]
    receipt: ReceiptPayload | None
    signatures: list[Hex64]


Payload: TypeAlias = TransactionPayload | MilestonePayload | IndexationPayload


class Message(BaseModel):
    """A message."""

    networkId: U64Text
    parentMessageIds: list[Hex32]
    payload: Payload | None
    nonce: U64Text
