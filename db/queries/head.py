"""How far a store is behind its network: what a follower recorded, and the newest complete milestone."""

import json
import time
from dataclasses import dataclass

from db import schema
from db.intervals import parse_intervals, size
from db.listing.streams import get_chunk_size
from db.queries.analytics import DAYS_DUE
from db.store import Store
from db.sync import find_newest_milestone

HEAD = "head"
"""Key of keyspace_info: the newest milestone that a follower's node reported, and when, as JSON [index, seconds]."""

MS_PER_S = 1_000


@dataclass(frozen=True, slots=True)
class Lag:
    """The newest complete milestone and how old it is now. `behind`: milestones up to the newest one that the node
    reported at `seen_at` (seconds since 1970); both are None if nobody follows. `days_due`: milestones that are
    not yet counted in the analytics of days.
    """

    newest: int
    seconds: float | None
    behind: int | None
    seen_at: float | None
    days_due: int


async def find_lag(store: Store, network: str) -> Lag | None:
    """Reads a few rows. None without complete milestones."""
    newest = await find_newest_milestone(store, network)
    if newest is None:
        return None
    chunk_size = await get_chunk_size(store)
    row = await store.get(schema.sync, (newest // chunk_size, newest))
    head, due = await store.get_many(schema.keyspace_info, [(HEAD,), (DAYS_DUE,)])
    index, seen_at = json.loads(head["value"]) if head else (None, None)
    stamp = row["ms_timestamp"] if row else None
    return Lag(
        newest,
        None if stamp is None else round(time.time() - stamp / MS_PER_S, 3),
        None if index is None else max(0, index - newest),
        seen_at,
        size(parse_intervals(due["value"])) if due else 0,
    )
