"""Answers and posted objects of the event database's functions.

Rules of this file: as in responses_wormhole.py; names of the fields are the functions', values are text.
"""

from typing import Any

from pydantic import BaseModel

from api.responses import omitted, whole_example
from api.responses_wormhole import VAA, VAA_BASE64


class PostedKey(BaseModel):
    """A row key in its parts."""

    emitterChain: str
    emitterAddress: str
    sequence: str


class PostedId(BaseModel):
    """A transaction."""

    id: str


class PostedTotals(BaseModel):
    """What is counted."""

    last24Hours: str = omitted()
    numDays: str = omitted()
    groupBy: str = omitted()
    forChain: str = omitted()
    forAddress: str = omitted()
    until: str = omitted()


class EventDetails(BaseModel):
    """A row of the event tables; null: the row has nothing of that family."""

    model_config = whole_example(
        EmitterChain="solana",
        EmitterAddress=VAA.emitter_address.hex(),
        Sequence=str(VAA.sequence),
        InitiatingTxID="",
        Payload=None,
        SignedVAABytes=VAA_BASE64,
        QuorumTime="2021-09-21 01:52:26.038 +0000 UTC",
        TransferDetails=None,
        SignedVAA=None,
        TokenTransferPayload=None,
        AssetMetaPayload=None,
        NFTTransferPayload=None,
        ChainDetails=None,
    )
    EmitterChain: str
    EmitterAddress: str
    Sequence: str
    InitiatingTxID: str
    Payload: str | None
    SignedVAABytes: str | None
    QuorumTime: str
    TransferDetails: dict[str, str] | None
    SignedVAA: dict[str, Any] | None
    TokenTransferPayload: dict[str, str] | None
    AssetMetaPayload: dict[str, str] | None
    NFTTransferPayload: dict[str, str] | None
    ChainDetails: dict[str, str] | None


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
