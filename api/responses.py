"""Response models: what openapi.yaml promises of every answer. Bodies are built elsewhere and tested against these.

Rules of this file: names and order of the fields are the node's (Chrysalis REST v1: TIP-13, Hornet 1.x); a field that a
node leaves out is optional here; ids are hex without 0x, networkId and nonce decimal strings, amounts numbers.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Hex32: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Hex34: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{68}$")]
Hex49: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{98}$")]
Hex64: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
Hex: TypeAlias = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
U64Text: TypeAlias = Annotated[str, Field(pattern="^[0-9]{1,20}$")]
Amount: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
U32: TypeAlias = Annotated[int, Field(ge=0, lt=2**32)]

MESSAGE_ID = "876fe83f9689add01ef834e258658e137b7082ea19ffe84ccef95f5ba0679ddb"
PARENT_ID = "12e9b9675bdc22046f939661e293960ba8b291f3314d92104d0a33764778a0a8"
TRANSACTION_ID = "09e65d589aa1616deab709b6b5f6314be7176b591a9723ffe1e57fe37bb2292f"
ADDRESS = "f90c0d94fa949f37a6fc5b7e95fb7be90f957bc6b2bed042fa360e31b9dc6455"


def omitted() -> Any:
    """A field that may be absent, and is never null."""
    return Field(default_factory=lambda: None)


def example(**data: Any) -> ConfigDict:
    """Model settings that carry one example of the whole body."""
    return ConfigDict(json_schema_extra={"examples": [{"data": data}]})


class Ed25519Address(BaseModel):
    """Address type 0: BLAKE2b-256 of the public key."""

    type: Literal[0]
    address: Hex32


class UtxoInput(BaseModel):
    """Input type 0: an output by its transaction and index."""

    type: Literal[0]
    transactionId: Hex32
    transactionOutputIndex: Annotated[int, Field(ge=0, le=126)]


class TreasuryInput(BaseModel):
    """Input type 1: the treasury as a milestone left it."""

    type: Literal[1]
    milestoneId: Hex32


class SigLockedOutput(BaseModel):
    """Output type 0 SigLockedSingle, 1 SigLockedDustAllowance."""

    type: Literal[0, 1]
    address: Ed25519Address
    amount: Amount


class TreasuryOutput(BaseModel):
    """Output type 2: what is left in the treasury."""

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
    """Unlock block type 1: the same as an earlier one."""

    type: Literal[1]
    reference: Annotated[int, Field(ge=0, le=126)]


class IndexationPayload(BaseModel):
    """Payload type 2: data under an index."""

    type: Literal[2]
    index: Hex
    data: Hex


class TransactionEssence(BaseModel):
    """What the signatures of a transaction sign."""

    type: Literal[0]
    inputs: list[UtxoInput]
    outputs: list[SigLockedOutput]
    payload: IndexationPayload | None


class TransactionPayload(BaseModel):
    """Payload type 0."""

    type: Literal[0]
    essence: TransactionEssence
    unlockBlocks: list[Annotated[SignatureUnlockBlock | ReferenceUnlockBlock, Field(discriminator="type")]]


class MigratedFunds(BaseModel):
    """Funds that left the legacy ledger."""

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


Payload: TypeAlias = Annotated[
    TransactionPayload | MilestonePayload | IndexationPayload,
    Field(discriminator="type"),
]


class Message(BaseModel):
    """A message."""

    networkId: U64Text
    parentMessageIds: list[Hex32]
    payload: Payload | None
    nonce: U64Text


class MessageResponse(BaseModel):
    """A message."""

    model_config = example(
        networkId="14532475195074621904",
        parentMessageIds=[PARENT_ID],
        payload={"type": 2, "index": "484f524e4554205370616d6d6572", "data": "5370616d"},
        nonce="432",
    )
    data: Message


class MessageMetadata(BaseModel):
    """What the ledger made of a message; a pending one has neither milestone nor inclusion state."""

    messageId: Hex32
    parentMessageIds: list[Hex32]
    isSolid: bool
    referencedByMilestoneIndex: U32 = omitted()
    milestoneIndex: U32 = omitted()
    ledgerInclusionState: Literal["noTransaction", "included", "conflicting"] = omitted()
    conflictReason: int = omitted()
    shouldPromote: bool = omitted()
    shouldReattach: bool = omitted()


class MessageMetadataResponse(BaseModel):
    """Metadata of a message."""

    model_config = example(
        messageId=MESSAGE_ID,
        parentMessageIds=[PARENT_ID],
        isSolid=True,
        referencedByMilestoneIndex=5,
        ledgerInclusionState="conflicting",
        conflictReason=1,
    )
    data: MessageMetadata


class Page(BaseModel):
    """What every listing says of itself; `state` is null on the last page."""

    maxResults: int
    count: int
    state: str | None


class MessageChildren(Page):
    """Messages that approve a message."""

    messageId: Hex32
    childrenMessageIds: list[Hex32]


class MessageChildrenResponse(BaseModel):
    """A page of children."""

    model_config = example(messageId=PARENT_ID, maxResults=1000, count=1, childrenMessageIds=[MESSAGE_ID], state=None)
    data: MessageChildren


class MessagesByIndex(Page):
    """Messages under an index."""

    index: Hex
    messageIds: list[Hex32]


class MessagesByIndexResponse(BaseModel):
    """A page of messages under an index."""

    model_config = example(
        index="484f524e4554205370616d6d6572", maxResults=1000, count=1, messageIds=[MESSAGE_ID], state=None
    )
    data: MessagesByIndex


class Output(BaseModel):
    """An output and what became of it."""

    messageId: Hex32
    transactionId: Hex32
    outputIndex: Annotated[int, Field(ge=0, le=126)]
    isSpent: bool
    milestoneIndexSpent: U32 = omitted()
    transactionIdSpent: Hex32 = omitted()
    output: SigLockedOutput
    ledgerIndex: U32


class OutputResponse(BaseModel):
    """An output."""

    model_config = example(
        messageId=MESSAGE_ID,
        transactionId=TRANSACTION_ID,
        outputIndex=0,
        isSpent=False,
        output={"type": 0, "address": {"type": 0, "address": ADDRESS}, "amount": 5237107385175},
        ledgerIndex=50,
    )
    data: Output


class AddressOutputs(Page):
    """Outputs of an address."""

    addressType: Literal[0]
    address: Hex32
    outputIds: list[Hex34]
    ledgerIndex: U32


class AddressOutputsResponse(BaseModel):
    """A page of an address's outputs."""

    model_config = example(
        addressType=0,
        address=ADDRESS,
        maxResults=1000,
        count=1,
        outputIds=[TRANSACTION_ID + "0000"],
        ledgerIndex=50,
        state=None,
    )
    data: AddressOutputs


class Milestone(BaseModel):
    """A milestone."""

    index: U32
    messageId: Hex32
    timestamp: int


class MilestoneResponse(BaseModel):
    """A milestone."""

    model_config = example(index=1, messageId=MESSAGE_ID, timestamp=1640995210)
    data: Milestone


class MilestoneMessages(Page):
    """The messages a milestone references, in white-flag order."""

    index: U32
    messageIds: list[Hex32]


class MilestoneMessagesResponse(BaseModel):
    """A page of a milestone's messages."""

    model_config = example(index=1, maxResults=1000, count=1, messageIds=[MESSAGE_ID], state=None)
    data: MilestoneMessages


class Info(BaseModel):
    """The 14 fields that old clients refuse to start without."""

    name: str
    version: str
    isHealthy: bool
    networkId: str
    bech32HRP: str
    minPoWScore: float
    messagesPerSecond: float
    referencedMessagesPerSecond: float
    referencedRate: float
    latestMilestoneTimestamp: int
    latestMilestoneIndex: U32
    confirmedMilestoneIndex: U32
    pruningIndex: U32
    features: list[str]


class InfoResponse(BaseModel):
    """What a node says of itself."""

    model_config = example(
        name="Permanode",
        version="0.1.0",
        isHealthy=True,
        networkId="chrysalis-mainnet",
        bech32HRP="iota",
        minPoWScore=4000,
        messagesPerSecond=0,
        referencedMessagesPerSecond=0,
        referencedRate=0,
        latestMilestoneTimestamp=1640995700,
        latestMilestoneIndex=50,
        confirmedMilestoneIndex=50,
        pruningIndex=0,
        features=[],
    )
    data: Info


class HealthResponse(BaseModel):
    """Every network's store answers."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"isHealthy": True, "networks": ["mainnet"]}]})
    isHealthy: Literal[True]
    networks: list[str]


class ErrorDetail(BaseModel):
    """`code` is the status as text; `message` names the parameter and what was expected of it."""

    code: str
    message: str


class ErrorResponse(BaseModel):
    """The body of every error."""

    error: ErrorDetail


def error(status: int, meaning: str, message: str) -> dict[str, Any]:
    """An OpenAPI response object for an error, with an example."""
    content = {"application/json": {"example": {"error": {"code": str(status), "message": message}}}}
    return {"model": ErrorResponse, "description": meaning, "content": content}


ERRORS: dict[int, dict[str, Any]] = {
    400: error(400, "A parameter is wrong", "parameter messageId: expected 64 hex characters, found 'abc'"),
    404: error(404, "Not in this archive", f"message {MESSAGE_ID} is not in this archive"),
    500: error(500, "A fault of ours", "internal server error"),
    503: error(503, "The store does not answer", "the store does not answer, try again later"),
}
