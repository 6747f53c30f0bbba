"""Responses of explorer v2 (inx-chronicle 1.0).

Field names are inx-chronicle's; fields of extensions follow them. `cursor` is null on the last page.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from api.fields.chrysalis_payloads import U32, U64Text
from api.fields.examples import BECH32, BLOCK_ID, CURSOR, MILESTONE_ID, OUTPUT_ID, SPENT_BY
from api.fields.inclusion_state import InclusionState
from api.fields.listing_proof_responses import PageOfProvedLists, ProvedPage
from api.fields.stardust_payloads import Bech32, HexId, HexOutputId
from api.http.responses import whole_example

FOUNDRY_ID = "0x083530d5878c92cdd5961f0be93bca3c035b692447a12999c2fe90e2f1344cdb040100000000"
Role: TypeAlias = Literal[
    "address", "sender", "issuer", "stateController", "governor", "storageDepositReturn", "expirationReturn"
]


class NativeTokenAmount(BaseModel):
    """The amount of a native token that an address owns."""

    id: Annotated[str, Field(pattern="^0x[0-9a-f]{76}$")]
    amount: Annotated[str, Field(pattern="^0x[0-9a-f]{1,64}$")]


class BalanceAnswer(BaseModel):
    """The balance of an address at ledgerIndex: in total, and without outputs that a timelock locks. `nativeTokens`
    is an extension.
    """

    model_config = whole_example(
        totalBalance="25885090479986",
        availableBalance="25885090479986",
        ledgerIndex=50,
        nativeTokens=[{"id": FOUNDRY_ID, "amount": "0x2bc"}],
    )
    totalBalance: U64Text
    availableBalance: U64Text
    ledgerIndex: U32
    nativeTokens: list[NativeTokenAmount]


class Children(ProvedPage):
    """The blocks that approve a block. `count` is the number on this page. `cursor` is an extension."""

    model_config = whole_example(blockId=MILESTONE_ID, maxResults=100, count=1, children=[BLOCK_ID], cursor=None)
    blockId: HexId
    maxResults: int
    count: int
    children: list[HexId]
    cursor: str | None


class TaggedBlock(BaseModel):
    """A block with its milestone and inclusion state, null while it is pending."""

    blockId: HexId
    milestoneIndex: U32 | None
    milestoneTimestamp: U32 | None
    ledgerInclusionState: InclusionState | None


class TaggedBlocks(ProvedPage):
    """The blocks with a tag."""

    model_config = whole_example(
        tag="0x7065726d616e6f6465",
        items=[
            {
                "blockId": BLOCK_ID,
                "milestoneIndex": 1,
                "milestoneTimestamp": 1664553610,
                "ledgerInclusionState": "noTransaction",
            }
        ],
        cursor=CURSOR,
    )
    tag: Annotated[str, Field(pattern="^0x([0-9a-f]{2}){0,64}$")]
    items: list[TaggedBlock]
    cursor: str | None


class MilestoneOfList(BaseModel):
    """A milestone."""

    milestoneId: HexId
    index: U32


class MilestoneList(BaseModel):
    """Milestones."""

    model_config = whole_example(items=[{"milestoneId": MILESTONE_ID, "index": 50}], cursor=CURSOR)
    items: list[MilestoneOfList]
    cursor: str | None


class DatedMilestone(MilestoneOfList):
    """A milestone and its time, in seconds since 1970."""

    timestamp: U32


class MilestonesOfDay(BaseModel):
    """The first and the last milestone of a UTC day, by index."""

    model_config = whole_example(
        date="2022-09-30",
        firstMilestone={"milestoneId": MILESTONE_ID, "index": 1, "timestamp": 1664553610},
        lastMilestone={"milestoneId": MILESTONE_ID, "index": 50, "timestamp": 1664554100},
    )
    date: Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    firstMilestone: DatedMilestone
    lastMilestone: DatedMilestone


class BlockOfMilestone(BaseModel):
    """A block and the type of its payload, null if it has none."""

    blockId: HexId
    payloadType: int | None


class BlocksOfMilestone(BaseModel):
    """The blocks that a milestone references."""

    model_config = whole_example(blocks=[{"blockId": BLOCK_ID, "payloadType": 5}], cursor=None)
    blocks: list[BlockOfMilestone]
    cursor: str | None


class UpdateOfAddress(BaseModel):
    """An output that an address received or spent. `amount`, the transaction that changed it and the role of the
    address are extensions.

    For migrated funds, `transactionId` is the id of the milestone.
    """

    outputId: HexOutputId
    isSpent: bool
    milestoneIndex: U32
    milestoneTimestamp: U32
    amount: U64Text
    transactionId: HexId
    role: Literal["address", "stateController", "expirationReturn"]


class UpdatesOfAddress(ProvedPage):
    """Outputs that an address received and spent."""

    model_config = whole_example(
        address=BECH32,
        items=[
            {
                "outputId": OUTPUT_ID,
                "isSpent": True,
                "milestoneIndex": 2,
                "milestoneTimestamp": 1664553620,
                "amount": "1000000",
                "transactionId": SPENT_BY,
                "role": "address",
            }
        ],
        cursor=None,
    )
    address: Bech32
    items: list[UpdateOfAddress]
    cursor: str | None


class UpdateOfMilestone(BaseModel):
    """An output that a milestone created or spent, and its owner. `amount` is an extension."""

    address: Bech32
    outputId: HexOutputId
    isSpent: bool
    amount: U64Text


class UpdatesOfMilestone(BaseModel):
    """Outputs that a milestone created and spent."""

    model_config = whole_example(
        milestoneIndex=2,
        items=[{"address": BECH32, "outputId": OUTPUT_ID, "isSpent": True, "amount": "1000000"}],
        cursor=None,
    )
    milestoneIndex: U32
    items: list[UpdateOfMilestone]
    cursor: str | None


class OutputOfAddress(BaseModel):
    """An output that names an address, its creation and its spending, null while it is unspent.

    A milestone that is not loaded, such as one before genesis, has timestamp 0.
    """

    outputId: HexOutputId
    outputType: int
    roles: list[Role]
    amount: U64Text
    transactionId: HexId
    milestoneIndex: U32
    milestoneTimestamp: U32
    isSpent: bool
    transactionIdSpent: HexId | None
    milestoneIndexSpent: U32 | None
    milestoneTimestampSpent: U32 | None


class OutputsOfAddress(PageOfProvedLists):
    """Outputs that ever named an address. `ledgerIndex` is null if the ledger state is unknown."""

    model_config = whole_example(
        address=BECH32,
        items=[
            {
                "outputId": OUTPUT_ID,
                "outputType": 3,
                "roles": ["address", "sender"],
                "amount": "1000000",
                "transactionId": OUTPUT_ID[:66],
                "milestoneIndex": 1,
                "milestoneTimestamp": 1664553610,
                "isSpent": True,
                "transactionIdSpent": SPENT_BY,
                "milestoneIndexSpent": 2,
                "milestoneTimestampSpent": 1664553620,
            }
        ],
        cursor=None,
        ledgerIndex=50,
    )
    address: Bech32
    items: list[OutputOfAddress]
    cursor: str | None
    ledgerIndex: U32 | None


class Attachment(BaseModel):
    """A block with the transaction, the milestone that references it, and its inclusion state."""

    blockId: HexId
    milestoneIndex: int
    ledgerInclusionState: InclusionState


class AttachmentList(BaseModel):
    """The blocks that contain a transaction. `cursor` is null on the last page."""

    model_config = whole_example(
        transactionId=OUTPUT_ID[:66],
        items=[{"blockId": BLOCK_ID, "milestoneIndex": 18, "ledgerInclusionState": "included"}],
        cursor=None,
    )
    transactionId: HexId
    items: list[Attachment]
    cursor: str | None
