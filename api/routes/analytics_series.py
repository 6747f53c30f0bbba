"""Analytics v2, ours: series by milestone, hour and day.

Rules of this file: as in explorer_v2.py. All are there as CSV and NDJSON too, whole, read some rows at a time;
`pageSize` and `cursor` then do not matter. `start` and `end` both are in a series; hours and days are whole ones.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from api.errors import BadParameter
from api.exports import exports_of
from api.listing import Json
from api.network import NetworkMount
from api.operations import Operation
from api.params import OldestFirst
from api.params_analytics import END, DayMeasures, End, HourMeasures, MilestoneMeasures, Start
from api.params_explorer import After, ExplorerPageSize, OwnCursor
from api.responses_analytics import AMOUNTS, DaySeries, HourSeries, MilestoneSeries
from db.cursor import Cursor, format_cursor, parse_cursor
from db.intervals import intersect
from db.paging import Page
from db.queries.analytics import ROWS_AT_ONCE
from db.queries.series import (
    DAY_S,
    HOUR_S,
    NEWEST,
    Batch,
    Edge,
    cut,
    find_milestones,
    find_seconds,
    list_by_day,
    list_by_hour,
    list_by_milestone,
)
from db.store import Row
from db.times import Window

Render: TypeAlias = Callable[[Row], Json]
Measures: TypeAlias = Mapping[str, str]


def edges(start: Edge | None, end: Edge | None) -> tuple[Edge, Edge]:
    """Both ends; BadParameter for a series that ends before it starts."""
    first, last = start or Edge(), end or Edge()
    if None not in (first.milestone, last.milestone):
        begins, ends = first.milestone, last.milestone
    elif first.milestone is last.milestone:
        begins, ends = first.first_s, last.last_s
    else:
        return first, last
    if (begins or 0) > (ends or 0):
        raise BadParameter(END.name, f"start ({begins}) or later", str(ends))
    return first, last


def measured(measures: Measures) -> Render:
    """What is told of each row: amounts as texts."""
    asked = [(name, column, column.endswith(AMOUNTS)) for name, column in measures.items()]

    def render(row: Row) -> Json:
        return {
            name: str(row[column]) if is_amount and row[column] is not None else row[column]
            for name, column, is_amount in asked
        }

    return render


async def page_of(batches: AsyncIterator[Batch], render: Render, position: str, question: str, at: After) -> Json:
    """A page of a series; rows stand where their column `position` says."""
    rows, last = await cut(batches, position, at.page_size)
    cursor = None if last is None else format_cursor(Cursor((last,)), question)
    return {"items": [render(row) for row in rows], "cursor": at.next(Page(rows, cursor))}


def place(at: After, question: str) -> int | None:
    """Where the page before ended; CursorError for a cursor of another series."""
    if at.cursor is None:
        return None
    (place,) = parse_cursor(at.cursor, question).key
    assert isinstance(place, int)
    return place


def remaining(span: tuple[int, int], after: int | None, step: int, *, newest: bool) -> tuple[int, int]:
    """What of a span is left after a page that ended there."""
    first, last = span
    if after is None:
        return span
    return (first, min(last, after - 1)) if newest else (max(first, after + step), last)


async def remaining_milestones(
    network: NetworkMount, start: Edge | None, end: Edge | None, after: int | None, *, newest: bool
) -> Window:
    """The milestones of a span that are left after a page that ended there."""
    window = await find_milestones(network.store, network.name, *edges(start, end))
    first, last = remaining((0, NEWEST), after, 1, newest=newest)
    return replace(window, milestones=intersect(window.milestones, [(first, last)]) if first <= last else [])


async def milestone_batches(
    network: NetworkMount,
    start: Edge | None,
    end: Edge | None,
    measures: Measures,
    *,
    newest: bool,
    after: int | None = None,
    at_once: int = ROWS_AT_ONCE,
) -> AsyncIterator[Batch]:
    """Milestones of a span, after a page that ended there."""
    window = await remaining_milestones(network, start, end, after, newest=newest)
    columns = tuple(measures.values())
    batches = list_by_milestone(network.store, network.name, window, columns, newest=newest, at_once=at_once)
    async for batch in batches:
        yield batch


def milestone_point(measures: Measures) -> Render:
    """An item of a series by milestone."""
    values = measured(measures)
    return lambda row: (
        {
            "milestoneIndex": row["milestone_index"],
            "timestamp": row["ms_timestamp"] // 1000,
        }
        | values(row)
    )


async def milestone_series(
    network: NetworkMount,
    start: Start,
    end: End,
    measures: MilestoneMeasures,
    newest: OldestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Each milestone in numbers; with Accept CSV or NDJSON, all of them.

    What depends on the ledger state is null behind the ledger index.
    """
    at = after or After(page_size)
    question = f"milestones {start} {end} {measures} {newest}"
    batches = milestone_batches(
        network, start, end, measures, newest=newest, after=place(at, question), at_once=at.page_size + 1
    )
    return await page_of(batches, milestone_point(measures), "milestone_index", question, at)


async def all_milestones(
    network: NetworkMount, start: Edge | None, end: Edge | None, measures: Measures, *, newest: bool
) -> AsyncGenerator[list[Json]]:
    """The whole series by milestone."""
    point = milestone_point(measures)
    async for batch in milestone_batches(network, start, end, measures, newest=newest):
        yield [point(row) for row in batch.rows]


async def hour_batches(
    network: NetworkMount,
    start: Edge | None,
    end: Edge | None,
    measures: Measures,
    *,
    newest: bool,
    after: int | None = None,
) -> AsyncIterator[Batch]:
    """Hours of a span, after a page that ended there."""
    span = await find_seconds(network.store, network.name, *edges(start, end))
    left = remaining(span, after, HOUR_S, newest=newest)
    async for batch in list_by_hour(network.store, network.name, left, tuple(measures.values()), newest=newest):
        yield batch


def hour_point(measures: Measures) -> Render:
    """An item of a series by hour."""
    values = measured(measures)
    return lambda row: {"timestamp": row["second"]} | values(row)


async def hour_series(
    network: NetworkMount,
    start: Start,
    end: End,
    measures: HourMeasures,
    newest: OldestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Each hour that has milestones in numbers: summed, or as it ended; with Accept CSV or NDJSON, all of them.

    What a part of it does not know, as what depends on the ledger state behind the ledger index, is null.
    """
    at = after or After(page_size)
    question = f"hours {start} {end} {measures} {newest}"
    batches = hour_batches(network, start, end, measures, newest=newest, after=place(at, question))
    return await page_of(batches, hour_point(measures), "second", question, at)


async def all_hours(
    network: NetworkMount, start: Edge | None, end: Edge | None, measures: Measures, *, newest: bool
) -> AsyncGenerator[list[Json]]:
    """The whole series by hour."""
    point = hour_point(measures)
    async for batch in hour_batches(network, start, end, measures, newest=newest):
        yield [point(row) for row in batch.rows]


async def day_batches(
    network: NetworkMount,
    start: Edge | None,
    end: Edge | None,
    measures: Measures,
    *,
    newest: bool,
    after: int | None = None,
    at_once: int = ROWS_AT_ONCE,
) -> AsyncIterator[Batch]:
    """Days of a span, after a page that ended there."""
    span = await find_seconds(network.store, network.name, *edges(start, end))
    left = remaining(span, after, DAY_S, newest=newest)
    columns = tuple(measures.values())
    batches = list_by_day(network.store, network.name, left, columns, newest=newest, at_once=at_once)
    async for batch in batches:
        yield batch


def day_point(measures: Measures) -> Render:
    """An item of a series by day."""
    values = measured(measures)
    return lambda row: {"date": row["date"], "timestamp": row["second"]} | values(row)


async def day_series(
    network: NetworkMount,
    start: Start,
    end: End,
    measures: DayMeasures,
    newest: OldestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Each UTC day that has milestones in numbers, as each hour; with Accept CSV or NDJSON, all of them.

    Days alone tell addresses, indexes and tags apart.
    """
    at = after or After(page_size)
    question = f"days {start} {end} {measures} {newest}"
    batches = day_batches(
        network, start, end, measures, newest=newest, after=place(at, question), at_once=at.page_size + 1
    )
    return await page_of(batches, day_point(measures), "second", question, at)


async def all_days(
    network: NetworkMount, start: Edge | None, end: Edge | None, measures: Measures, *, newest: bool
) -> AsyncGenerator[list[Json]]:
    """The whole series by day."""
    point = day_point(measures)
    async for batch in day_batches(network, start, end, measures, newest=newest):
        yield [point(row) for row in batch.rows]


ANALYTICS_SERIES = (
    Operation(
        "/series/milestone",
        milestone_series,
        MilestoneSeries,
        exports=exports_of(all_milestones, lambda measures, **_: ("milestoneIndex", "timestamp", *measures)),
    ),
    Operation(
        "/series/hour",
        hour_series,
        HourSeries,
        exports=exports_of(all_hours, lambda measures, **_: ("timestamp", *measures)),
    ),
    Operation(
        "/series/day",
        day_series,
        DaySeries,
        exports=exports_of(all_days, lambda measures, **_: ("date", "timestamp", *measures)),
    ),
)
