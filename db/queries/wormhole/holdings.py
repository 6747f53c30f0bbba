"""What a Wormhole store holds: VAAs by day and verdict, duplicates, gaps. Loads count it and note it in the store."""

import json
from dataclasses import asdict, dataclass, field
from datetime import date

from db import schema
from db.store import Store

HOLDINGS = "holdings"
"""Key of keyspace_info: the Holdings after the newest load, as JSON."""

VERIFIED = "verified"
"""The verdict of a message that a quorum signed; the others are faults."""


@dataclass(slots=True)
class EmitterGaps:
    """Missing sequences of an emitter between its `first` and `last` verified sequence: their number, and the number of
    `gaps`.
    """

    emitter_chain: int
    emitter_address: str
    first: int
    last: int
    missing: int = 0
    gaps: int = 0


@dataclass(slots=True)
class Holdings:
    """Holdings of a Wormhole store.

    `verified` counts messages that a quorum signed, on `days` (intervals of dates); `undated` ones have no timestamp.
    `verdicts` counts messages by verdict: `verified` or a fault. `written_alone` counts messages without a known VAA.
    `duplicates` are ids with several bodies that a quorum signed. These, `gap_count`, and the `gaps` of the emitters
    with most `missing` messages cover the first `examined` rows; `is_whole`: these are all. `newest_s` is the newest
    timestamp, in seconds since 1970.
    """

    verified: int = 0
    undated: int = 0
    newest_s: int | None = None
    days: list[tuple[str, str]] = field(default_factory=list)
    emitters: int = 0
    examined: int = 0
    is_whole: bool = True
    verdicts: dict[str, int] = field(default_factory=dict)
    written_alone: int = 0
    duplicates: int = 0
    missing: int = 0
    gap_count: int = 0
    gaps: list[EmitterGaps] = field(default_factory=list)

    @property
    def day_count(self) -> int:
        """The number of `days`."""
        return sum((date.fromisoformat(last) - date.fromisoformat(first)).days + 1 for first, last in self.days)

    @property
    def unverified(self) -> int:
        """The messages whose VAA no quorum of a known guardian set signed."""
        return sum(count for verdict, count in self.verdicts.items() if verdict != VERIFIED)

    def text(self) -> str:
        """The value in keyspace_info."""
        return json.dumps(asdict(self))


async def find_noted_holdings(store: Store) -> Holdings | None:
    """The holdings after the newest load. None if no load of this version noted them."""
    row = await store.get(schema.keyspace_info, (HOLDINGS,))
    if row is None:
        return None
    values = json.loads(row["value"])
    gaps = [EmitterGaps(**each) for each in values["gaps"]]
    return Holdings(**values | {"gaps": gaps, "days": [(first, last) for first, last in values["days"]]})
