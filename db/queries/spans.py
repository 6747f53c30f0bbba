"""Spans of milestones between two edges, each a milestone, a time or a UTC day."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from db import schema
from db.intervals import Intervals, intersect
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

    The genesis has no timestamp. Unless `with_genesis` is False, it precedes every time, so it is included if no start
    is a time or a later milestone.
    """
    if not starts and not ends:
        return None
    window = await _find(store, network, starts, ends)
    rows = await store.slice(schema.ledger_frontier, (network,), reverse=True, limit=1) if with_genesis else []
    genesis = rows[0]["ledger_index"] if rows else None
    if genesis is None or any(each.milestone is None or each.milestone > genesis for each in starts):
        return window
    if any(each.last_s < 0 if each.milestone is None else each.milestone < genesis for each in ends):
        return window
    return window.from_genesis(genesis)


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
