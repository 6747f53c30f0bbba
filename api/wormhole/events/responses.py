"""Responses of the event database's functions.

Field names are the functions', values are text. Responses by day are described by an example, because the schema of
each number would add nothing.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel

from api.http.responses import omitted, whole_example
from api.wormhole.responses import ROW_KEY, VAA, VAA_BASE64

SUMMARY: dict[str, Any] = {
    "EmitterChain": "solana",
    "EmitterAddress": VAA.emitter_address.hex(),
    "Sequence": str(VAA.sequence),
    "InitiatingTxID": "",
    "Payload": None,
    "SignedVAABytes": VAA_BASE64,
    "QuorumTime": "2021-09-21 01:52:26.038 +0000 UTC",
    "TransferDetails": None,
}


class EventSummary(BaseModel):
    """The summary of a row of the event tables. A field is null if the row has no value."""

    EmitterChain: str
    EmitterAddress: str
    Sequence: str
    InitiatingTxID: str
    Payload: str | None
    SignedVAABytes: str | None
    QuorumTime: str
    TransferDetails: dict[str, str] | None


DETAILS: dict[str, Any] = SUMMARY | {
    "SignedVAA": None,
    "TokenTransferPayload": None,
    "AssetMetaPayload": None,
    "NFTTransferPayload": None,
    "ChainDetails": None,
}


class IndexedSignature(BaseModel):
    """A signature in hex, by its guardian's index in the set."""

    Index: int
    Signature: str


class EventSignature(BaseModel):
    """A cell of Signatures. `Time` is empty if no source has it."""

    Guardian: str
    Signature: str
    Time: str


class EventState(BaseModel):
    """A cell of VAAState. `GuardianSetIndex` and `Time` are empty if the cell has none."""

    GuardianSetIndex: str
    Time: str
    Signatures: list[IndexedSignature]


class EventRow(BaseModel):
    """A row of the event tables. A family is null if the row has none of its columns, and absent if it was not
    requested.
    """

    EmitterChain: str
    EmitterAddress: str
    Sequence: str
    InitiatingTxID: str = omitted()
    Payload: str | None = omitted()
    SignedVAABytes: str | None = omitted()
    QuorumTime: str = omitted()
    TransferDetails: dict[str, str] | None = omitted()
    SignedVAA: dict[str, Any] | None = omitted()
    TokenTransferPayload: dict[str, str] | None = omitted()
    AssetMetaPayload: dict[str, str] | None = omitted()
    NFTTransferPayload: dict[str, str] | None = omitted()
    ChainDetails: dict[str, str] | None = omitted()
    MessagePublication: dict[str, str] | None = omitted()
    GuardiansThatSigned: list[str] | None = omitted()
    Signatures: list[EventSignature] | None = omitted()
    VAAState: list[EventState] | None = omitted()


class KeyedEventRow(EventRow):
    """A row with its key, `chain:address:sequence`. The sequence is padded to 16 digits."""

    RowKey: str


class EventDetails(EventRow):
    """One row."""

    model_config = whole_example(**DETAILS)


class EventRows(BaseModel):
    """A page of rows. `Next` is the cursor, empty on the last page."""

    model_config = whole_example(Rows=[{"RowKey": ROW_KEY} | DETAILS], Next="")
    Rows: list[KeyedEventRow]
    Next: str


class EventFound(RootModel[list[EventRow]]):
    """Rows with a value, without SignedVAA. SignedVAABytes is present on request."""

    model_config = ConfigDict(json_schema_extra={"examples": [[DETAILS | {"SignedVAABytes": None}]]})


class EventRecent(RootModel[dict[str, list[EventSummary]]]):
    """The newest rows by group: `*` for all, a chain, or `chain:address`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"1": [SUMMARY]}]})


class EventTotals(BaseModel):
    """Messages by day. Keys are `*` for all, and a chain or `chain:address` if the counts are grouped."""

    model_config = whole_example(
        LastDayCount=None,
        TotalCount={"*": 3, "2": 3},
        TotalCountDurationDays=1,
        DailyTotals={"2021-09-20": {"*": 0, "2": 0}, "2021-09-21": {"*": 3, "2": 3}},
    )
    LastDayCount: dict[str, int] | None
    TotalCount: dict[str, int]
    TotalCountDurationDays: int
    DailyTotals: dict[str, dict[str, int]]


class EventDays(BaseModel):
    """Messages by day and chain, `*` for all."""

    model_config = whole_example(DailyTotals={"2021-09-13": {"*": 3, "1": 1, "2": 2}})
    DailyTotals: dict[str, Any]


MOVED = {"*": {"*": 250.5, "USDT": 250.5}, "2": {"*": 250.5, "USDT": 250.5}}


class EventMoved(BaseModel):
    """USD by chains and symbol, `*` for all. A field is null if it was not requested."""

    model_config = whole_example(Last24Hours=MOVED, WithinPeriod=None, PeriodDurationDays=30, Daily=None)
    Last24Hours: dict[str, Any] | None
    WithinPeriod: dict[str, Any] | None
    PeriodDurationDays: int
    Daily: dict[str, Any] | None


class EventMovedFrom(BaseModel):
    """USD by day and sending chain, `*` for all."""

    model_config = whole_example(Daily={"2021-09-13": {"*": 250.5, "1": 250.5}}, Total=250.5)
    Daily: dict[str, Any]
    Total: float


class EventMovedSoFar(BaseModel):
    """USD by destination and symbol, `*` for all, up to the end of each day. A field is null if it was not
    requested.
    """

    model_config = whole_example(AllTime=MOVED, AllTimeDurationDays=30, Daily={"2021-10-13": MOVED})
    AllTime: dict[str, dict[str, float]] | None
    AllTimeDurationDays: int
    Daily: dict[str, Any] | None


class LockedSum(BaseModel):
    """The locked value in USD."""

    Symbol: str
    Notional: float


class LockedAsset(LockedSum):
    """A locked token. Sums over tokens, under `*`, have only Symbol and Notional. A field is null if no source has
    it.
    """

    Name: str = omitted()
    Address: str = omitted()
    CoinGeckoId: str = omitted()
    Amount: float = omitted()
    TokenPrice: float = omitted()
    TokenDecimals: int | None = omitted()


LOCKED_SUM = {"Symbol": "*", "Notional": 500.0}


class EventLocked(BaseModel):
    """Locked value by home chain and token, `*` for all."""

    model_config = whole_example(Last24HoursChange={}, AllTime={"*": {"*": LOCKED_SUM}, "6": {"*": LOCKED_SUM}})
    Last24HoursChange: dict[str, dict[str, LockedAsset]]
    AllTime: dict[str, dict[str, LockedAsset]]


class EventLockedSoFar(BaseModel):
    """Locked value at the end of each day, by home chain."""

    model_config = whole_example(DailyLocked={"2021-09-13": {"*": {"*": LOCKED_SUM}, "6": {"*": LOCKED_SUM}}})
    DailyLocked: dict[str, Any]


class ReceivedDaily(BaseModel):
    """Receiving addresses by day: USD by chain and address, and their number by chain. A field is null if it was not
    requested.
    """

    DailyAmounts: dict[str, Any] | None
    DailyCounts: dict[str, Any] | None


class EventReceived(ReceivedDaily):
    """Receiving addresses of the last day, of the period and of its days."""

    model_config = whole_example(
        PeriodDurationDays=30,
        Last24HoursAmounts=None,
        WithinPeriodAmounts=None,
        DailyAmounts=None,
        Last24HoursCounts={"*": 2, "2": 2},
        WithinPeriodCounts=None,
        DailyCounts=None,
    )
    Last24HoursAmounts: dict[str, dict[str, float]] | None
    Last24HoursCounts: dict[str, int] | None
    WithinPeriodAmounts: dict[str, dict[str, float]] | None
    WithinPeriodCounts: dict[str, int] | None
    PeriodDurationDays: int


class EventReceivedSoFar(ReceivedDaily):
    """Addresses that ever received transfers, up to the end of each day."""

    model_config = whole_example(
        AllTimeDurationDays=30,
        AllTimeAmounts=None,
        DailyAmounts=None,
        AllTimeCounts={"*": 2, "2": 2},
        DailyCounts=None,
    )
    AllTimeAmounts: dict[str, dict[str, float]] | None
    AllTimeCounts: dict[str, int] | None
    AllTimeDurationDays: int
