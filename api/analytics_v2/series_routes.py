"""Analytics v2, an extension: series by milestone, hour and day.

Every series is also available as CSV and NDJSON, complete and streamed; `pageSize` and `cursor` then have no effect. A
series contains its `start` and its `end`. Hours and days are whole. Days with measures that are stored per day are
rendered once (api/analytics_v2/rendered_days.py).
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import orjson

from api.analytics_v2.measures import Measures, columns_of
from api.analytics_v2.params import END, DayMeasures, End, HourMeasures, MilestoneMeasures, Start
from api.analytics_v2.rendered_days import RenderedDays, rendered_days
from api.analytics_v2.responses import DaySeries, HourSeries, MilestoneSeries
from api.fields.inx_chronicle_params import After, ExplorerPageSize, OwnCursor
from api.fields.params import OldestFirst
from api.handlers.parameter_history import parameter_history
from api.http.errors import BadParameter
from api.http.operations import Operation
from api.http.responses import Json
from api.http.streaming import CSV, NDJSON, Export, csv_text, exports_of
from api.network import NetworkMount
from db.intervals import intersect
from db.listing.cursor import CHECKS, Cursor, format_cursor, parse_cursor
from db.listing.page import Page
from db.model import Type
from db.queries.analytics import ROWS_AT_ONCE
from db.queries.series import (
    OF_DAYS,
    Batch,
    cut,
    find_seconds,
    list_by_day,
    list_by_hour,
    list_by_milestone,
)
from db.queries.spans import NEWEST, Edge, find_milestones
from db.store import Row
from db.times import Window
from db.utc_days import DAY_S, HOUR_S

LEAST_AT_ONCE = 101
"""Minimum number of rows per read. The time filter may drop rows, and a small page would otherwise read them one by
one.
"""

Render: TypeAlias = Callable[[Row], Json]


def edges(start: Edge | None, end: Edge | None) -> tuple[Edge, Edge]:
    """Returns both ends. Raises BadParameter if the series ends before it starts."""
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


async def measured(network: NetworkMount, measures: Measures) -> Render:
    """Returns the measures of a row. Amounts are text."""
    wanted = [(name, measure.read_value, measure.is_amount) for name, measure in measures.items()]
    needs_parameters = any(measure.needs_parameters for measure in measures.values())
    history = await parameter_history(network) if needs_parameters else None

    def render(row: Row) -> Json:
        parameters = None
        if history is not None and row["milestone_index"] is not None:
            parameters = history.at(row["milestone_index"])
        found: Json = {}
        for name, read_value, is_amount in wanted:
            value = read_value(row, parameters)
            found[name] = str(value) if is_amount and value is not None else value
        return found

    return render


async def page_of(batches: AsyncIterator[Batch], render: Render, position: str, cursor_text: str, at: After) -> Json:
    """Returns a page of a series. The column `position` orders its rows."""
    rows, last = await cut(batches, position, at.page_size)
    cursor = None if last is None else format_cursor(Cursor((last,)), cursor_text)
    return {"items": [render(row) for row in rows], "cursor": at.next(Page(rows, cursor))}


def place(at: After, cursor_text: str) -> int | None:
    """Returns where the previous page ended. Raises CursorError for a cursor of another series."""
    if at.cursor is None:
        return None
    (place,) = parse_cursor(at.cursor, cursor_text, [CHECKS[Type.BIGINT]]).key
    assert isinstance(place, int)
    return place


def remaining(span: tuple[int, int], after: int | None, step: int, *, newest: bool) -> tuple[int, int]:
    """Returns the rest of a span after the position where a page ended."""
    first, last = span
    if after is None:
        return span
    return (first, min(last, after - 1)) if newest else (max(first, after + step), last)


async def remaining_milestones(
    network: NetworkMount, start: Edge | None, end: Edge | None, after: int | None, *, newest: bool
) -> Window:
    """Returns the milestones of a span after the one where a page ended."""
    window = await find_milestones(network.store, network.name, *edges(start, end))
    first, last = remaining((0, NEWEST), after, 1, newest=newest)
    return replace(window, milestones=intersect(window.milestones, [(first, last)]) if first <= last else [])


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """A requested series. `after`: where the previous page ended."""

    start: Edge | None
    end: Edge | None
    measures: Measures
    newest: bool
    after: int | None = None
    at_once: int = ROWS_AT_ONCE

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the measures need."""
        return columns_of(self.measures)


@dataclass(frozen=True, slots=True)
class Series:
    """A kind of series: the first fields of its items, the column that orders them, and the source of its rows."""

    name: str
    head: Mapping[str, Callable[[Row], object]]
    position: str
    batches: Callable[[NetworkMount, SeriesQuery], AsyncIterator[Batch]]

    async def point(self, network: NetworkMount, measures: Measures) -> Render:
        """Returns one item."""
        values, head = await measured(network, measures), self.head.items()
        return lambda row: {name: read_value(row) for name, read_value in head} | values(row)

    def cursor_text(self, network: NetworkMount, query: SeriesQuery) -> str:
        """Returns the text that binds a cursor to this series."""
        return f"{network.name} {self.name} {query.start} {query.end} {list(query.measures)} {query.newest}"

    async def page(self, network: NetworkMount, query: SeriesQuery, at: After) -> Json:
        """Returns a page."""
        cursor_text = self.cursor_text(network, query)
        batches = self.batches(network, replace(query, after=place(at, cursor_text), at_once=at.page_size + 1))
        point = await self.point(network, query.measures)
        return await page_of(batches, point, self.position, cursor_text, at)

    def exports(self) -> Mapping[str, Export]:
        """Returns the writers of the whole series as CSV and NDJSON."""

        async def items(
            network: NetworkMount, start: Edge | None, end: Edge | None, measures: Measures, *, newest: bool
        ) -> AsyncGenerator[list[Json]]:
            point = await self.point(network, measures)
            async for batch in self.batches(network, SeriesQuery(start, end, measures, newest)):
                yield [point(row) for row in batch.rows]

        return exports_of(items, lambda measures, **_: (*self.head, *measures))


# --- milestones -------------------------------------------------------------------------------------------------------


async def milestone_batches(network: NetworkMount, query: SeriesQuery) -> AsyncIterator[Batch]:
    """Yields batches of the milestones of a span."""
    newest, at_once = query.newest, max(query.at_once, LEAST_AT_ONCE)
    window = await remaining_milestones(network, query.start, query.end, query.after, newest=newest)
    batches = list_by_milestone(network.store, network.name, window, query.columns, newest=newest, at_once=at_once)
    async for batch in batches:
        yield batch


MILESTONES = Series(
    "milestones",
    {"milestoneIndex": lambda row: row["milestone_index"], "timestamp": lambda row: row["ms_timestamp"] // 1000},
    "milestone_index",
    milestone_batches,
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
    """Returns measures of each milestone.

    With Accept CSV or NDJSON, the response contains all milestones. Measures of the ledger state are null after the
    ledger index.
    """
    return await MILESTONES.page(network, SeriesQuery(start, end, measures, newest), after or After(page_size))


# --- hours ------------------------------------------------------------------------------------------------------------


async def seconds_of(network: NetworkMount, query: SeriesQuery, step: int) -> tuple[int, int]:
    """Returns the first and the last second of the rest of a span."""
    span = await find_seconds(network.store, network.name, *edges(query.start, query.end))
    return remaining(span, query.after, step, newest=query.newest)


async def hour_batches(network: NetworkMount, query: SeriesQuery) -> AsyncIterator[Batch]:
    """Yields batches of the hours of a span."""
    left = await seconds_of(network, query, HOUR_S)
    async for batch in list_by_hour(network.store, network.name, left, query.columns, newest=query.newest):
        yield batch


HOURS = Series("hours", {"timestamp": lambda row: row["second"]}, "second", hour_batches)


async def hour_series(
    network: NetworkMount,
    start: Start,
    end: End,
    measures: HourMeasures,
    newest: OldestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns measures of each hour that has milestones: sums, or the state at its end.

    With Accept CSV or NDJSON, the response contains all hours. A measure is null if it is unknown for a part of the
    hour, for example the ledger state after the ledger index.
    """
    return await HOURS.page(network, SeriesQuery(start, end, measures, newest), after or After(page_size))


# --- days -------------------------------------------------------------------------------------------------------------


async def day_batches(network: NetworkMount, query: SeriesQuery) -> AsyncIterator[Batch]:
    """Yields batches of the days of a span."""
    left = await seconds_of(network, query, DAY_S)
    batches = list_by_day(network.store, network.name, left, query.columns, newest=query.newest, at_once=query.at_once)
    async for batch in batches:
        yield batch


DAYS = Series("days", {"date": lambda row: row["date"], "timestamp": lambda row: row["second"]}, "second", day_batches)


OF_KEPT_DAYS = frozenset(OF_DAYS)


def are_kept(measures: Measures) -> bool:
    """Whether rows per day are enough for all these measures."""
    return OF_KEPT_DAYS.issuperset(columns_of(measures))


async def days_as(network: NetworkMount, form: str, measures: Measures) -> RenderedDays:
    """Renders all days of the network as lines of that media type."""
    point = await DAYS.point(network, measures)
    return await rendered_days(
        network.store,
        network.name,
        form,
        columns_of(measures),
        lambda rows: LINES[form]([point(row) for row in rows]),
    )


LINES: Mapping[str, Callable[[Sequence[Json]], list[str]]] = {
    CSV: lambda items: csv_text([tuple(item.values()) for item in items]).splitlines(),
    NDJSON: lambda items: [orjson.dumps(item).decode() for item in items],
}
"""Writers of items as lines. A line of NDJSON is also an item of JSON."""


async def day_series(
    network: NetworkMount,
    start: Start,
    end: End,
    measures: DayMeasures,
    newest: OldestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns measures of each UTC day that has milestones, like the series by hour.

    With Accept CSV or NDJSON, the response contains all days. Only days count distinct addresses, indexes and tags.
    """
    at, query = after or After(page_size), SeriesQuery(start, end, measures, newest)
    if not are_kept(measures):
        return await DAYS.page(network, query, at)
    cursor_text = DAYS.cursor_text(network, query)
    days = await days_as(network, NDJSON, measures)
    left = await seconds_of(network, replace(query, after=place(at, cursor_text)), DAY_S)
    lines, last = days.between(left, at.page_size, newest=newest)
    cursor = None if last is None else format_cursor(Cursor((last,)), cursor_text)
    return {"items": orjson.Fragment(f"[{','.join(lines)}]"), "cursor": at.next(Page([], cursor))}


def day_export(form: str, summed: Export) -> Export:
    """Yields the whole series by day in that format. It uses `summed` if milestones have to be summed.

    Stored days are one part of the response: they are few, and the cache holds their text
    (api/analytics_v2/rendered_days.py).
    """

    async def parts(
        network: NetworkMount, start: Edge | None, end: Edge | None, measures: Measures, *, newest: bool
    ) -> AsyncGenerator[str]:
        query = SeriesQuery(start, end, measures, newest)
        if not are_kept(measures):
            async for part in summed.parts(network, start=start, end=end, measures=measures, newest=newest):
                yield part
            return
        days = await days_as(network, form, measures)
        lines, _ = days.between(await seconds_of(network, query, DAY_S), newest=newest)
        head = csv_text([(*DAYS.head, *measures)]) if form == CSV else ""
        yield head + "\n".join((*lines, ""))

    return Export(parts, summed.example)


ANALYTICS_SERIES = (
    Operation("/series/milestone", milestone_series, MilestoneSeries, exports=MILESTONES.exports()),
    Operation("/series/hour", hour_series, HourSeries, exports=HOURS.exports()),
    Operation(
        "/series/day",
        day_series,
        DaySeries,
        exports={form: day_export(form, summed) for form, summed in DAYS.exports().items()},
    ),
)
