"""Responses of node REST v1 (Chrysalis: TIP-13, Hornet 1.x).

Field names are the node's. A field that a node may leave out may be absent and is never null. Ids are hex without 0x,
networkId and nonce are decimal strings, amounts are numbers.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.fields.chrysalis_payloads import U32, AddressType, Hex, Hex32, Hex34, Message, SigLockedOutput
from api.fields.examples import ADDRESS, MESSAGE_ID, PARENT_ID, TRANSACTION_ID
from api.fields.inclusion_state import InclusionState
from api.fields.listing_proof_responses import PageOfProvedLists, ProvedPage
from api.fields.stardust_payloads import StardustOutput
from api.http.responses import Page, example, omitted
from api.version import VERSION


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
    """Metadata of a message. A pending message has neither milestone nor inclusion state."""

    messageId: Hex32
    parentMessageIds: list[Hex32]
    isSolid: bool
    referencedByMilestoneIndex: U32 = omitted()
    milestoneIndex: U32 = omitted()
    ledgerInclusionState: InclusionState = omitted()
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


class Record(BaseModel):
    """Replaces an id if `expanded` is set. A pending message has neither inclusion state nor milestone."""

    id: Hex
    inclusionState: Literal["noTransaction", "included", "conflicting"] | None
    milestoneIndex: U32 | None


class MessageChildren(Page, ProvedPage):
    """Messages that approve a message."""

    messageId: Hex32
    childrenMessageIds: list[Hex32 | Record]


class MessageChildrenResponse(BaseModel):
    """A page of children."""

    model_config = example(messageId=PARENT_ID, maxResults=1000, count=1, childrenMessageIds=[MESSAGE_ID], state=None)
    data: MessageChildren


class MessagesByIndex(Page, ProvedPage):
    """Messages under an index."""

    index: Hex
    messageIds: list[Hex32 | Record]


class MessagesByIndexResponse(BaseModel):
    """A page of messages under an index."""

    model_config = example(
        index="484f524e4554205370616d6d6572", maxResults=1000, count=1, messageIds=[MESSAGE_ID], state=None
    )
    data: MessagesByIndex


class Output(BaseModel):
    """An output, and its spending."""

    messageId: Hex32
    transactionId: Hex32
    outputIndex: Annotated[int, Field(ge=0, le=126)]
    isSpent: bool
    milestoneIndexSpent: U32 = omitted()
    transactionIdSpent: Hex32 = omitted()
    output: SigLockedOutput | StardustOutput
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


class AddressOutputs(Page, PageOfProvedLists):
    """Outputs of an address."""

    addressType: AddressType
    address: Hex32
    outputIds: list[Hex34 | Record]
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
    """The messages that a milestone references, in white-flag order."""

    index: U32
    messageIds: list[Hex32 | Record]


class MilestoneMessagesResponse(BaseModel):
    """A page of a milestone's messages."""

    model_config = example(index=1, maxResults=1000, count=1, messageIds=[MESSAGE_ID], state=None)
    data: MilestoneMessages


class Info(BaseModel):
    """The 14 fields that old clients require."""

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
    """Information about the node: here, the archive."""

    model_config = example(
        name="Permanode",
        version=VERSION,
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
