"""Converts time spans to the milestones that may lie in them.

Milestone timestamps may repeat or fall, and ranges are ranges of milestones. So a time span becomes intervals of
milestones, and the timestamp of each row decides. `ranges` excludes ranges outside the span. If timestamps rise within
a range, its bounds are found in `sync` by binary search.
"""

from dataclasses import dataclass, replace

from db import schema
from db.intervals import Intervals, add, intervals, nth, parse_intervals, size
from db.store import Row, Store
from db.sync import list_ranges

FOREVER = 2**63
"""Later than any timestamp in a store."""


@dataclass(frozen=True, slots=True)
class Window:
    """start_ms <= t < end_ms, in milliseconds since 1970. All rows of the window are in `milestones`.

    `timeless`: the window includes rows without a timestamp, such as genesis outputs that no milestone dates.
    `between`: the first and last milestone that were requested, of which `milestones` has those of that time.
    """

    start_ms: int
    end_ms: int
    milestones: Intervals
    timeless: bool = False
    between: tuple[int, int] = (0, schema.PENDING_RANGE)

    def __str__(self) -> str:
        """What distinguishes the window from others, whatever is loaded."""
        milestones = "" if self.between == (0, schema.PENDING_RANGE) else " {}-{}".format(*self.between)
        return f"{self.start_ms}-{self.end_ms}{milestones}"

    def holds(self, ms_timestamp: int | None) -> bool:
        """Whether the timestamp is in the window."""
        return self.timeless if ms_timestamp is None else self.start_ms <= ms_timestamp < self.end_ms

    def includes(self, milestone_index: int, ms_timestamp: int | None) -> bool:
        """Whether a row of that milestone and time is in the window."""
        return self.holds(ms_timestamp) and any(first <= milestone_index <= last for first, last in self.milestones)

    def from_genesis(self, genesis: int) -> "Window":
        """The same window, extended back to the genesis, whose rows may have no timestamp."""
        return replace(self, milestones=add(self.milestones, [(0, genesis)]), timeless=True)


async def find_window(store: Store, network: str, start_ms: int = 0, end_ms: int = FOREVER) -> Window:
    """The window over all milestones in `sync`. It is empty if it ends at or before its start."""
    if start_ms >= end_ms:
        return Window(start_ms, end_ms, [])
    parts = [part async for row in list_ranges(store, network) for part in await _inside(store, row, start_ms, end_ms)]
    return Window(start_ms, end_ms, intervals(parts))


async def _inside(store: Store, row: Row, start_ms: int, end_ms: int) -> Intervals:
    """The milestones of one range that may be in the window: one interval or none."""
    complete, incomplete = parse_intervals(row["complete"]), parse_intervals(row["incomplete"])
    if incomplete:
        # A range summarizes only its complete milestones, and listings include rows of the others too.
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
    """The number of complete milestones before a time in a range whose timestamps rise."""
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
