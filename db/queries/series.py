"""Series of analytics by milestone, hour and day, in batches, so that readers can stop anywhere.

Invariants:
1. An hour or a day consists of all its complete milestones, even if timestamps fall. Counts are summed; state is that
   of
   the last milestone.
2. A sum is null if one of its parts is unknown: a milestone that is not analysed yet, or a change beyond the ledger
   index.
"""

from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from db import schema
from db.intervals import Intervals, intersect
from db.listing.streams import get_chunk_size
from db.measures import MEASURES, columns_of
from db.measures.measure import Kind
from db.partitions import ms_range_id
from db.queries.analytics import find_day, list_address, list_between, list_days, list_in_ranges, list_milestones
from db.queries.ledger import find_balances
from db.queries.spans import LAST_S, NEWEST, Edge, between
from db.store import Bound, Row, Store
from db.sync import complete
from db.times import Window
from db.utc_days import DAY_S, EPOCH, HOUR_S

EXAMINED = 20_000
"""The most milestones that a page reads to compute hours and days; a day with one every five seconds has fewer."""

OF_MILESTONES = tuple(column.name for column in schema.MEASURE_COLUMNS)

TREASURY = "treasury_amount"
"""Base tokens in the treasury after a milestone, which has its own table; None if there never was a treasury."""

LAST_VALUES = frozenset({"milestone_index", TREASURY, *columns_of(Kind.STATE, Kind.CALENDAR)})
"""Columns whose value for an hour or a day is that of its last milestone. All others are summed."""

OF_DAYS = tuple(name for name in schema.daily_analytics.names if name not in schema.daily_analytics.key)
"""Columns that are stored for a whole day."""

_NOT_SUMMABLE = frozenset(name for each in MEASURES.values() if not each.is_summable for name in each.names)

OF_HOURS = ("milestone_count", *(name for name in OF_MILESTONES if name not in _NOT_SUMMABLE))
"""Columns of an hour or a day that are computed from its milestones."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows in the series' order.

    Args:
        rows: The rows.
        at: The position of the last row examined.
        examined: The number of rows examined.
        is_last: Nothing follows, as far as is known.
    """

    rows: list[Row]
    at: int
    examined: int
    is_last: bool = False


async def find_seconds(store: Store, network: str, start: Edge, end: Edge) -> tuple[int, int]:
    """The first and the last second between two edges. For a milestone, its timestamp if it is complete."""
    if start.milestone is None and end.milestone is None:
        return start.first_s, end.last_s
    last = NEWEST if end.milestone is None else end.milestone
    held = intersect(await complete(store, network), between(start.milestone or 0, last))
    if not held:
        return LAST_S, 0
    chunk_size = await get_chunk_size(store)
    keys = [(ms_range_id(index, chunk_size), index) for index in (held[0][0], held[-1][1])]
    first_s, last_s = (row["ms_timestamp"] // 1000 if row else 0 for row in await store.get_many(schema.sync, keys))
    return start.first_s if start.milestone is None else first_s, end.last_s if end.milestone is None else last_s


async def list_by_milestone(
    store: Store, network: str, window: Window, columns: Sequence[str], *, newest: bool, at_once: int
) -> AsyncIterator[Batch]:
    """Yields rows of `ms_analytics` in the window, with these columns."""
    read = ("ms_timestamp", *(name for name in columns if name != TREASURY))

    def rows(first: int, last: int) -> AsyncIterator[Row]:
        return list_milestones(store, network, first, last, newest=newest, columns=read, at_once=at_once)

    async for batch in _in_window(window, rows, newest=newest, at_once=at_once):
        yield replace(batch, rows=await _with_treasury(store, network, batch.rows, columns))


async def list_of_address(
    store: Store, address: str, window: Window, *, newest: bool, at_once: int
) -> AsyncIterator[Batch]:
    """Yields rows of `address_analytics` of an address in the window, with its `balance` after each milestone."""

    def rows(first: int, last: int) -> AsyncIterator[Row]:
        return list_address(store, address, first, last, newest=newest, at_once=at_once)

    async for batch in _in_window(window, rows, newest=newest, at_once=at_once):
        balances = await find_balances(store, address, [row["milestone_index"] for row in batch.rows])
        with_balance = [row | {"balance": each} for row, each in zip(batch.rows, balances, strict=True)]
        yield replace(batch, rows=with_balance)


async def _in_window(
    window: Window, rows: Callable[[int, int], AsyncIterator[Row]], *, newest: bool, at_once: int
) -> AsyncIterator[Batch]:
    for first, last in window.milestones[:: -1 if newest else 1]:
        held: list[Row] = []
        async for row in rows(first, last):
            held.append(row)
            if len(held) == at_once:
                yield _of_window(held, window)
                held = []
        if held:
            yield _of_window(held, window)


def _of_window(rows: list[Row], window: Window) -> Batch:
    inside = [row for row in rows if window.holds(row["ms_timestamp"])]
    return Batch(inside, rows[-1]["milestone_index"], len(rows))


async def list_by_day(
    store: Store, network: str, seconds: tuple[int, int], columns: Sequence[str], *, newest: bool, at_once: int
) -> AsyncIterator[Batch]:
    """Yields days, by their first second in `second`, with these columns. Columns of OF_HOURS require all milestones of
    the day, LAST_VALUES only the last one.
    """
    others = [name for name in columns if name not in OF_DAYS]
    ends = LAST_VALUES.issuperset(others)
    whole = await complete(store, network) if others else []
    held: list[Row] = []
    examined = 0
    kept = [name for name in columns if name in OF_DAYS]
    days = list_kept_days(store, network, seconds, kept, newest=newest, at_once=at_once)
    async for day, is_last in _ended(days):
        rows = await _milestones_of(store, network, whole, day["date"], others, ends=ends) if others else []
        held.append(day | _together(rows, others))
        examined += 1 + len(rows)
        if is_last or len(held) == at_once or examined >= EXAMINED:
            yield Batch(held, day["second"], examined, is_last)
            held, examined = [], 0


async def list_by_hour(
    store: Store, network: str, seconds: tuple[int, int], columns: Sequence[str], *, newest: bool
) -> AsyncIterator[Batch]:
    """Yields hours, by their first second in `second`, with these columns of OF_HOURS and LAST_VALUES. A batch is one
    day.
    """
    first, last = seconds
    whole = await complete(store, network)
    async for day, is_last in _ended(list_kept_days(store, network, seconds, (), newest=newest, at_once=1)):
        hours: dict[int, list[Row]] = {}
        rows = await _milestones_of(store, network, whole, day["date"], columns)
        for row in rows:
            hours.setdefault(row["ms_timestamp"] // 1000 // HOUR_S * HOUR_S, []).append(row)
        wanted = sorted(hour for hour in hours if first - HOUR_S < hour <= last)
        found = [{"second": hour} | _together(hours[hour], columns) for hour in wanted[:: -1 if newest else 1]]
        yield Batch(found, day["second"] + (0 if newest else DAY_S - HOUR_S), 1 + len(rows), is_last)


async def _ended(rows: AsyncIterator[Row]) -> AsyncIterator[tuple[Row, bool]]:
    """Yields each row, and whether it is the last."""
    held: Row | None = None
    async for row in rows:
        if held is not None:
            yield held, False
        held = row
    if held is not None:
        yield held, True


async def list_kept_days(
    store: Store,
    network: str,
    seconds: tuple[int, int],
    columns: Sequence[str],
    *,
    newest: bool = False,
    at_once: int | None = None,
) -> AsyncIterator[Row]:
    """Yields days, by their first second in `second`, with these columns of OF_DAYS."""
    if seconds[0] <= seconds[1]:
        first, last = (_date(second) for second in seconds)
        days = list_days(store, network, first, last, newest=newest, columns=columns, at_once=at_once)
        async for row in days:
            row["second"] = DAY_S * (date.fromisoformat(row["date"]).toordinal() - EPOCH)
            yield row


async def _milestones_of(
    store: Store, network: str, whole: Intervals, day: str, columns: Sequence[str], *, ends: bool = False
) -> list[Row]:
    """Rows of `ms_analytics` of a day's milestones (`whole`: the complete ones), ascending. Milestones that are not
    analysed yet have only index and timestamp. `ends`: only the last one.
    """
    cached = await find_day(store, day)
    if cached is None:
        return []
    first, last = cached["end_ms"] if ends else cached["start_ms"], cached["end_ms"]
    chunk_size = await get_chunk_size(store)
    ranges = range(ms_range_id(first, chunk_size), ms_range_id(last, chunk_size) + 1)
    read = ("ms_timestamp", *(name for name in columns if name not in ("milestone_count", TREASURY)))
    rows = {row["milestone_index"]: row async for row in list_in_ranges(store, ranges, first, last, columns=read)}
    spans = intersect(whole, [(first, last)])
    missing = [index for low, high in spans for index in range(low, high + 1) if index not in rows]
    unknown = dict.fromkeys(read)
    for row in await store.get_many(schema.sync, [(ms_range_id(index, chunk_size), index) for index in missing]):
        if row is not None:
            known = {name: row[name] for name in ("milestone_index", "ms_timestamp")}
            rows[known["milestone_index"]] = unknown | known
    of_day = [row for _, row in sorted(rows.items()) if _date(row["ms_timestamp"] // 1000) == day]
    return await _with_treasury(store, network, of_day, columns)


async def _with_treasury(store: Store, network: str, rows: list[Row], columns: Sequence[str]) -> list[Row]:
    """Adds TREASURY to rows of milestones, ascending or descending, if it is among the columns."""
    if TREASURY not in columns or not rows:
        return rows
    first, last = sorted((rows[0]["milestone_index"], rows[-1]["milestone_index"]))
    held = [*await store.slice(schema.treasury, (network,), upper=Bound((first,)), limit=1)]
    later = list_between(store, schema.treasury, (network,), (first + 1,), (last,), newest=False)
    held += [row async for row in later]
    since = [row["milestone_index"] for row in held]
    places = (bisect_right(since, row["milestone_index"]) for row in rows)
    return [row | {TREASURY: held[at - 1]["amount"] if at else None} for row, at in zip(rows, places, strict=True)]


def _together(rows: Sequence[Row], columns: Sequence[str]) -> Row:
    """Merges milestones, ascending, to one row."""
    found: Row = {}
    for name in columns:
        if name == "milestone_count":
            found[name] = len(rows)
        elif name in LAST_VALUES:
            found[name] = rows[-1][name] if rows else None
        else:
            values = [row[name] for row in rows]
            found[name] = None if None in values else sum(values)
    return found


def _date(second: int) -> str:
    return str(datetime.fromtimestamp(second, UTC).date())


async def cut(batches: AsyncIterator[Batch], position: str, page_size: int) -> tuple[list[Row], int | None]:
    """A page of a series, and the position of its last row in the column `position`; None if the series ends with it.

    A page that reaches EXAMINED rows may have fewer rows than requested.
    """
    rows: list[Row] = []
    examined = 0
    async for batch in batches:
        rows += batch.rows
        if len(rows) > page_size:
            return rows[:page_size], rows[page_size - 1][position]
        examined += batch.examined
        if examined >= EXAMINED:
            return rows, None if batch.is_last else batch.at
    return rows, None
