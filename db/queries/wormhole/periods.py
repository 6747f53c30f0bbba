"""Periods of whole UTC days, months or years, and limits for sums over many of them."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal, TypeAlias

from db.queries.wormhole.daily import NO_DAY, TooManyRows, each_day_between
from db.store import Row, Store
from db.utc_days import calendar_interval

Unit: TypeAlias = Literal["day", "month", "year"]

Period: TypeAlias = tuple[int, int]
"""The first day, and the day after the last one, since 1970."""

ROWS_MAX = 1_000_000
"""Rows of vaa_daily that one request sums at most."""


def whole_periods(first_day: int, end_day: int, unit: Unit) -> list[Period]:
    """The periods from the one that contains `first_day` to the one before that of `end_day`."""
    periods, day = [], calendar_interval(unit, first_day)[0]
    end = calendar_interval(unit, end_day)[0]
    while day < end:
        period = calendar_interval(unit, day)
        periods.append(period)
        day = period[1]
    return periods


async def each_period(
    store: Store, measure: str, periods: list[Period], *, chain: int | None = None
) -> AsyncIterator[tuple[Period, Sequence[Row]]]:
    """Yields rows of vaa_daily with the period of their day, day by day. Messages without a timestamp are in none.

    Raises TooManyRows beyond ROWS_MAX, and DeadlinePassed.
    """
    if not periods:
        return
    at = 0
    days = each_day_between(store, measure, max(periods[0][0], NO_DAY + 1), periods[-1][1] - 1, chain=chain)
    async for day, rows in limited(days):
        while periods[at][1] <= day:
            at += 1
        yield periods[at], rows


async def limited(days: AsyncIterator[tuple[int, Sequence[Row]]]) -> AsyncIterator[tuple[int, Sequence[Row]]]:
    """Yields the same rows of days. Raises TooManyRows beyond ROWS_MAX."""
    count = 0
    async for day, rows in days:
        count += len(rows)
        if count > ROWS_MAX:
            raise TooManyRows
        yield day, rows
