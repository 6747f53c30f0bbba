"""Functions of the event database that sum the USD that transfers moved, and the number of messages, by day.

Days are whole UTC days. The last day stands for "24 hours", and a period of n days has n + 1 dates. All dates have the
same keys. Only tokens on the network's list count, while they are on it. `*` is the sum of all. USD are rounded to
cents after summing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import accumulate, product
from typing import TypeAlias, TypeVar

from api.http.errors import NotKept
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
from db.queries.wormhole.daily import LAUNCH_DAY, count_by_chain, each_day, sum_notional
from db.queries.wormhole.vaas import find_tokens
from db.utc_days import format_day, this_day
from ledger.wormhole.allowlist import allowed_tokens

COUNTS_MAX = 1_000_000
"""Maximum number of values by date in one response. Every date has one value per key."""

CENT = Decimal("0.01")
WIDE = Context(prec=400)
"""Decimal context with more than the default 28 digits: a published amount may be any float, with up to 309 digits."""

Key = TypeVar("Key")

Sums: TypeAlias = dict[tuple[str, ...], Decimal]
"""USD by key: chain or symbol, `*` for all."""

LEAVING, DESTINATION, SYMBOL = 0, 1, 2


async def transactiontotals(network: NetworkMount, given: Given) -> Json:
    """Returns the number of verified messages by day and chain since the launch of the bridge, including Pythnet."""
    days = each_day(network.store, "totals", LAUNCH_DAY, last_day(given))
    counts = {day: {str(chain): count for chain, count in count_by_chain(rows).items()} async for day, rows in days}
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
    sums = await daily_sums(network, given, LAUNCH_DAY, last_day(given), (LEAVING,))
    return {"Daily": dates_json(sums), "Total": cents(total(sums.values()).get(("*",), Decimal(0)))}


async def notionaltransferredtocumulative(network: NetworkMount, given: Given) -> Json:
    """Returns the USD that ever arrived on each chain, by symbol. By day, it returns the sum up to the end of the
    day.
    """
    last, span = last_day(given), given[NUM_DAYS.name]
    sums = await daily_sums(network, given, LAUNCH_DAY, last, (DESTINATION, SYMBOL))
    ever = total(sums.values())
    daily: dict[int, Sums] | None = None
    if given[DAILY.name]:
        before = total(held for day, held in sums.items() if day < last - span)
        shown = {day: held for day, held in sums.items() if last - span <= day}
        check_numbers(len(ever), len(shown))
        running = list(accumulate(shown.values(), lambda *pair: total(pair), initial=before))
        daily = dict(zip(shown, running[1:], strict=True))
    return {
        "AllTime": nested(ever) if given[ALL_TIME.name] or not given[DAILY.name] else None,
        "AllTimeDurationDays": max(last - LAUNCH_DAY, 0),
        "Daily": None if daily is None else dates_json(daily),
    }


async def moved(network: NetworkMount, given: Given, group_by: tuple[int, ...]) -> Json:
    """Returns the USD of the last day, of the period and of each of its days, as requested."""
    last, span = last_day(given), given[NUM_DAYS.name]
    for_period, daily = given[FOR_PERIOD.name], given[DAILY.name]
    last_alone = given[LAST_24_HOURS.name] or not (for_period or daily)
    sums = await daily_sums(network, given, first_day(last, span) if for_period or daily else last, last, group_by)
    return {
        "Last24Hours": nested(sums.get(last, {})) if last_alone else None,
        "WithinPeriod": nested(total(sums.values())) if for_period else None,
        "PeriodDurationDays": span,
        "Daily": dates_json(sums) if daily else None,
    }


async def daily_sums(
    network: NetworkMount, given: Given, first: int, last: int, group_by: tuple[int, ...]
) -> dict[int, Sums]:
    """Returns the USD of each day, by those of sending chain, destination and symbol that `group_by` names."""
    assert network.wormhole is not None
    chain, address = scope_of(given) if FOR_CHAIN.name in given else (None, None)
    by_day: dict[int, Sums] = {}
    async for day, rows in each_day(network.store, "transfers", max(first, 0), last, chain=chain, emitter=address):
        by_day[day] = defaultdict(Decimal)
        for way, usd in sum_notional(rows, allowed_tokens(network.wormhole, day)).items():
            by_day[day][tuple(str(way[each]) for each in group_by)] += usd
    keys = sorted({place[-1] for sums in by_day.values() for place in sums}) if SYMBOL in group_by else []
    tokens = await find_tokens(network.store, keys)
    symbols = {key: token["symbol"] for key, token in zip(keys, tokens, strict=True) if token is not None}
    return {day: with_all(sums, symbols) for day, sums in by_day.items()}


def with_all(sums: Sums, symbols: Mapping[str, str]) -> Sums:
    """Returns sums by symbol in place of token_key, and the sum of all."""
    found: Sums = defaultdict(Decimal)
    for place, usd in sums.items():
        for each in product(*(("*", symbols.get(name, name)) for name in place)):
            found[each] += usd
    return found


def total(days: Iterable[Mapping[Key, Decimal]]) -> dict[Key, Decimal]:
    """Returns the sum over several days, by key."""
    found: dict[Key, Decimal] = defaultdict(Decimal)
    for sums in days:
        for key, amount in sums.items():
            found[key] += amount
    return found


def check_numbers(keys: int, dates: int) -> None:
    """Raises NotKept if there are too many keys for that many dates."""
    if keys * dates > COUNTS_MAX:
        raise NotKept(
            f"more than {COUNTS_MAX} numbers, of {keys} keys on {dates} dates: "
            f"request fewer with {NUM_DAYS.name} or {FOR_CHAIN.name}"
        )


def dates_json(days: Mapping[int, Sums]) -> Json:
    """Returns sums by date, all with the same keys. Raises NotKept if there are too many."""
    places = {place for sums in days.values() for place in sums}
    check_numbers(len(places), len(days))
    return {
        format_day(day): nested({place: sums.get(place, Decimal(0)) for place in places}) for day, sums in days.items()
    }


def nested(sums: Sums) -> Json:
    """Returns nested objects, one level per part of the keys."""
    found: Json = {}
    for place, usd in sorted(sums.items()):
        inner = found
        for name in place[:-1]:
            inner = inner.setdefault(name, {})
        inner[place[-1]] = cents(usd)
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
