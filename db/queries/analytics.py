"""Queries of the analytics tables: series by milestone, by day and by address, and the counts of a day.

Invariants:
1. Series are read as they are consumed, `at_once` rows at a time (default: ROWS_AT_ONCE), so streaming needs little
   memory.
2. Both ends of an interval are inclusive.
3. What is not analysed yet is omitted.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from db import schema
from db.coverage import check_all
from db.intervals import intersect, parse_intervals
from db.listing.streams import get_chunk_size, key_of
from db.model import Order, Table
from db.store import Bound, Key, Row, Store
from db.sync import list_ranges

ANALYTICS = "analytics"
"""What a selective store does not have."""

ROWS_AT_ONCE = 1_000

LEDGER_HINT = ("ledger", "address", True)
"""Output kind, variant and included: the columns of addresses_hints for address_analytics, after the address."""

PIECE = 10_000
"""The most milestones per sum in `analytics_ranges`, so that a partial one reads no more rows. A range has ten sums."""

SUMMED = ("message_count", "transaction_count", "transferred_tokens")
"""Measures that Chronicle sums over consecutive milestones."""

ANALYSED, ANALYSED_BY = "analysed", "analysed_by"
"""Keys of keyspace_info: the milestones (as intervals) whose messages and days are in these tables, and the run that
recorded them.
"""

DAYS_DUE = "days_due"
"""Key of keyspace_info: analysed milestones (as intervals) that are not yet counted in the tables of days. A follower
counts them at most once a minute.
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive milestones [first, last] and the sums of their SUMMED columns."""

    first: int
    last: int
    message_count: int
    transaction_count: int
    transferred_tokens: int

    def before(self, later: "Run") -> "Run":
        """Merges both runs; `later` follows this one."""
        sums = (getattr(self, name) + getattr(later, name) for name in SUMMED)
        return Run(self.first, later.last, *sums)


async def find_milestone(store: Store, chunk_size: int, milestone_index: int) -> Row | None:
    """The row of `ms_analytics`, also for the genesis; None without one."""
    await check_all(store, ANALYTICS)
    return await store.get(schema.ms_analytics, (milestone_index // chunk_size, milestone_index))


async def list_milestones(
    store: Store,
    network: str,
    first: int,
    last: int,
    *,
    newest: bool = False,
    columns: Sequence[str] | None = None,
    at_once: int | None = None,
) -> AsyncIterator[Row]:
    """Yields rows of `ms_analytics` of the complete milestones in [first, last]. `columns` limits the columns; the
    index is always included.
    """
    await check_all(store, ANALYTICS)
    ranges = [
        row["ms_range_id"]
        async for row in list_ranges(store, network)
        if intersect(parse_intervals(row["complete"]), [(first, last)])
    ]
    ordered = reversed(ranges) if newest else ranges
    async for row in list_in_ranges(store, ordered, first, last, newest=newest, columns=columns, at_once=at_once):
        yield row


async def list_in_ranges(
    store: Store,
    ranges: Iterable[int],
    first: int,
    last: int,
    *,
    newest: bool = False,
    columns: Sequence[str] | None = None,
    at_once: int | None = None,
) -> AsyncIterator[Row]:
    """Like `list_milestones`, for the ranges with these ids, in this order."""
    wanted = None if columns is None else tuple(dict.fromkeys(("milestone_index", "message_count", *columns)))
    for ms_range_id in ranges:
        partition = (ms_range_id,)
        rows = list_between(
            store,
            schema.ms_analytics,
            partition,
            (first,),
            (last,),
            newest=newest,
            columns=wanted,
            at_once=at_once,
        )
        async for row in rows:
            if row["message_count"] is not None:
                yield row


async def list_runs(store: Store, network: str, first: int, last: int) -> AsyncIterator[Run]:
    """Yields the milestones [first, last] as runs without gaps, newest first. Whole pieces of PIECE milestones come
    from stored sums, the partial ones at the ends from the milestones.
    """
    await check_all(store, ANALYTICS)
    run: Run | None = None
    async for row in list_between(store, schema.analytics_ranges, (network,), None, None, newest=True):
        for held in reversed(parse_runs(row["runs"])):
            low, high = max(held.first, first), min(held.last, last)
            if low > high:
                continue
            part: Run | None = held
            if (low, high) != (held.first, held.last):
                bounds = (row["ms_range_id"],), (low,), (high,)
                columns = ("milestone_index", *SUMMED)
                rows = list_between(store, schema.ms_analytics, *bounds, newest=False, columns=columns)
                part = next(iter(runs_of([each async for each in rows])), None)
            if part is not None and run is not None and part.last == run.first - 1:
                run = part.before(run)
            elif part is not None:
                if run is not None:
                    yield run
                run = part
    if run is not None:
        yield run


def runs_of(rows: Iterable[Row], piece: int | None = None) -> list[Run]:
    """Groups ascending rows of `ms_analytics` into runs, without milestones that are not analysed and columns without
    sums. `piece`: a run also ends before each multiple of it.
    """
    found: list[Run] = []
    for row in rows:
        if None not in (row[name] for name in SUMMED):
            index = row["milestone_index"]
            run = Run(index, index, *(row[name] for name in SUMMED))
            if found and found[-1].last == index - 1 and (piece is None or index % piece):
                run = found.pop().before(run)
            found.append(run)
    return found


def format_runs(runs: Sequence[Run]) -> str:
    """Formats runs for `analytics_ranges`."""
    return json.dumps([astuple(run) for run in runs])


def parse_runs(text: str) -> list[Run]:
    """Parses the format of `format_runs`."""
    return [Run(*each) for each in json.loads(text)]


async def find_state(store: Store) -> str | None:
    """A value that changes whenever daily rows change; None if nothing was analysed."""
    notes = await store.get_many(schema.keyspace_info, [(ANALYSED,), (ANALYSED_BY,)])
    return None if None in notes else " ".join(note["value"] for note in notes if note)


async def list_days(
    store: Store,
    network: str,
    first: str,
    last: str,
    *,
    newest: bool = False,
    columns: Sequence[str] | None = None,
    at_once: int | None = None,
) -> AsyncIterator[Row]:
    """Yields rows of `daily_analytics` of the UTC days [first, last] (ISO 8601). `columns` limits the columns; the date
    is always included.
    """
    await check_all(store, ANALYTICS)
    wanted = None if columns is None else tuple(dict.fromkeys(("date", *columns)))
    years = set[int]()
    async for row in list_ranges(store, network):
        if row["min_timestamp"] is not None:
            years.update(range(_year(row["min_timestamp"]), _year(row["max_timestamp"]) + 1))
    inside = years.intersection(range(int(first[:4]), int(last[:4]) + 1))
    for year in sorted(inside, reverse=newest):
        rows = list_between(
            store,
            schema.daily_analytics,
            (year,),
            (first,),
            (last,),
            newest=newest,
            columns=wanted,
            at_once=at_once,
        )
        async for row in rows:
            yield row


async def list_address(
    store: Store, address: str, first: int, last: int, *, newest: bool = False, at_once: int | None = None
) -> AsyncGenerator[Row]:
    """Yields rows of `address_analytics` of an address in the milestones [first, last], up to the ledger index."""
    await check_all(store, ANALYTICS)
    chunk_size = await get_chunk_size(store)
    key, ranges = (address, *LEDGER_HINT), ((first // chunk_size,), (last // chunk_size,))
    hints = list_between(store, schema.addresses_hints, key, *ranges, newest=newest, at_once=at_once)
    known: int | None = None
    async for hint in hints:
        ms_range_id = hint["ms_range_id"]
        if ms_range_id == known:
            # A hot address has several partitions of updates per range, but one of analytics.
            continue
        known = ms_range_id
        partition = (address, ms_range_id)
        rows = list_between(
            store, schema.address_analytics, partition, (first,), (last,), newest=newest, at_once=at_once
        )
        async for row in rows:
            yield row


async def find_day(store: Store, date: str) -> Row | None:
    """The row of `date_cache` of a UTC day (ISO 8601); None if the day has no complete milestone."""
    return await store.get(schema.date_cache, (date,))


async def list_between(
    store: Store,
    table: Table,
    partition: Key,
    lower: Key | None,
    upper: Key | None,
    *,
    newest: bool,
    columns: tuple[str, ...] | None = None,
    at_once: int | None = None,
) -> AsyncGenerator[Row]:
    """Yields rows of a partition between two bounds (inclusive) of its clustering columns. `newest`: the last first."""
    bounds: dict[str, Any] = {
        "lower": None if lower is None else Bound(lower),
        "upper": None if upper is None else Bound(upper),
    }
    reverse = (table.order is Order.DESC) != newest
    limit = at_once or ROWS_AT_ONCE
    while True:
        rows = await store.slice(table, partition, **bounds, reverse=reverse, limit=limit, columns=columns)
        for row in rows:
            yield row
        if len(rows) < limit:
            return
        bounds["upper" if newest else "lower"] = Bound(key_of(table, rows[-1]), inclusive=False)


def _year(ms_timestamp: int) -> int:
    return datetime.fromtimestamp(ms_timestamp / 1000, UTC).year
