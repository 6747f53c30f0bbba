"""Functions of the event database: which addresses received transfers, and how much USD.

Days are whole UTC days, and a period of n days has n + 1 dates. All tokens count. An address that receives on two
chains counts twice, so `*` is the sum over chains. The number of addresses in a response is bounded.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import accumulate
from typing import TypeAlias

from api.http.errors import NotKept
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.events.functions import Given, function
from api.wormhole.events.params import (
    ALL_TIME,
    AMOUNTS,
    COUNTS,
    DAILY,
    FOR_CHAIN,
    FOR_PERIOD,
    LAST_24_HOURS,
    NUM_DAYS,
    RECEIVED,
    RECEIVED_SO_FAR,
)
from api.wormhole.events.responses import EventReceived, EventReceivedSoFar
from api.wormhole.events.row_routes import scope_of
from api.wormhole.events.sum_routes import cents, first_day, last_day, total
from db.queries.wormhole.daily import LAUNCH_DAY, TooManyRows, each_day, read_days, sum_by_address
from db.utc_days import format_day
from ledger.wormhole.addresses import format_address

ADDRESSES_MAX = 100_000
"""Maximum number of rows, each an address on a day, that one response sums."""

DATED_MAX = 500_000
"""Maximum number of dates times addresses in one response."""

Received: TypeAlias = dict[tuple[int, str], Decimal]
"""USD by receiving chain and address. 0 if the transfers have no price."""

FEWER = f"request fewer with {NUM_DAYS.name} or {FOR_CHAIN.name}"


async def addressestransferredto(network: NetworkMount, given: Given) -> Json:
    """Returns the addresses that received transfers on the last day, in the period and on each of its days, as
    requested.
    """
    last, span = last_day(given), given[NUM_DAYS.name]
    for_period, daily = given[FOR_PERIOD.name], given[DAILY.name]
    last_alone = given[LAST_24_HOURS.name] or not (for_period or daily)
    days = await received(network, given, first_day(last, span) if for_period or daily else last, last)
    if daily and given[AMOUNTS.name]:
        check_dates(total(days.values()), len(days))
    whole = {
        "Last24Hours": days.get(last, {}) if last_alone else None,
        "WithinPeriod": total(days.values()) if for_period else None,
    }
    return {"PeriodDurationDays": span} | sums_json(given, whole, days if daily else None)


async def addressestransferredtocumulative(network: NetworkMount, given: Given) -> Json:
    """Returns the addresses that ever received transfers. By day, it returns those up to the end of the day."""
    last, span = last_day(given), given[NUM_DAYS.name]
    days = await received(network, given, LAUNCH_DAY, last)
    ever = total(days.values())
    daily: dict[int, Received] | None = None
    if given[DAILY.name]:
        before = total(held for day, held in days.items() if day < last - span)
        shown = {day: held for day, held in days.items() if last - span <= day}
        check_dates(ever, len(shown))
        running = list(accumulate(shown.values(), lambda *pair: total(pair), initial=before))
        daily = dict(zip(shown, running[1:], strict=True))
    whole = {"AllTime": ever if given[ALL_TIME.name] or not given[DAILY.name] else None}
    return {"AllTimeDurationDays": max(last - LAUNCH_DAY, 0)} | sums_json(given, whole, daily)


async def received(network: NetworkMount, given: Given, first: int, last: int) -> dict[int, Received]:
    """Returns what addresses received on each day. Raises NotKept if there are more than the maximum."""
    chain, emitter = scope_of(given)
    try:
        days = each_day(network.store, "addresses", max(first, 0), last, chain=chain, emitter=emitter)
        rows = await read_days(days, most=ADDRESSES_MAX)
    except TooManyRows:
        raise NotKept(f"more than {ADDRESSES_MAX} addresses and days: {FEWER}") from None
    return {day: {key: usd for key, (_, usd) in sum_by_address(held).items()} for day, held in rows.items()}


def check_dates(addresses: Received, dates: int) -> None:
    """Raises NotKept if there are too many addresses for that many dates."""
    if len(addresses) * dates > DATED_MAX:
        raise NotKept(f"more than {DATED_MAX} numbers, of {len(addresses)} addresses on {dates} dates: {FEWER}")


def sums_json(given: Given, whole: Mapping[str, Received | None], daily: Mapping[int, Received] | None) -> Json:
    """Returns amounts and counts as requested, by default counts. All dates have the same keys."""
    shapes: list[tuple[str, bool, Callable[[Received, Received], Json]]] = [
        ("Amounts", given[AMOUNTS.name], amounts_json),
        ("Counts", given[COUNTS.name] or not given[AMOUNTS.name], counts_json),
    ]
    every = total((daily or {}).values())
    found: Json = {}
    for name, is_requested, shape in shapes:
        for part, held in whole.items():
            found[f"{part}{name}"] = shape(held, held) if is_requested and held is not None else None
        dates = (
            {format_day(day): shape(held, every) for day, held in daily.items()}
            if is_requested and daily is not None
            else None
        )
        found[f"Daily{name}"] = dates
    return found


def amounts_json(held: Received, every: Received) -> Json:
    """Returns USD by chain and address in the chain's own format, 0 for the addresses of `every` that received
    nothing.
    """
    found: Json = {}
    for chain, address in sorted(every):
        native = format_address(chain, bytes.fromhex(address))
        found.setdefault(str(chain), {})[native] = cents(held.get((chain, address), Decimal(0)))
    return found


def counts_json(held: Received, every: Received) -> Json:
    """Returns the number of addresses by chain."""
    counts = Counter(str(chain) for chain, _ in held)
    return {"*": len(held)} | {chain: counts[chain] for chain in sorted({str(each) for each, _ in every})}


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
