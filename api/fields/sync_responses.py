"""The response of `sync`, as Chronicle v1 and the core API v2 return it."""

from pydantic import BaseModel, ConfigDict

from api.fields.chrysalis_payloads import U32
from api.http.responses import omitted


class MilestoneSpan(BaseModel):
    """Milestones from `start` to before `end`."""

    start: U32
    end: U32


class Proved(BaseModel):
    """Completed milestones by the level to which they are verified (docs/proofs.md)."""

    believed: list[MilestoneSpan]
    merkle: list[MilestoneSpan]
    signed: list[MilestoneSpan]
    full: list[MilestoneSpan]


class KeptFilter(BaseModel):
    """A filter of a selective archive, and the milestones of which all messages that match it are here."""

    filter: str
    milestones: list[MilestoneSpan]


class SyncResponse(BaseModel):
    """The milestones that this archive holds, and the level to which they are verified. Each list starts with the
    newest milestone, with `sort=oldest` with the oldest.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "completed": [{"start": 1, "end": 1000}],
                    "synced_but_unlogged": [{"start": 901, "end": 1000}],
                    "gaps": [{"start": 1000, "end": 2147483647}],
                    "proved": {"believed": [], "merkle": [], "signed": [{"start": 1, "end": 1000}], "full": []},
                }
            ]
        }
    )
    completed: list[MilestoneSpan]
    synced_but_unlogged: list[MilestoneSpan]
    gaps: list[MilestoneSpan]
    proved: Proved
    kept: list[KeptFilter] = omitted()
