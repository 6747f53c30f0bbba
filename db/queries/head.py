"""The newest complete milestone, and how far a store is behind its network: what a follower recorded."""

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
"""Key of keyspace_info: the newest milestone that a follower's node reported, when, and after how many seconds from
then the follower reaches it (null: unknown), as JSON [index, seconds, seconds].
"""

MS_PER_S = 1_000


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest complete milestone, its timestamp in milliseconds since 1970, and its age in seconds."""

    milestone_index: int
    timestamp_ms: int
    age_s: float


async def find_newest(store: Store, network: str) -> Newest | None:
    """Reads a few rows. None without a complete milestone, or without its timestamp."""
    index = await find_newest_milestone(store, network)
    if index is None:
        return None
    row = await store.get(schema.sync, (index // await get_chunk_size(store), index))
    if row is None or row["ms_timestamp"] is None:
        return None
    return Newest(index, row["ms_timestamp"], round(time.time() - row["ms_timestamp"] / MS_PER_S, 3))


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a store is behind its network.

    Attributes:
        newest: the newest complete milestone.
        seconds: how old it is now.
        behind: the number of milestones up to the newest one that a follower's node reported.
        seen_at: when the node reported it, in seconds since 1970.
        days_due: the number of milestones that are not yet counted in the analytics of days.
        eta_s: seconds from `seen_at` until the follower reaches the node's newest milestone; None if it is unknown.
    """

    newest: int
    seconds: float
    behind: int
    seen_at: float
    days_due: int
    eta_s: float | None


async def find_lag(store: Store, network: str) -> Lag | None:
    """Reads a few rows. None if no follower has loaded into the store, or without complete milestones."""
    head, due = await store.get_many(schema.keyspace_info, [(HEAD,), (DAYS_DUE,)])
    newest = await find_newest(store, network)
    if head is None or newest is None:
        return None
    index, seen_at, *eta_s = json.loads(head["value"])
    return Lag(
        newest.milestone_index,
        newest.age_s,
        max(0, index - newest.milestone_index),
        seen_at,
        size(parse_intervals(due["value"])) if due else 0,
        # A follower of an earlier version did not record it.
        eta_s[0] if eta_s else None,
    )
