"""Which milestones a span of time may hold.

Rules of this file: milestone timestamps may stand still or fall, and ranges are cut by milestone, so a span of time is
some intervals of milestones, and each row's own time decides. `ranges` drops what cannot be in it; where time rises
inside a range, the ends are found in `sync` by halving.
"""

from dataclasses import dataclass, replace

from db import schema
from db.intervals import Intervals, add, intervals, nth, parse_intervals, size
from db.store import Row, Store
from db.sync import list_ranges

FOREVER = 2**63
"""Later than any timestamp that a store can hold."""


@dataclass(frozen=True, slots=True)
class Window:
    """start_ms <= t < end_ms, in milliseconds since 1970. No row outside `milestones` is in it.

    `timeless`: rows without a time are in it, as those of genesis are that no milestone dates.
    """

    start_ms: int
    end_ms: int
    milestones: Intervals
    timeless: bool = False

    def holds(self, ms_timestamp: int | None) -> bool:
        """Whether that time is in it."""
        return self.timeless if ms_timestamp is None else self.start_ms <= ms_timestamp < self.end_ms

    def from_genesis(self, genesis: int) -> "Window":
        """The same window with everything to genesis, whose time nobody tells but that it was before."""
        return replace(self, milestones=add(self.milestones, [(0, genesis)]), timeless=True)


async def find_window(store: Store, network: str, start_ms: int = 0, end_ms: int = FOREVER) -> Window:
    """The window over all milestones that `sync` knows; an empty one when it ends where it starts, or before."""
    if start_ms >= end_ms:
        return Window(start_ms, end_ms, [])
    parts = [part async for row in list_ranges(store, network) for part in await _inside(store, row, start_ms, end_ms)]
    return Window(start_ms, end_ms, intervals(parts))


async def _inside(store: Store, row: Row, start_ms: int, end_ms: int) -> Intervals:
    """Of one range the milestones that may be in the window: one interval or none."""
    complete, incomplete = parse_intervals(row["complete"]), parse_intervals(row["incomplete"])
    if incomplete:
        # A range sums its complete milestones only, and the rows of the others are listed too.
        known = add(complete, incomplete)
        return [(known[0][0], known[-1][1])]
    if not complete or row["max_timestamp"] < start_ms or row["min_timestamp"] >= end_ms:
        return []
    begin, end = 0, size(complete)
    if row["rising"] and row["min_timestamp"] < start_ms:
        begin = await _count_before(store, row["ms_range_id"], complete, start_ms)
    if row["rising"] and row["max_timestamp"] >= end_ms:
        end = await _count_before(store, row["ms_range_id"], complete, end_ms)
    return [(nth(complete, begin), nth(complete, end - 1))] if begin < end else []


async def _count_before(store: Store, ms_range_id: int, complete: Intervals, time_ms: int) -> int:
    """How many of a range's complete milestones, among which time rises, are earlier than that."""
    low, high = 0, size(complete)
    while low < high:
        middle = (low + high) // 2
        row = await store.get(schema.sync, (ms_range_id, nth(complete, middle)))
        assert row is not None
        if row["ms_timestamp"] < time_ms:
            low = middle + 1
        else:
            high = middle
    return low
