"""Active addresses per calendar interval: counts so far, and whether an address was active.

An interval or an address takes a bounded number of reads. Timestamps may fall, so the milestones of an interval are
searched from the lowest of its days, and each row's own timestamp decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from db import schema
from db.queries.analytics import list_address, list_between
from db.schema import CALENDAR
from db.store import Store
from db.utc_days import DAY_S, calendar_interval, format_day

AT_ONCE = 4
"""Rows per read; the first row nearly always decides."""


@dataclass(frozen=True)
class Interval:
    """An interval of CALENDAR (by column), [start_s, end_s), and its lowest complete milestone."""

    column: str
    first_s: int
    end_s: int
    lowest: int

    def holds(self, ms_timestamp: int) -> bool:
        """Whether a milestone with this timestamp is in the interval."""
        return self.first_s <= ms_timestamp // 1000 < self.end_s


async def list_begun(store: Store, days: Iterable[int], genesis: int, last: int) -> list[Interval]:
    """The intervals of these days that may already contain milestones of (genesis, last]."""
    wanted = {(column, *calendar_interval(unit, day)) for column, unit in CALENDAR.items() for day in days}
    dates = sorted({day for _, first, end in wanted for day in range(first, end)})
    rows = await store.get_many(schema.date_cache, [(format_day(day),) for day in dates])
    lowest = {day: row["start_ms"] for day, row in zip(dates, rows, strict=True) if row is not None}
    begun = []
    for column, first, end in sorted(wanted):
        since = min((lowest[day] for day in range(first, end) if day in lowest), default=last + 1)
        if since <= last:
            begun.append(Interval(column, first * DAY_S, end * DAY_S, max(since, genesis + 1)))
    return begun


async def find_counts(
    store: Store, chunk_size: int, intervals: Sequence[Interval], last: int
) -> Mapping[str, Mapping[int, int]]:
    """Column → first second of each interval → number of active addresses in its milestones up to `last`."""
    found: dict[str, dict[int, int]] = {}
    for each in intervals:
        found.setdefault(each.column, {})[each.first_s] = await _find_count(store, chunk_size, each, last)
    return found


async def _find_count(store: Store, chunk_size: int, interval: Interval, last: int) -> int:
    for ms_range_id in range(last // chunk_size, interval.lowest // chunk_size - 1, -1):
        rows = list_between(
            store,
            schema.ms_analytics,
            (ms_range_id,),
            (interval.lowest,),
            (last,),
            newest=True,
            columns=("milestone_index", "ms_timestamp", interval.column),
            at_once=AT_ONCE,
        )
        async with aclosing(rows):
            async for row in rows:
                if interval.holds(row["ms_timestamp"]):
                    count: int = row[interval.column]
                    return count
    return 0


async def list_active(store: Store, address: str, intervals: Sequence[Interval], last: int) -> list[tuple[int, int]]:
    """Milestones up to `last`, with their timestamps in milliseconds, in which an address was active. Contains at least
    one per interval, if there is one, and possibly others.
    """
    found: list[tuple[int, int]] = []
    left = list(intervals)
    if left:
        rows = list_address(store, address, min(each.lowest for each in left), last, newest=True, at_once=AT_ONCE)
        async with aclosing(rows):
            async for row in rows:
                index, ms_timestamp = row["milestone_index"], row["ms_timestamp"]
                found.append((index, ms_timestamp))
                left = [each for each in left if each.lowest < index and not each.holds(ms_timestamp)]
                if not left:
                    break
    return found
