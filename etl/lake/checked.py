"""Checked: a verified milestone, as verification hands it to the lake and to archive files."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from etl.sources.cone import Entry, Milestone
from etl.sources.rejects import Reject
from ledger.eras import CHRYSALIS, Codec, Coordinator


@dataclass(frozen=True, slots=True)
class Kept:
    """What a selection kept of a milestone.

    Attributes:
        places: the white-flag index of each kept message.
        proofs: the proof of each kept message (ledger.message_proof). None for the one that carries the milestone.
        cone_size: the number of messages of the milestone.
        spent_elsewhere: ids of the outputs that Stardust transactions spent which were not kept. Empty if no address is
            selected.
    """

    places: Sequence[int]
    proofs: Sequence[bytes | None]
    cone_size: int
    spent_elsewhere: Sequence[bytes] = ()


@dataclass(slots=True)
class Checked:
    """The correct messages of a milestone.

    Attributes:
        messages: in white-flag order if the cone is complete; in Chrysalis the milestone's own message is the last
            one.
        rejects: what is wrong. A complete cone may have some, about statements of the source.
        verified: the level to which a complete cone is proved (ledger/levels.py). None for an incomplete one.
        named: the coordinator that the line itself names.
        kept: if `messages` are a part of the milestone: which one.
    """

    milestone_index: int
    milestone: Milestone | None = None
    messages: list[Entry] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    verified: str | None = None
    codec: Codec = CHRYSALIS
    named: Coordinator | None = None
    kept: Kept | None = None
