"""wormholescan's activity by day, month or year: of chains, of applications, of tokens.

Numbers are sums over whole UTC days of verified messages. A span is cut at whole periods, as in wormholescan: it begins
with the period of `from` and ends before that of `to`. An application is that of a message's emitter.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TypeAlias

from api.http.errors import BadParameter, NotKept
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import rfc3339
from api.wormhole.params import FROM, PORTAL, TO, ExclusiveAppId, SourceChains, TargetChains
from api.wormhole.scan.activity_routes import most_first
from api.wormhole.scan.period_params import (
    TIMESPAN,
    ApplicationUnit,
    FromTime,
    OneApp,
    Symbols,
    TokenUnit,
    TopsUnit,
    ToTime,
)
from api.wormhole.scan.period_responses import ApplicationActivity, ChainTops, TokensActivity
from api.wormhole.scan.vaa_pages import contracts_of
from db.queries.wormhole.daily import TooManyRows
from db.queries.wormhole.periods import Period, Unit, each_period, whole_periods
from db.queries.wormhole.vaas import find_symbols
from db.store import Row
from db.utc_days import DAY_S, this_day
from ledger.wormhole.chains import PYTHNET
from ledger.wormhole.emitters import EmitterKind, find_emitter

MICROSECONDS = 1_000_000
USD_UNITS = 10**8
"""wormholescan's volumes are integers of this many to the dollar."""

NUMBERS_MAX = 200_000
"""Numbers in one response at most, of periods times series."""

APP_OF_EMITTER: dict[EmitterKind, str] = {
    "token_bridge": PORTAL,
    "nft_bridge": "PORTAL_NFT_BRIDGE",
    "relayer": "GENERIC_RELAYER",
}

MOST_DAYS: dict[Unit, int] = {"day": 365, "month": 3_650, "year": 3_650}
LEAST_DAYS: dict[Unit, int] = {"day": 1, "month": 30, "year": 365}

HOURS = "sums are kept by day: hours are counted only for one day, by last-txs"

Sum: TypeAlias = tuple[int, Decimal]
"""Messages, and USD."""


async def x_chain_activity_tops(
    network: NetworkMount,
    unit: TopsUnit,
    first_us: FromTime,
    last_us: ToTime,
    app_id: OneApp,
    source_chains: SourceChains,
    target_chains: TargetChains,
) -> list[Json]:
    """Returns the transfers that left each chain in each period, and their volume in 10^-8 USD."""
    periods = periods_of(unit, first_us, last_us, bounded=True)
    if app_id not in (None, PORTAL):
        return []
    sums: dict[tuple[str, Period], Sum] = defaultdict(lambda: (0, Decimal(0)))

    def add(period: Period, row: Row) -> None:
        if listed(source_chains, row["emitter_chain"]) and listed(target_chains, row["target_chain"]):
            key = str(row["emitter_chain"]), period
            sums[key] = plus(sums[key], row["message_count"], row["notional_usd"])

    await summed(network, "transfers", periods, add)
    return [
        {
            "from": time_of(first),
            "to": time_of(end),
            "emitter_chain": chain,
            "volume": int(usd * USD_UNITS),
            "count": count,
        }
        for (chain, (first, end)), (count, usd) in sorted(sums.items())
    ]


async def application_activity(
    network: NetworkMount,
    unit: ApplicationUnit,
    first_us: FromTime,
    last_us: ToTime,
    app_id: OneApp,
    exclusive: ExclusiveAppId,  # noqa: ARG001 (a message has one application)
) -> list[Json]:
    """Returns the messages of each application in each period, and the USD that they transferred."""
    periods = periods_of(unit, first_us, last_us)
    contracts = contracts_of(network)
    sums: dict[str, dict[Period, Sum]] = defaultdict(lambda: defaultdict(lambda: (0, Decimal(0))))

    def application(row: Row) -> str | None:
        kind = find_emitter(contracts, row["emitter_chain"], bytes.fromhex(row["emitter_address"]))
        name = APP_OF_EMITTER.get(kind) if kind is not None else None
        return name if app_id in (None, name) else None

    def count(period: Period, row: Row) -> None:
        if (name := application(row)) is not None:
            sums[name][period] = plus(sums[name][period], row["message_count"], None)

    def add(period: Period, row: Row) -> None:
        if (name := application(row)) is not None:
            sums[name][period] = plus(sums[name][period], 0, row["notional_usd"])

    await summed(network, "totals", periods, count)
    await summed(network, "transfers", periods, add)
    return [
        {
            "app_id": name,
            "time_range_data": [
                span_json(period, held[period]) | {"aggregations": [{"app_id": name} | sum_json(held[period])]}
                for period in periods
            ],
        }
        for name, held in sorted(sums.items())
    ]


async def tokens_symbol_activity(
    network: NetworkMount,
    unit: TokenUnit,
    first_us: FromTime,
    last_us: ToTime,
    symbols: Symbols,
    source_chains: SourceChains,
    target_chains: TargetChains,
) -> Json:
    """Returns the priced transfers of each symbol in each period, by chains, the most valuable symbol first."""
    periods = periods_of(unit, first_us, last_us)
    by_token: dict[tuple[str, int, int], dict[Period, Sum]] = defaultdict(lambda: defaultdict(lambda: (0, Decimal(0))))

    def add(period: Period, row: Row) -> None:
        usd = row["notional_usd"]
        if usd is None or not Decimal(usd):
            return
        if listed(source_chains, row["emitter_chain"]) and listed(target_chains, row["target_chain"]):
            held = by_token[row["token_key"], row["emitter_chain"], row["target_chain"]]
            held[period] = plus(held[period], row["message_count"], usd)

    await summed(network, "transfers", periods, add)
    named = await find_symbols(network.store, {key for key, _, _ in by_token})
    chosen = None if symbols is None else {each.upper() for each in symbols}
    series: dict[str, dict[tuple[int, int], dict[Period, Sum]]] = defaultdict(dict)
    for (key, source, target), found in by_token.items():
        symbol = named.get(key)
        if symbol is not None and (chosen is None or symbol in chosen):
            way = series[symbol].setdefault((source, target), defaultdict(lambda: (0, Decimal(0))))
            for period, (count, usd) in found.items():
                way[period] = plus(way[period], count, usd)
    if len(periods) * sum(map(len, series.values())) > NUMBERS_MAX:
        raise NotKept(f"more than {NUMBERS_MAX} numbers: request fewer days, symbols or chains")
    totals = {symbol: total(sums for way in ways.values() for sums in way.values()) for symbol, ways in series.items()}
    ranked = most_first({symbol: usd for symbol, (_, usd) in totals.items()})
    return {
        "tokens": [
            {"token_symbol": symbol}
            | sum_json(totals[symbol])
            | {
                "time_range_data": [
                    span_json(period, total(way[period] for way in series[symbol].values()))
                    | {
                        "aggregations": [
                            sum_json(way[period]) | {"source_chain": source, "target_chain": target}
                            for (source, target), way in sorted(series[symbol].items())
                        ]
                    }
                    for period in periods
                ]
            }
            for symbol, _ in ranked
        ]
    }


def periods_of(unit: Unit | None, first_us: int, last_us: int, *, bounded: bool = False) -> list[Period]:
    """Returns the periods between two times, none after today.

    Raises BadParameter if the span is empty, shorter than a period, or for `bounded` longer than wormholescan allows,
    and NotKept for hours (None).
    """
    if unit is None:
        raise NotKept(HOURS)
    end_us = min(last_us, (this_day() + 1) * DAY_S * MICROSECONDS)
    span = end_us - first_us
    day_us = DAY_S * MICROSECONDS
    if span <= 0:
        raise BadParameter(TO.name, "a time after from", rfc3339(last_us / MICROSECONDS))
    if span < LEAST_DAYS[unit] * day_us:
        raise BadParameter(TO.name, f"at least {LEAST_DAYS[unit]} days after from for this {TIMESPAN}", None)
    if span > MOST_DAYS[unit] * day_us and bounded:
        raise BadParameter(TO.name, f"at most {MOST_DAYS[unit]} days after from for this {TIMESPAN}", None)
    if not bounded and span > MOST_DAYS["year"] * day_us:
        raise BadParameter(FROM.name, f"at most {MOST_DAYS['year']} days before to", None)
    return whole_periods(max(first_us, 0) // day_us, end_us // day_us, unit)


async def summed(
    network: NetworkMount, measure: str, periods: list[Period], add: Callable[[Period, Row], None]
) -> None:
    """Adds every row of a measure in the periods. Raises NotKept if there are too many rows."""
    try:
        async for period, rows in each_period(network.store, measure, periods):
            for row in rows:
                if row["emitter_chain"] != PYTHNET:
                    add(period, row)
    except TooManyRows:
        raise NotKept("more rows than one response sums: request fewer days") from None


def listed(chains: tuple[int, ...] | None, chain: int) -> bool:
    """Returns whether a chain is among the requested ones."""
    return chains is None or chain in chains


def plus(held: Sum, count: int, usd: Decimal | str | None) -> Sum:
    """Returns a sum with more messages and USD."""
    return held[0] + count, held[1] + Decimal(usd or 0)


def total(sums: Iterable[Sum]) -> Sum:
    """Returns the sum of sums."""
    count, usd = 0, Decimal(0)
    for messages, worth in sums:
        count, usd = count + messages, usd + worth
    return count, usd


def sum_json(held: Sum) -> Json:
    """Returns a sum with wormholescan's names."""
    return {"total_messages": held[0], "total_value_transferred": float(held[1])}


def span_json(period: Period, held: Sum) -> Json:
    """Returns a sum with its period."""
    return {"from": time_of(period[0]), "to": time_of(period[1])} | sum_json(held)


def time_of(day: int) -> str:
    """Returns the beginning of a day."""
    return rfc3339(day * DAY_S)


PERIODS = (
    Operation("/x-chain-activity/tops", x_chain_activity_tops, ChainTops, (501,)),
    Operation("/application-activity", application_activity, ApplicationActivity, (501,)),
    Operation("/tokens-symbol-activity", tokens_symbol_activity, TokensActivity, (501,)),
)
