"""Responses of the extensions about Wormhole messages. Sequences are text."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.http.responses import omitted, whole_example
from api.wormhole.responses import GUARDIAN, MESSAGE_ID, ROW_KEY, U16, U32, Guardian, Hex32, Span


class GuardianSignature(BaseModel):
    """A guardian's signature. `index` is its position in the guardian set. A field is null if no source has it."""

    address: Guardian
    guardianSetIndex: U32 | None
    index: int | None
    signature: Annotated[str, Field(pattern="^0x[0-9a-f]{130}$")]
    inVaa: bool
    observedAt: str | None


class Signatures(BaseModel):
    """The guardians that signed a message, and those of its set without a known signature."""

    model_config = whole_example(
        id=MESSAGE_ID,
        digest="ab" * 32,
        guardianSetIndex=0,
        signatures=[
            {
                "address": GUARDIAN,
                "guardianSetIndex": 0,
                "index": 0,
                "signature": f"0x{'7a' * 64}00",
                "inVaa": True,
                "observedAt": None,
            }
        ],
        missing=[],
    )
    id: str
    digest: Hex32
    guardianSetIndex: U32
    signatures: list[GuardianSignature]
    missing: list[Guardian]


class Verdict(BaseModel):
    """Whether a quorum of the named guardian set signed a body, and the reason if not. `quorum` is null if the set
    is unknown.
    """

    digest: Hex32
    served: bool
    verified: bool
    fault: str | None
    reason: str | None
    guardianSetIndex: U32
    quorum: int | None
    signatures: int
    validSignatures: int
    expired: bool
    timestamp: str
    observedAt: str | None


class Verification(BaseModel):
    """The verification of every body under an id."""

    model_config = whole_example(
        id=MESSAGE_ID,
        rowKey=ROW_KEY,
        published=False,
        bodies=[
            {
                "digest": "ab" * 32,
                "served": True,
                "verified": False,
                "fault": "quorum",
                "reason": "expected 13 signatures of 19 guardians, found 1",
                "guardianSetIndex": 1,
                "quorum": 13,
                "signatures": 1,
                "validSignatures": 1,
                "expired": False,
                "timestamp": "2021-09-21T01:52:26Z",
                "observedAt": "2021-09-21T01:52:26.038Z",
            }
        ],
    )
    id: str
    rowKey: str
    published: bool
    bodies: list[Verdict]


class GapReport(BaseModel):
    """Missing sequences of an emitter between `first` and `last`, and between the previous page and `first`."""

    model_config = whole_example(
        emitterChain=1,
        emitterAddr=f"{4:064d}",
        first="1",
        last="9",
        missing=[{"first": "3", "last": "7"}],
        observed=[],
        cursor=None,
    )
    emitterChain: U16
    emitterAddr: Hex32
    first: str | None
    last: str | None
    missing: list[Span]
    observed: list[Span]
    cursor: str | None


class DatedGuardianSet(BaseModel):
    """A guardian set. A field is null if it is unknown."""

    index: U32
    addresses: list[Guardian]
    quorum: int
    since: str | None
    expiresAt: str | None
    namedBy: Hex32 | None


class GuardianSets(BaseModel):
    """All guardian sets."""

    model_config = whole_example(
        guardianSets=[
            {
                "index": 0,
                "addresses": [GUARDIAN],
                "quorum": 1,
                "since": None,
                "expiresAt": "2021-08-05T16:35:30Z",
                "namedBy": None,
            }
        ]
    )
    guardianSets: list[DatedGuardianSet]


class DayRange(BaseModel):
    """A range of days, both ends included."""

    first: str
    last: str


class Coverage(BaseModel):
    """The days with verified messages."""

    model_config = whole_example(days=[{"first": "2021-09-18", "last": "2021-10-11"}], messages=170, undated=89)
    days: list[DayRange]
    messages: int
    undated: int
    kept: list[str] = omitted()


class ClassifiedGap(Span):
    """A range of sequences without a verified message."""

    emitterChain: U16
    emitterAddr: Hex32
    classification: Literal["missing", "unverified", "random", "notYetEmitted"]


class EmitterGaps(BaseModel):
    """Gaps of all emitters."""

    model_config = whole_example(
        gaps=[
            {
                "emitterChain": 1,
                "emitterAddr": f"{4:064d}",
                "first": "0",
                "last": "1336",
                "classification": "random",
            }
        ],
        cursor=None,
    )
    gaps: list[ClassifiedGap]
    cursor: str | None
