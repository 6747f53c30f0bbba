"""Responses of the transparency log."""

from pydantic import BaseModel, Field

from api.http.responses import whole_example

ROOT = "1Y0pZ6JSJJEnM8VZ2wQbHHq1n0tIkVJvfd1Iay2zKb8="


class LogCheckpoint(BaseModel):
    """Size and root of the log. `root` is Base64."""

    size: int
    root: str


class Witness(BaseModel):
    """A cosignature: the witness has seen the log extend all its earlier checkpoints. `time` is in seconds since
    1970.
    """

    name: str
    keyId: str
    time: int


class CosignedCheckpoint(LogCheckpoint):
    """The newest checkpoint with cosignatures. `checkpoint` is its note."""

    witnesses: list[Witness]
    checkpoint: str


class LogState(BaseModel):
    """The state of a log. `newest` contains all records, up to the milestone `lastMilestone`. `signed` is null without
    a key. `completeTo` is the last milestone of the listings that the signed log proves complete; null before the end
    of the first interval.
    """

    model_config = whole_example(
        origin="permanode/permatest-1/1",
        firstMilestone=1,
        lastMilestone=50,
        completeTo=None,
        newest={"size": 50, "root": ROOT},
        signed={"size": 50, "root": ROOT},
        verifier="permanode/permatest-1/1+33d9dfe5+Aa4Gn7nRzMqgWJYhXAHRYpcmwJvCMCMbDvNEsjUQU5qV",
        cosigned=None,
    )
    origin: str
    firstMilestone: int
    lastMilestone: int
    completeTo: int | None
    newest: LogCheckpoint
    signed: LogCheckpoint | None
    verifier: str | None
    cosigned: CosignedCheckpoint | None


class LogConsistency(BaseModel):
    """The proof that the first `to` records begin with the first `from` ones (RFC 9162 2.1.4). `hashes` are Base64."""

    model_config = whole_example(**{"from": 3, "to": 4, "hashes": [ROOT]})
    older: int = Field(alias="from")
    to: int
    hashes: list[str]
