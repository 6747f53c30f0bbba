"""Checked: a verified milestone, as verification hands it to the lake and to archive files."""

from dataclasses import dataclass, field

from etl.sources.cone import Entry, Milestone
from etl.sources.rejects import Reject
from ledger.eras import CHRYSALIS, Codec, Coordinator


@dataclass(slots=True)
class Checked:
    """The correct messages of a milestone.

    Attributes:
        messages: (entry, canonical bytes). In white-flag order if the cone is complete; in Chrysalis the milestone's
            own message is the last one.
        rejects: what is wrong. A complete cone may have some, about statements of the source.
        verified: the level to which a complete cone is proved (ledger/levels.py). None for an incomplete one.
        named: the coordinator that the line itself names.
    """

    milestone_index: int
    milestone: Milestone | None = None
    messages: list[tuple[Entry, bytes]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    verified: str | None = None
    codec: Codec = CHRYSALIS
    named: Coordinator | None = None
