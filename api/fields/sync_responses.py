"""The response of `sync`, as Chronicle v1 and the core API v2 return it."""

from pydantic import BaseModel, ConfigDict

from api.fields.chrysalis_payloads import U32


class MilestoneSpan(BaseModel):
    """Milestones from `start` on, before `end`."""

    start: U32
    end: U32


class Proved(BaseModel):
    """Completed milestones by how far they are proved (docs/proofs.md)."""

    believed: list[MilestoneSpan]
    merkle: list[MilestoneSpan]
    signed: list[MilestoneSpan]
    full: list[MilestoneSpan]


class SyncResponse(BaseModel):
    """Which milestones are here, and how far they are proved; each list falls, with `sort=oldest` it rises."""

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
