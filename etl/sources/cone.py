"""What every source turns a line into: a milestone's cone, or messages that no milestone references yet.

Rules of this file: frozen values and the Source protocol; no format is known here. A message is what both eras call
so in the tables: Stardust's blocks too.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from ledger.chrysalis import codec as chrysalis
from ledger.eras import CHRYSALIS, Codec, Coordinator
from ledger.stardust import values as stardust_values

Message: TypeAlias = chrysalis.Message | stardust_values.Block
Milestone: TypeAlias = chrysalis.Milestone | stardust_values.Milestone

NO_TRANSACTION, INCLUDED, CONFLICTING = 0, 1, 2
"""inclusion_state as the tables keep it (db/schema)."""

INCLUSION_STATES = {
    "noTransaction": NO_TRANSACTION,
    "no_transaction": NO_TRANSACTION,
    "NoTransaction": NO_TRANSACTION,
    "included": INCLUDED,
    "Included": INCLUDED,
    "conflicting": CONFLICTING,
    "Conflicting": CONFLICTING,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One message as a source tells it; `referenced_by` None: not referenced."""

    message_id: bytes
    message: Message
    referenced_by: int | None
    inclusion_state: int | None
    conflict_reason: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A part of a line that was refused: the message id as hex, or '' for the whole line, and why."""

    item: str
    reason: str


@dataclass(slots=True)
class Cone:
    """The messages of one line; `milestone` is the payload that the line names beside them, if it does.

    `codec` is of the protocol that the line is written in, whatever era the milestone falls to; `coordinator` is who
    signs milestones by what the line says of its node.
    """

    milestone_index: int | None
    milestone: Milestone | None = None
    entries: list[Entry] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    codec: Codec = CHRYSALIS
    coordinator: Coordinator | None = None


class Source(Protocol):
    """One input format, a line a document: what orjson reads."""

    name: str

    def claims(self, document: Any) -> bool:
        """Whether the document is of this format, by its keys alone."""

    def read(self, document: Any) -> list[Cone]:
        """The cones, in most formats one; what is wrong with a single message is in `refused`, a line that is wrong as
        a whole raises JsonError or CodecError.
        """
