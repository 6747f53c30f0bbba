"""Responses of the core API v2 (Stardust: TIP-25, Hornet 2.0).

Field names are the node's, without a `data` envelope. A field that a node may leave out may be absent and is never
null. Hex has the prefix 0x, u64 are decimal strings.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from api.fields.chrysalis_payloads import U32, U64Text
from api.fields.examples import BLOCK_ID, KEY_HASH, MILESTONE_ID, OUTPUT_ID, SPENT_BY
from api.fields.inclusion_state import InclusionState
from api.fields.stardust_payloads import (
    U8,
    HexId,
    HexOutputId,
    OutputIndexV2,
    ParametersOption,
    ReceiptOption,
    RentStructure,
    StardustOutput,
)
from api.http.responses import omitted, whole_example
from api.version import VERSION

TAIL_HASH = "0xcf37c9364f0df6dca9c6902ba5b994e38b298c6cc41af0e3c81e6d4b05ff3aaf34f4666055ee1337a4a05beaa9dfa28ff7"

Text: TypeAlias = Annotated[str, Field(max_length=255)]


class BlockMetadata(BaseModel):
    """Metadata of a block. A pending block has neither milestone nor inclusion state."""

    model_config = whole_example(
        blockId=BLOCK_ID,
        parents=["0x" + "00" * 32],
        isSolid=True,
        referencedByMilestoneIndex=1,
        ledgerInclusionState="conflicting",
        conflictReason=1,
        whiteFlagIndex=0,
    )
    blockId: HexId
    parents: list[HexId]
    isSolid: bool
    referencedByMilestoneIndex: U32 = omitted()
    milestoneIndex: U32 = omitted()
    ledgerInclusionState: InclusionState = omitted()
    conflictReason: int = omitted()
    shouldPromote: bool = omitted()
    shouldReattach: bool = omitted()
    whiteFlagIndex: U32 = omitted()


OUTPUT_METADATA = {
    "blockId": BLOCK_ID,
    "transactionId": OUTPUT_ID[:66],
    "outputIndex": 0,
    "isSpent": True,
    "milestoneIndexSpent": 1,
    "milestoneTimestampSpent": 1664553610,
    "transactionIdSpent": SPENT_BY,
    "milestoneIndexBooked": 1,
    "milestoneTimestampBooked": 1664553610,
    "ledgerIndex": 50,
}


class OutputMetadata(BaseModel):
    """The creation of an output, and its spending."""

    model_config = whole_example(**OUTPUT_METADATA)
    blockId: HexId
    transactionId: HexId
    outputIndex: OutputIndexV2
    isSpent: bool
    milestoneIndexSpent: U32 = omitted()
    milestoneTimestampSpent: U32 = omitted()
    transactionIdSpent: HexId = omitted()
    milestoneIndexBooked: U32
    milestoneTimestampBooked: U32
    ledgerIndex: U32


class OutputWithMetadata(BaseModel):
    """An output and its metadata."""

    model_config = whole_example(
        metadata=OUTPUT_METADATA,
        output={
            "type": 3,
            "amount": "1000000",
            "unlockConditions": [{"type": 0, "address": {"type": 0, "pubKeyHash": KEY_HASH}}],
        },
    )
    metadata: OutputMetadata
    output: StardustOutput


class UtxoChangesV2(BaseModel):
    """The outputs that a milestone created and spent."""

    model_config = whole_example(index=10, createdOutputs=[OUTPUT_ID], consumedOutputs=[])
    index: U32
    createdOutputs: list[HexOutputId]
    consumedOutputs: list[HexOutputId]


class TreasuryV2(BaseModel):
    """The funds left for migration, and the milestone whose receipt left them."""

    model_config = whole_example(milestoneId=MILESTONE_ID, amount="999963000000")
    milestoneId: HexId
    amount: U64Text


class ReceiptTupleV2(BaseModel):
    """A receipt and the milestone that contains it."""

    receipt: ReceiptOption
    milestoneIndex: U32


class ReceiptsV2(BaseModel):
    """Receipts. `state` is present if there are more."""

    model_config = whole_example(
        receipts=[
            {
                "receipt": {
                    "type": 0,
                    "migratedAt": 100,
                    "funds": [
                        {
                            "tailTransactionHash": TAIL_HASH,
                            "address": {"type": 0, "pubKeyHash": KEY_HASH},
                            "deposit": "37000000",
                        }
                    ],
                    "transaction": {
                        "type": 4,
                        "input": {"type": 1, "milestoneId": "0x" + "00" * 32},
                        "output": {"type": 2, "amount": "999963000000"},
                    },
                    "final": True,
                },
                "milestoneIndex": 10,
            }
        ]
    )
    receipts: list[ReceiptTupleV2]
    state: str = omitted()


class MilestoneInfo(BaseModel):
    """A milestone in `info`. If it is not loaded, only its index."""

    index: U32
    timestamp: U32 = omitted()
    milestoneId: HexId = omitted()


class NodeStatus(BaseModel):
    """The milestones that this archive holds."""

    isHealthy: bool
    latestMilestone: MilestoneInfo
    confirmedMilestone: MilestoneInfo
    pruningIndex: U32


class ProtocolParametersV2(BaseModel):
    """The current protocol parameters."""

    version: U8
    networkName: Text
    bech32Hrp: Text
    minPowScore: U32
    belowMaxDepth: U8
    rentStructure: RentStructure
    tokenSupply: U64Text


class BaseTokenInfo(BaseModel):
    """How to display amounts of base tokens."""

    name: str
    tickerSymbol: str
    unit: str
    subunit: str = omitted()
    decimals: U32
    useMetricPrefix: bool


class NodeMetrics(BaseModel):
    """Rates of a live node. An archive returns 0."""

    blocksPerSecond: float
    referencedBlocksPerSecond: float
    referencedRate: float


class InfoV2(BaseModel):
    """Information about the node: here, the archive."""

    model_config = whole_example(
        name="Permanode",
        version=VERSION,
        status={
            "isHealthy": True,
            "latestMilestone": {"index": 50, "timestamp": 1664554100, "milestoneId": MILESTONE_ID},
            "confirmedMilestone": {"index": 50, "timestamp": 1664554100, "milestoneId": MILESTONE_ID},
            "pruningIndex": 0,
        },
        supportedProtocolVersions=[2],
        protocol={
            "version": 2,
            "networkName": "shimmer",
            "bech32Hrp": "smr",
            "minPowScore": 1500,
            "belowMaxDepth": 15,
            "rentStructure": {"vByteCost": 100, "vByteFactorData": 1, "vByteFactorKey": 10},
            "tokenSupply": "1813620509061365",
        },
        pendingProtocolParameters=[],
        baseToken={
            "name": "Shimmer",
            "tickerSymbol": "SMR",
            "unit": "SMR",
            "subunit": "glow",
            "decimals": 6,
            "useMetricPrefix": False,
        },
        metrics={"blocksPerSecond": 0, "referencedBlocksPerSecond": 0, "referencedRate": 0},
        features=[],
    )
    name: str
    version: str
    status: NodeStatus
    supportedProtocolVersions: list[Literal[2]]
    protocol: ProtocolParametersV2
    pendingProtocolParameters: list[ParametersOption]
    baseToken: BaseTokenInfo
    metrics: NodeMetrics
    features: list[str]
