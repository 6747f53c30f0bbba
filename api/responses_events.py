"""Answers of the event database's functions.

Rules of this file: as in responses_wormhole.py; names of the fields are the functions', values are text.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel

from api.responses import omitted, whole_example
from api.responses_wormhole import VAA, VAA_BASE64

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
    """What lists tell of a row of the event tables; null: the row has nothing of that."""

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


class EventRow(BaseModel):
    """A row of the event tables; null: it has nothing of that family; absent: families without it were asked for."""

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


class EventDetails(EventRow):
    """One row."""

    model_config = whole_example(**DETAILS)


class EventRows(BaseModel):
    """A page of rows; `Next` is its cursor, empty on the last."""

    model_config = whole_example(Rows=[DETAILS], Next="")
    Rows: list[EventRow]
    Next: str


class EventRecent(RootModel[dict[str, list[EventSummary]]]):
    """The newest rows by group: `*` for all, a chain, or `chain:address`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"1": [SUMMARY]}]})


class EventTotals(BaseModel):
    """Messages by day; keys are `*` for all, and a chain or `chain:address` where they were counted apart."""

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
