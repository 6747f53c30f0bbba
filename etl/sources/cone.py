"""The result of every source: the cone of a milestone, or messages that no milestone references yet.

Contains frozen values and the Source protocol, and no format. "Message" also means Stardust blocks, like in the tables.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from ledger.chrysalis import codec as chrysalis
from ledger.eras import CHRYSALIS, Codec, Coordinator
from ledger.stardust import values as stardust_values

Message: TypeAlias = chrysalis.Message | stardust_values.Block
Milestone: TypeAlias = chrysalis.Milestone | stardust_values.Milestone

TRANSACTIONS = (chrysalis.Transaction, stardust_values.Transaction)
"""The payloads that may change the ledger."""

NO_TRANSACTION, INCLUDED, CONFLICTING = 0, 1, 2
"""The values of inclusion_state in the tables (db/schema)."""

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
    """A message as a source contains it. `data`: its canonical bytes. `referenced_by` is None if no milestone
    references it.
    """

    message_id: bytes
    message: Message
    data: bytes
    referenced_by: int | None
    inclusion_state: int | None
    conflict_reason: int | None


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """A rejected part of a line: the message id as hex ('' for the whole line), and the reason."""

    item: str
    reason: str


@dataclass(slots=True)
class Cone:
    """The messages of a line. `milestone` is the payload of the milestone, if the line contains it separately.

    `codec` is the protocol of the line, which may differ from the era of the milestone. `coordinator` contains the keys
    from the configuration of the line's node.
    """

    milestone_index: int | None
    milestone: Milestone | None = None
    entries: list[Entry] = field(default_factory=list)
    rejected: list[RejectedItem] = field(default_factory=list)
    codec: Codec = CHRYSALIS
    coordinator: Coordinator | None = None


class Source(Protocol):
    """An input format with one document per line, parsed by orjson."""

    name: str

    def claims(self, document: Any) -> bool:
        """Whether a document has this format. Looks only at keys."""

    def read(self, document: Any) -> list[Cone]:
        """Reads the cones of a document, usually one. An invalid message is added to `rejected`; an invalid document
        raises JsonError or CodecError.
        """


def network_id_of(message: Message) -> int | None:
    """The network id of a message; in Stardust only transactions contain one."""
    if isinstance(message, chrysalis.Message):
        return message.network_id
    payload = message.payload
    return payload.essence.network_id if isinstance(payload, stardust_values.Transaction) else None
