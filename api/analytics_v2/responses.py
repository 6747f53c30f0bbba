"""Responses of analytics v2: those of inx-chronicle 1.0.0-beta.22, and the series, an extension.

Counts are text where inx-chronicle has text. In series, counts and bytes are numbers, and amounts of base tokens are
text. measures.py lists the measures of series.
"""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, Field, create_model

from api.analytics_v2.measures import DAY_MEASURES, HOUR_MEASURES, MILESTONE_MEASURES, Measures
from api.fields.chrysalis_payloads import U32, U64Text
from api.fields.examples import BECH32, CURSOR
from api.fields.stardust_payloads import Bech32, RentStructure
from api.http.responses import omitted, whole_example

CountText: TypeAlias = Annotated[str, Field(pattern="^[0-9]+$")]
AmountText: TypeAlias = Annotated[str, Field(pattern="^[0-9]+$")]
Date: TypeAlias = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class OutputStatistics(BaseModel):
    """Number of outputs, and the base tokens in them."""

    model_config = whole_example(count="12", totalValue="4500000")
    count: CountText
    totalValue: AmountText


class StorageDepositStatistics(BaseModel):
    """Unspent Stardust outputs: how many owe a storage deposit and how much, and the bytes that all of them store."""

    model_config = whole_example(
        outputCount="72",
        storageDepositReturnCount="3",
        storageDepositReturnTotalValue="150000",
        totalKeyBytes="2448",
        totalDataBytes="9000",
        totalByteCost="3348000",
        ledgerIndex=50,
        rentStructure={"vByteCost": 100, "vByteFactorKey": 10, "vByteFactorData": 1},
    )
    outputCount: CountText
    storageDepositReturnCount: CountText
    storageDepositReturnTotalValue: AmountText
    totalKeyBytes: CountText
    totalDataBytes: CountText
    totalByteCost: AmountText
    ledgerIndex: U32
    rentStructure: RentStructure


class AddressStatistics(BaseModel):
    """Number of distinct addresses: of outputs created or spent, of outputs created, and of outputs spent."""

    model_config = whole_example(totalActiveAddresses="9", receivingAddresses="7", sendingAddresses="5")
    totalActiveAddresses: CountText
    receivingAddresses: CountText
    sendingAddresses: CountText


class Claimed(BaseModel):
    """Base tokens of genesis outputs that were spent."""

    model_config = whole_example(count="95428996456")
    count: AmountText


class ObjectStatistics(BaseModel):
    """Chain objects created, transferred and destroyed, summed over transactions."""

    model_config = whole_example(createdCount="4", transferredCount="2", burnedCount="1")
    createdCount: CountText
    transferredCount: CountText
    burnedCount: CountText


class PayloadCounts(BaseModel):
    """Blocks by payload."""

    txPayloadCount: U32
    treasuryTxPayloadCount: U32
    milestonePayloadCount: U32
    taggedDataPayloadCount: U32
    noPayloadCount: U32


class InclusionCounts(BaseModel):
    """Blocks by inclusion state."""

    confirmedTxCount: U32
    conflictingTxCount: U32
    noTxCount: U32


class MilestoneStatistics(BaseModel):
    """The blocks that a milestone references."""

    model_config = whole_example(
        blocksCount=14,
        perPayloadType={
            "txPayloadCount": 6,
            "treasuryTxPayloadCount": 0,
            "milestonePayloadCount": 1,
            "taggedDataPayloadCount": 5,
            "noPayloadCount": 2,
        },
        perInclusionState={"confirmedTxCount": 5, "conflictingTxCount": 1, "noTxCount": 8},
    )
    blocksCount: U32
    perPayloadType: PayloadCounts
    perInclusionState: InclusionCounts


def measured(known: Measures) -> dict[str, Any]:
    """Returns a response model with one field per measure. A field is null if the value is unknown."""
    found: dict[str, Any] = {}
    for name, measure in known.items():
        kind: Any = AmountText if measure.is_amount else int
        found[name] = (Annotated[kind | None, Field(description=measure.meaning)], omitted())
    return found


class MilestoneTime(BaseModel):
    """A milestone and the requested measures."""

    milestoneIndex: U32
    timestamp: U32


class HourTime(BaseModel):
    """An hour, given by its first second, and the requested measures."""

    timestamp: int


class DayTime(BaseModel):
    """A UTC day, given by its date and its first second, and the requested measures."""

    date: Date
    timestamp: int


MilestonePoint = create_model("MilestonePoint", __base__=MilestoneTime, **measured(MILESTONE_MEASURES))
HourPoint = create_model("HourPoint", __base__=HourTime, **measured(HOUR_MEASURES))
DayPoint = create_model("DayPoint", __base__=DayTime, **measured(DAY_MEASURES))

COUNTED: dict[str, Any] = {"messageCount": 14, "transactionCount": 5, "transferredTokens": "7000000"}


class MilestoneSeries(BaseModel):
    """A series by milestone."""

    model_config = whole_example(
        items=[{"milestoneIndex": 1, "timestamp": 1664553610} | COUNTED],
        cursor=CURSOR,
    )
    items: list[MilestonePoint]  # type: ignore[valid-type]
    cursor: str | None


class HourSeries(BaseModel):
    """A series by hour."""

    model_config = whole_example(items=[{"timestamp": 1664550000} | COUNTED], cursor=None)
    items: list[HourPoint]  # type: ignore[valid-type]
    cursor: str | None


class DaySeries(BaseModel):
    """A series by UTC day."""

    model_config = whole_example(items=[{"date": "2022-09-30", "timestamp": 1664496000} | COUNTED], cursor=None)
    items: list[DayPoint]  # type: ignore[valid-type]
    cursor: str | None


class AddressPoint(BaseModel):
    """What an address sent and received in a milestone, including change, and its balance after it."""

    milestoneIndex: U32
    timestamp: U32
    sent: U64Text
    received: U64Text
    balance: U64Text


class AddressSeries(BaseModel):
    """What an address sent and received, up to ledgerIndex."""

    model_config = whole_example(
        address=BECH32,
        items=[
            {"milestoneIndex": 2, "timestamp": 1664553620, "sent": "1000000", "received": "0", "balance": "25885000"}
        ],
        cursor=None,
        ledgerIndex=50,
    )
    address: Bech32
    items: list[AddressPoint]
    cursor: str | None
    ledgerIndex: U32
