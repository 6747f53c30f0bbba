"""Functions of the event database that sum the USD that transfers moved, and the number of messages, by day.

Days are whole UTC days. The last day stands for "24 hours", and a period of n days has n + 1 dates. All dates have the
same keys. Only tokens on the network's list count, while they are on it. `*` is the sum of all. USD are rounded to
cents after summing.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import product
from typing import TypeAlias, TypeVar

from api.http.errors import NotKept
from api.http.rendered import rendered
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.events.functions import Given, function
from api.wormhole.events.params import (
    ALL_TIME,
    DAILY,
    FOR_CHAIN,
    FOR_PERIOD,
    LAST_24_HOURS,
    MOVED,
    MOVED_SO_FAR,
    NUM_DAYS,
    TO_DAY,
)
from api.wormhole.events.responses import EventDays, EventMoved, EventMovedFrom, EventMovedSoFar
from api.wormhole.events.row_routes import scope_of
from db.listing.turns import in_turns
from db.queries.wormhole.daily import LAUNCH_DAY, TooManyRows, count_by_chain, each_day, sum_notional
from db.queries.wormhole.periods import ROWS_MAX, limited
from db.queries.wormhole.vaas import find_symbols
from db.store import Row
from db.utc_days import format_day, this_day
from ledger.wormhole.allowlist import allowed_tokens

COUNTS_MAX = 1_000_000
"""Maximum number of values by date in one response. Every date has one value per key."""

FEWER = f"request fewer with {NUM_DAYS.name} or {FOR_CHAIN.name}"

CENT = Decimal("0.01")
WIDE = Context(prec=400)
"""Decimal context with more than the default 28 digits: a published amount may be any float, with up to 309 digits."""

Key = TypeVar("Key")

Sums: TypeAlias = dict[tuple[str, ...], Decimal]
"""USD by key: chain or symbol, `*` for all."""

LEAVING, DESTINATION, SYMBOL = 0, 1, 2


async def transactiontotals(network: NetworkMount, given: Given) -> Json:
    """Returns the number of verified messages by day and chain since the launch of the bridge, including Pythnet."""
    counts: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    async for day, rows in limited_days(network, "totals", LAUNCH_DAY, last_day(given)):
        here = counts[day]
        for chain, count in count_by_chain(rows).items():
            here[str(chain)] += count
    names = sorted({name for each in counts.values() for name in each})
    check_numbers(len(names) + 1, len(counts))
    return {
        "DailyTotals": {
            format_day(day): {"*": sum(each.values())} | {name: each.get(name, 0) for name in names}
            for day, each in counts.items()
        }
    }


async def notionaltransferred(network: NetworkMount, given: Given) -> Json:
    """Returns the USD that left each chain for each other chain, by symbol."""
    return await moved(network, given, (LEAVING, DESTINATION, SYMBOL))


async def notionaltransferredto(network: NetworkMount, given: Given) -> Json:
    """Returns the USD that arrived on each chain, by symbol."""
    return await moved(network, given, (DESTINATION, SYMBOL))


async def notionaltransferredfrom(network: NetworkMount, given: Given) -> Json:
    """Returns the USD that left each chain by day, since the launch of the bridge."""
    days, symbols = await daily_sums(network, given, LAUNCH_DAY, last_day(given), (LEAVING,))
    whole = await with_all(await total(days.values()), symbols)
    daily = await dates_json(expanded(days, symbols), whole, len(days))
    return {"Daily": daily, "Total": cents(whole.get(("*",), Decimal(0)))}


async def notionaltransferredtocumulative(network: NetworkMount, given: Given) -> Json:
    """Returns the USD that ever arrived on each chain, by symbol. By day, it returns the sum up to the end of the
    day.
    """
    last, span = last_day(given), given[NUM_DAYS.name]
    days, symbols = await daily_sums(network, given, LAUNCH_DAY, last, (DESTINATION, SYMBOL))
    ever = await with_all(await total(days.values()), symbols)
    daily = None
    if given[DAILY.name]:
        dates = sum(last - span <= day for day in days)
        daily = await dates_json(running_totals(expanded(days, symbols), last - span), ever, dates)
    return {
        "AllTime": await nested(ever) if given[ALL_TIME.name] or not given[DAILY.name] else None,
        "AllTimeDurationDays": max(last - LAUNCH_DAY, 0),
        "Daily": daily,
    }


async def moved(network: NetworkMount, given: Given, group_by: tuple[int, ...]) -> Json:
    """Returns the USD of the last day, of the period and of each of its days, as requested."""
    last, span = last_day(given), given[NUM_DAYS.name]
    for_period, daily = given[FOR_PERIOD.name], given[DAILY.name]
    last_alone = given[LAST_24_HOURS.name] or not (for_period or daily)
    first = first_day(last, span) if for_period or daily else last
    days, symbols = await daily_sums(network, given, first, last, group_by)
    newest = await with_all(days.get(last, {}), symbols)
    whole = await with_all(await total(days.values()), symbols)
    return {
        "Last24Hours": await nested(newest) if last_alone else None,
        "WithinPeriod": await nested(whole) if for_period else None,
        "PeriodDurationDays": span,
        "Daily": await dates_json(expanded(days, symbols), whole, len(days)) if daily else None,
    }


async def daily_sums(
    network: NetworkMount, given: Given, first: int, last: int, group_by: tuple[int, ...]
) -> tuple[dict[int, Sums], Mapping[str, str]]:
    """Returns the USD of each day, by those of sending chain, destination and token_key that `group_by` names, and the
    symbols of the tokens. A token without a symbol, or with `*`, is named by its key.
    """
    assert network.wormhole is not None
    chain, address = scope_of(given) if FOR_CHAIN.name in given else (None, None)
    by_day: dict[int, Sums] = defaultdict(lambda: defaultdict(Decimal))
    places: dict[tuple[str, ...], tuple[str, ...]] = {}
    async for day, rows in limited_days(network, "transfers", max(first, 0), last, chain=chain, emitter=address):
        here = by_day[day]
        for way, usd in sum_notional(rows, allowed_tokens(network.wormhole, day)).items():
            place = tuple([str(way[each]) for each in group_by])
            # All days share the objects of their keys.
            here[places.setdefault(place, place)] += usd
    keys = {place[-1] for place in places} if SYMBOL in group_by else set()
    symbols = await find_symbols(network.store, keys)
    # `*` is the sum of all.
    return by_day, {key: symbol for key, symbol in symbols.items() if symbol != "*"}


async def limited_days(
    network: NetworkMount,
    measure: str,
    first: int,
    last: int,
    *,
    chain: int | None = None,
    emitter: str | None = None,
) -> AsyncIterator[tuple[int, Sequence[Row]]]:
    """Yields rows of days like `each_day`. Raises NotKept if there are too many."""
    try:
        async for each in limited(each_day(network.store, measure, first, last, chain=chain, emitter=emitter)):
            yield each
    except TooManyRows:
        raise NotKept(f"more than {ROWS_MAX} rows: {FEWER}") from None


async def with_all(sums: Sums, symbols: Mapping[str, str]) -> Sums:
    """Returns sums by symbol in place of token_key, and the sum of all."""
    found: Sums = defaultdict(Decimal)
    async for place, usd in in_turns(sums.items()):
        for each in product(*(("*", symbols.get(name, name)) for name in place)):
            found[each] += usd
    return found


async def expanded(days: Mapping[int, Sums], symbols: Mapping[str, str]) -> AsyncIterator[tuple[int, Sums]]:
    """Yields the sums of each day by symbol, and the sum of all. Those of all days at once could take a gigabyte."""
    for day, sums in days.items():
        yield day, await with_all(sums, symbols)


async def total(days: Iterable[Mapping[Key, Decimal]]) -> dict[Key, Decimal]:
    """Returns the sum over several days, by key."""
    found: dict[Key, Decimal] = defaultdict(Decimal)
    for sums in days:
        async for key, amount in in_turns(sums.items()):
            found[key] += amount
    return found


async def running_totals(
    days: AsyncIterator[tuple[int, Mapping[Key, Decimal]]], first: int
) -> AsyncIterator[tuple[int, dict[Key, Decimal]]]:
    """Yields the sums up to the end of each day from `first` on. It changes the same mapping from day to day."""
    running: dict[Key, Decimal] = defaultdict(Decimal)
    async for day, sums in days:
        async for key, amount in in_turns(sums.items()):
            running[key] += amount
        if first <= day:
            yield day, running


def check_numbers(keys: int, dates: int) -> None:
    """Raises NotKept if there are too many keys for that many dates."""
    if keys * dates > COUNTS_MAX:
        raise NotKept(f"more than {COUNTS_MAX} numbers, of {keys} keys on {dates} dates: {FEWER}")


async def dates_json(
    days: AsyncIterator[tuple[int, Mapping[tuple[str, ...], Decimal]]], whole: Collection[tuple[str, ...]], dates: int
) -> Json:
    """Returns sums by date, each date rendered. All have the keys in `whole`. Raises NotKept if there are too many for
    that many dates.
    """
    check_numbers(len(whole), dates)
    shape = await nested(dict.fromkeys(whole, Decimal(0)))
    return {format_day(day): rendered(await nested(sums, shape)) async for day, sums in days}


async def nested(sums: Mapping[tuple[str, ...], Decimal], shape: Json | None = None) -> Json:
    """Returns nested objects in the order of their keys, one level per part of the keys.

    `shape` has keys that the result has in any case, with 0 by default.
    """
    found: Json = {} if shape is None else await copied(shape)
    async for place, usd in in_turns(sums.items()):
        inner = found
        for name in place[:-1]:
            inner = inner.setdefault(name, {})
        inner[place[-1]] = cents(usd)
    return found if shape is not None else await copied(found)


async def copied(held: Json) -> Json:
    """Returns nested objects in the order of their keys."""
    found: Json = {}
    async for name in in_turns(sorted(held)):
        found[name] = await copied(held[name]) if isinstance(held[name], dict) else held[name]
    return found


def cents(usd: Decimal) -> float:
    """Returns USD rounded to two digits."""
    return float(usd.quantize(CENT, ROUND_HALF_UP, WIDE))


def last_day(given: Given) -> int:
    """Returns the requested last day, at the latest today."""
    today = this_day()
    until: int | None = given[TO_DAY.name]
    return today if until is None else min(until, today)


def first_day(last: int, days: int) -> int:
    """Returns the first day of a period, at the earliest the launch of the bridge."""
    return min(max(last - days, LAUNCH_DAY), last)


SUMS = (
    *function("/transactiontotals", transactiontotals, (TO_DAY,), EventDays, (501,)),
    *function("/notionaltransferred", notionaltransferred, MOVED, EventMoved, (501,)),
    *function("/notionaltransferredto", notionaltransferredto, MOVED, EventMoved, (501,)),
    *function("/notionaltransferredfrom", notionaltransferredfrom, (TO_DAY,), EventMovedFrom, (501,)),
    *function(
        "/notionaltransferredtocumulative", notionaltransferredtocumulative, MOVED_SO_FAR, EventMovedSoFar, (501,)
    ),
)
