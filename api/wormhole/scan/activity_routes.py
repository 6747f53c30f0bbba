"""wormholescan's activity between chains: counts, volumes, the top tokens, locked value.

All numbers are sums over whole UTC days of verified messages. A period of n days ends with `until`, an extension, by
default with yesterday. Volumes are USD as decimal text. Transfers without a price add nothing. Pythnet messages are not
counted.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, TypeVar

from api.http.errors import BadParameter, NotKept
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import rfc3339
from api.wormhole.params import PORTAL, Until
from api.wormhole.scan.activity_params import (
    SAMPLE_RATE,
    ActiveApps,
    ActivitySpan,
    By,
    LastTxsSpan,
    SampleRate,
    TopSpan,
)
from api.wormhole.scan.activity_responses import ChainActivity, LastTxs, Scorecards, TopAssets, TopPairs
from api.wormhole.scan.vaa_pages import contracts_of
from db.queries.wormhole.daily import (
    LAUNCH_DAY,
    each_day,
    each_day_of_all,
    read_days,
    sum_locked,
    sum_notional,
    value_locked,
)
from db.queries.wormhole.hours import count_hours
from db.queries.wormhole.prices import find_prices
from db.queries.wormhole.vaas import find_tokens
from db.store import Row
from db.utc_days import DAY_S, HOUR_S, this_day
from ledger.wormhole.allowlist import allowed_tokens
from ledger.wormhole.chains import PYTHNET

TOP_ASSETS = 7
TOP_PAIRS = 100

CENT = Decimal("0.01")

Key = TypeVar("Key", bound=Any)
Number = TypeVar("Number", int, Decimal)


async def last_txs(network: NetworkMount, span: LastTxsSpan, sample_rate: SampleRate, until: Until) -> list[Json]:
    """Returns the number of messages by hour of one day or by day, newest first."""
    word, count = span
    expected = "1h" if word == "1d" else "1d"
    if sample_rate not in (None, expected):
        raise BadParameter(SAMPLE_RATE.name, f"{expected} for timeSpan {word}", sample_rate)
    last = span_end(until)
    if expected == "1h":
        hours = await count_hours(network.store, last)
        if hours is None:
            raise NotKept("that day has too many messages to count its hours; days are counted with timeSpan=1w")
        return [
            {"time": rfc3339(last * DAY_S + hour * HOUR_S), "count": hours.get(hour, 0)} for hour in range(23, -1, -1)
        ]
    days = await read_days(each_day(network.store, "totals", last + 1 - (count or 0), last))
    return [{"time": rfc3339(day * DAY_S), "count": messages(rows)} for day, rows in sorted(days.items(), reverse=True)]


async def x_chain_activity(network: NetworkMount, span: ActivitySpan, by: By, apps: ActiveApps, until: Until) -> Json:
    """Returns the volume that left each chain for each other chain, highest first, with percentages."""
    if apps is not None and PORTAL not in apps:
        return {"txs": []}
    found: dict[int, dict[int, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    async for _, rows in transfers(network, span[1], span_end(until)):
        for row in rows:
            value = row["message_count"] if by == "tx" else row["notional_usd"] or 0
            found[row["emitter_chain"]][row["target_chain"]] += Decimal(value)
    leaving = {chain: sum(targets.values(), Decimal(0)) for chain, targets in found.items()}
    whole = sum(leaving.values(), Decimal(0))
    txs = [
        part(chain, volume, whole)
        | {"destinations": [part(to, moved, volume) for to, moved in most_first(found[chain])]}
        for chain, volume in most_first(leaving)
    ]
    return {"txs": txs}


async def top_assets_by_volume(network: NetworkMount, span: TopSpan, until: Until) -> Json:
    """Returns the tokens with the highest USD volume that left a chain."""
    volumes: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
    async for _, rows in transfers(network, span[1], span_end(until)):
        for (chain, _, token_key), usd in sum_notional(rows).items():
            volumes[chain, token_key] += usd
    top = most_first(volumes)[:TOP_ASSETS]
    tokens = await find_tokens(network.store, [key for (_, key), _ in top])
    assets = []
    for ((chain, token_key), usd), token in zip(top, tokens, strict=True):
        home, _, address = token_key.partition("/")
        named = {} if token is None else {"symbol": token["symbol"]}
        assets.append(
            {"emitterChain": chain, **named, "tokenChain": int(home), "tokenAddress": address, "volume": plain(usd)}
        )
    return {"assets": assets}


async def top_chain_pairs_by_num_transfers(network: NetworkMount, span: TopSpan, until: Until) -> Json:
    """Returns the pairs of chains with most transfers."""
    counts: dict[tuple[int, int], int] = defaultdict(int)
    async for _, rows in transfers(network, span[1], span_end(until)):
        for row in rows:
            counts[row["emitter_chain"], row["target_chain"]] += row["message_count"]
    pairs = [
        {"emitterChain": chain, "destinationChain": to, "numberOfTransfers": str(count)}
        for (chain, to), count in most_first(counts)[:TOP_PAIRS]
    ]
    return {"chainPairs": pairs}


async def scorecards(network: NetworkMount, until: Until) -> Json:
    """Returns numbers of the whole network: in total, and for the last day, seven and thirty days.

    Totals are those of all days up to the last one, and of messages without a timestamp. `tvl` is the value of tokens
    locked on home chains and not returned, for tokens on the network's list, at the prices of the last day.
    """
    last = span_end(until)
    listed = allowed_tokens(contracts_of(network), last)
    sent: dict[int, int] = defaultdict(int)
    async for day, rows in each_day_of_all(network.store, "totals", last):
        sent[day] += messages(rows)
    moves = 0
    moved: dict[int, Decimal] = defaultdict(Decimal)
    locked: dict[str, Decimal] = defaultdict(Decimal)
    async for day, rows in transfers(network, None, last):
        moves += sum(row["message_count"] for row in rows)
        moved[day] += usd_of(rows)
        if day >= LAUNCH_DAY:
            for key, amount in sum_locked(rows, listed).items():
                locked[key] += amount
    worth = value_locked(locked, await find_prices(network.store, [*locked], last))

    def volume(days: int) -> str:
        return plain(sum((usd for day, usd in moved.items() if last - days < day), Decimal(0)))

    return {
        "24h_messages": str(sent.get(last, 0)),
        "total_messages": str(sum(sent.values())),
        "total_tx_count": str(moves),
        "total_volume": plain(sum(moved.values(), Decimal(0))),
        "tvl": plain(sum(worth.values(), Decimal(0))),
        "24h_volume": volume(1),
        "7d_volume": volume(7),
        "30d_volume": volume(30),
    }


def span_end(until: int | None) -> int:
    """Returns the last day of periods: as requested, at the latest today; by default yesterday, the last complete
    day.
    """
    today = this_day()
    return today - 1 if until is None else min(until, today)


def transfers(network: NetworkMount, days: int | None, last: int) -> AsyncIterator[tuple[int, Sequence[Row]]]:
    """Yields rows of vaa_daily by day, for that many days up to the last one, by default for all days."""
    if days is None:
        return each_day_of_all(network.store, "transfers", last)
    return each_day(network.store, "transfers", last + 1 - days, last)


def messages(rows: Iterable[Row]) -> int:
    """Returns the number of messages in rows of `totals`."""
    return sum(row["message_count"] for row in rows if row["emitter_chain"] != PYTHNET)


def usd_of(rows: Iterable[Row]) -> Decimal:
    """Returns the USD in rows of `transfers`."""
    return sum((Decimal(row["notional_usd"] or 0) for row in rows), Decimal(0))


def most_first(values: Mapping[Key, Number]) -> list[tuple[Key, Number]]:
    """Returns the items, highest first, equal ones by key."""
    return sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))


def part(chain: int, volume: Decimal, whole: Decimal) -> Json:
    """Returns a chain's percentage of the total."""
    percentage = (100 * volume / whole).quantize(CENT, ROUND_HALF_EVEN) if whole else Decimal(0)
    return {"chain": chain, "volume": plain(volume), "percentage": float(percentage)}


def plain(number: Decimal) -> str:
    """Returns a number in digits without trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


ACTIVITY = (
    Operation("/last-txs", last_txs, LastTxs, (501,)),
    Operation("/x-chain-activity", x_chain_activity, ChainActivity),
    Operation("/top-assets-by-volume", top_assets_by_volume, TopAssets),
    Operation("/top-chain-pairs-by-num-transfers", top_chain_pairs_by_num_transfers, TopPairs),
    Operation("/scorecards", scorecards, Scorecards),
)
