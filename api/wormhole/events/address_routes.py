"""Functions of the event database: which addresses received transfers, and how much USD.

Days are whole UTC days, and a period of n days has n + 1 dates. All tokens count. An address that receives on two
chains counts twice, so `*` is the sum over chains. The number of addresses in a response is bounded.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from api.http.errors import NotKept
from api.http.rendered import rendered
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.events.functions import Given, function
from api.wormhole.events.params import (
    ALL_TIME,
    AMOUNTS,
    COUNTS,
    DAILY,
    FOR_PERIOD,
    LAST_24_HOURS,
    NUM_DAYS,
    RECEIVED,
    RECEIVED_SO_FAR,
)
from api.wormhole.events.responses import EventReceived, EventReceivedSoFar
from api.wormhole.events.row_routes import scope_of
from api.wormhole.events.sum_routes import FEWER, cents, first_day, last_day, running_totals, total
from db.listing.turns import in_turns
from db.queries.wormhole.daily import LAUNCH_DAY, each_day, sum_by_address
from db.utc_days import format_day
from ledger.wormhole.addresses import format_address

ADDRESSES_MAX = 100_000
"""Maximum number of rows, each an address on a day, that one response sums."""

DATED_MAX = 500_000
"""Maximum number of dates times addresses in one response."""

Received: TypeAlias = dict[tuple[int, str], Decimal]
"""USD by receiving chain and address. 0 if the transfers have no price."""

Shape: TypeAlias = Callable[[Received, Sequence[Any]], Awaitable[Json]]
"""Renders what addresses received, with these keys."""


async def addressestransferredto(network: NetworkMount, given: Given) -> Json:
    """Returns the addresses that received transfers on the last day, in the period and on each of its days, as
    requested.
    """
    last, span = last_day(given), given[NUM_DAYS.name]
    for_period, daily = given[FOR_PERIOD.name], given[DAILY.name]
    last_alone = given[LAST_24_HOURS.name] or not (for_period or daily)
    days = await received(network, given, first_day(last, span) if for_period or daily else last, last)
    every = await total(days.values())
    if daily and given[AMOUNTS.name]:
        check_dates(every, len(days))
    whole = {
        "Last24Hours": days.get(last, {}) if last_alone else None,
        "WithinPeriod": every if for_period else None,
    }
    return {"PeriodDurationDays": span} | await sums_json(given, whole, days if daily else None)


async def addressestransferredtocumulative(network: NetworkMount, given: Given) -> Json:
    """Returns the addresses that ever received transfers. By day, it returns those up to the end of the day."""
    last, span = last_day(given), given[NUM_DAYS.name]
    days = await received(network, given, LAUNCH_DAY, last)
    ever = await total(days.values())
    daily = None
    if given[DAILY.name]:
        check_dates(ever, sum(last - span <= day for day in days))
        daily = {day: dict(held) async for day, held in running_totals(in_turns(days.items()), last - span)}
    whole = {"AllTime": ever if given[ALL_TIME.name] or not given[DAILY.name] else None}
    return {"AllTimeDurationDays": max(last - LAUNCH_DAY, 0)} | await sums_json(given, whole, daily)


async def received(network: NetworkMount, given: Given, first: int, last: int) -> dict[int, Received]:
    """Returns what addresses received on each day. Raises NotKept if there are more than the maximum."""
    chain, emitter = scope_of(given)
    found: dict[int, Received] = defaultdict(lambda: defaultdict(Decimal))
    count = 0
    days = each_day(network.store, "addresses", max(first, 0), last, chain=chain, emitter=emitter)
    async for day, rows in days:
        count += len(rows)
        if count > ADDRESSES_MAX:
            raise NotKept(f"more than {ADDRESSES_MAX} addresses and days: {FEWER}")
        sums = found[day]
        for key, (_, usd) in sum_by_address(rows).items():
            sums[key] += usd
    return found


def check_dates(addresses: Received, dates: int) -> None:
    """Raises NotKept if there are too many addresses for that many dates."""
    if len(addresses) * dates > DATED_MAX:
        raise NotKept(f"more than {DATED_MAX} numbers, of {len(addresses)} addresses on {dates} dates: {FEWER}")


async def sums_json(given: Given, whole: Mapping[str, Received | None], daily: Mapping[int, Received] | None) -> Json:
    """Returns amounts and counts as requested, by default counts. All dates have the same keys."""
    shapes: list[tuple[str, bool, Shape, Callable[[Received], Sequence[Any]]]] = [
        ("Amounts", given[AMOUNTS.name], amounts_json, sorted),
        ("Counts", given[COUNTS.name] or not given[AMOUNTS.name], counts_json, chains_of),
    ]
    every = await total((daily or {}).values())
    found: Json = {}
    for name, is_requested, shape, names_of in shapes:
        for part, held in whole.items():
            found[f"{part}{name}"] = await shape(held, names_of(held)) if is_requested and held is not None else None
        dates = None
        if is_requested and daily is not None:
            names = names_of(every)
            dates = {format_day(day): rendered(await shape(held, names)) for day, held in daily.items()}
        found[f"Daily{name}"] = dates
    return found


async def amounts_json(held: Received, keys: Sequence[tuple[int, str]]) -> Json:
    """Returns USD by chain and address in the chain's own format, 0 for addresses that received nothing."""
    found: Json = {}
    async for chain, address in in_turns(keys):
        native = format_address(chain, bytes.fromhex(address))
        found.setdefault(str(chain), {})[native] = cents(held.get((chain, address), Decimal(0)))
    return found


async def counts_json(held: Received, chains: Sequence[str]) -> Json:
    """Returns the number of addresses by chain."""
    counts: Counter[int] = Counter()
    async for chain, _ in in_turns(held):
        counts[chain] += 1
    return {"*": len(held)} | {chain: counts[int(chain)] for chain in chains}


def chains_of(held: Received) -> list[str]:
    """Returns the chains of addresses as text, sorted as text."""
    return sorted({str(chain) for chain, _ in held})


RECEIVERS = (
    *function("/addressestransferredto", addressestransferredto, RECEIVED, EventReceived, (501,)),
    *function(
        "/addressestransferredtocumulative",
        addressestransferredtocumulative,
        RECEIVED_SO_FAR,
        EventReceivedSoFar,
        (501,),
    ),
)
