"""Spans of milestones between two edges, each a milestone, a time or a UTC day."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from db import schema
from db.intervals import Intervals, intersect
from db.queries.milestones import find_timestamps
from db.store import Store
from db.times import FOREVER, Window, find_window

LAST_S = 253_402_300_799
"""The end of the year 9999, the latest date."""

NEWEST = schema.PENDING_RANGE
"""Greater than any milestone."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One end of a span: a milestone, or seconds since 1970 (for a day its first and last second)."""

    first_s: int = 0
    last_s: int = LAST_S
    milestone: int | None = None


async def find_milestones(store: Store, network: str, start: Edge, end: Edge) -> Window:
    """The milestones between two edges, inclusive."""
    return await _find(store, network, [start], [end])


async def find_span(
    store: Store, network: str, starts: Sequence[Edge], ends: Sequence[Edge], *, with_genesis: bool = True
) -> Window | None:
    """The milestones after all starts and before all ends, inclusive; None without any edge.

    The genesis has a timestamp only if it is a snapshot. Without one, and unless `with_genesis` is False, it precedes
    every time, so it is included if no start is a time or a later milestone.
    """
    if not starts and not ends:
        return None
    window = await _find(store, network, starts, ends)
    rows = await store.slice(schema.ledger_frontier, (network,), reverse=True, limit=1) if with_genesis else []
    genesis = rows[0]["ledger_index"] if rows else None
    if genesis is None:
        return window
    has_times = any(each.milestone is None for each in (*starts, *ends))
    time = (await find_timestamps(store, [genesis]))[0] if has_times else None
    # A time that is unknown precedes all others.
    at = -1 if time is None else time
    is_before = any(at < each.first_s if each.milestone is None else genesis < each.milestone for each in starts)
    is_after = any(max(at, 0) > each.last_s if each.milestone is None else genesis > each.milestone for each in ends)
    return window if is_before or is_after else window.from_genesis(genesis)


async def _find(store: Store, network: str, starts: Sequence[Edge], ends: Sequence[Edge]) -> Window:
    start_ms = max((1000 * each.first_s for each in starts if each.milestone is None), default=0)
    end_ms = min((1000 * (each.last_s + 1) for each in ends if each.milestone is None), default=FOREVER)
    first = max((each.milestone for each in starts if each.milestone is not None), default=0)
    last = min((each.milestone for each in ends if each.milestone is not None), default=NEWEST)
    window = await find_window(store, network, start_ms, end_ms)
    return replace(window, milestones=intersect(window.milestones, between(first, last)), between=(first, last))


def between(first: int, last: int) -> Intervals:
    """The milestones from the first to the last."""
    return [(first, last)] if first <= last else []
