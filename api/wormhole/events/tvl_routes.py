"""Functions of the event database: the value locked on home chains.

Days are whole UTC days, and a period of n days has n + 1 dates. Tokens without a price are left out. Returned tokens
count as negative, so the value of a day, token or chain can be negative. A token that is not on the network's list on a
day counts nothing on that day, whatever it locked before, because the event database skipped inactive tokens.
"""

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal

from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.events.functions import Given, function
from api.wormhole.events.params import LAST_24_HOURS, LOCKED, LOCKED_SO_FAR, NUM_DAYS
from api.wormhole.events.responses import EventLocked, EventLockedSoFar
from api.wormhole.events.sum_routes import cents, last_day, limited_days, total
from db.listing.turns import give_way, in_turns
from db.queries.wormhole.daily import LAUNCH_DAY, sum_locked
from db.queries.wormhole.prices import find_prices, price_on, read_histories
from db.queries.wormhole.vaas import find_tokens
from db.utc_days import format_day
from ledger.wormhole.addresses import format_token
from ledger.wormhole.allowlist import COINGECKO_IDS, allowed_tokens


async def notionaltvl(network: NetworkMount, given: Given) -> Json:
    """Returns the value locked since the launch of the bridge, and its change on the last day, at the prices of the
    last day.
    """
    last = last_day(given)
    changes = await daily_changes(network, last, listed_on=last)
    whole = await total(changes.values())
    prices = await find_prices(network.store, [*whole], last)
    change = changes.get(last, {}) if given[LAST_24_HOURS.name] else {}
    return {
        "Last24HoursChange": await assets_json(network, change, prices),
        "AllTime": await assets_json(network, whole, prices),
    }


async def notionaltvlcumulative(network: NetworkMount, given: Given) -> Json:
    """Returns the value locked at the end of each day, by chain, at the prices of that day."""
    assert network.wormhole is not None
    last, span = last_day(given), given[NUM_DAYS.name]
    first = LAUNCH_DAY if span is None else last - span
    changes = await daily_changes(network, last, listed_on=first)
    keys: set[str] = set()
    for change in changes.values():
        await give_way()
        keys.update(change)
    histories = await read_histories(network.store, keys)
    locked: dict[str, Decimal] = defaultdict(Decimal)
    days: dict[int, dict[str, Decimal]] = {}
    for day, change in changes.items():
        await give_way()
        for key, amount in change.items():
            locked[key] += amount
        if first <= day:
            listed = allowed_tokens(network.wormhole, day)
            worth: dict[str, Decimal] = {}
            async for key in in_turns(locked):
                if key in histories and (listed is None or key in listed):
                    worth[key] = locked[key] * price_on(histories[key], day)
            days[day] = by_chain(worth)
    chains = sorted({chain for each in days.values() for chain in each})
    return {
        "DailyLocked": {
            format_day(day): {
                chain: {"*": {"Symbol": "*", "Notional": cents(each.get(chain, Decimal(0)))}} for chain in chains
            }
            for day, each in days.items()
        }
    }


async def daily_changes(network: NetworkMount, last: int, *, listed_on: int) -> dict[int, dict[str, Decimal]]:
    """Returns the tokens by token_key that were locked on each day, less the returned ones, for tokens on the list
    of that day. Tokens leave this list and never join it.
    """
    assert network.wormhole is not None
    listed = allowed_tokens(network.wormhole, listed_on)
    changes: dict[int, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    async for day, rows in limited_days(network, "transfers", LAUNCH_DAY, last):
        here = changes[day]
        for key, amount in sum_locked(rows, listed).items():
            here[key] += amount
    return changes


def by_chain(worth: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Returns USD by home chain, and the sum of all."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for key, usd in worth.items():
        found[key.partition("/")[0]] += usd
        found["*"] += usd
    return found


async def assets_json(network: NetworkMount, locked: Mapping[str, Decimal], prices: Mapping[str, Decimal]) -> Json:
    """Returns the locked tokens by home chain and the chain's own token address, and the sums of each chain."""
    keys = sorted(key for key, amount in locked.items() if amount and key in prices)
    tokens = await find_tokens(network.store, keys)
    worth = {key: locked[key] * prices[key] for key in keys}
    await give_way()
    found: Json = {chain: {"*": {"Symbol": "*", "Notional": cents(usd)}} for chain, usd in by_chain(worth).items()}
    async for key, token in in_turns(zip(keys, tokens, strict=True)):
        chain, _, address = key.partition("/")
        native = format_token(int(chain), bytes.fromhex(address))
        found[chain][native] = {
            "Symbol": "" if token is None else token["symbol"],
            "Name": "" if token is None else token["name"],
            "Address": native,
            "CoinGeckoId": (token or {}).get("coin_gecko_id") or COINGECKO_IDS.get(key, ""),
            "Amount": float(locked[key]),
            "Notional": cents(worth[key]),
            "TokenPrice": float(prices[key]),
            "TokenDecimals": None if token is None else token["decimals"],
        }
    return found


TVL = (
    *function("/notionaltvl", notionaltvl, LOCKED, EventLocked, (501,)),
    *function("/notionaltvlcumulative", notionaltvlcumulative, LOCKED_SO_FAR, EventLockedSoFar, (501,)),
)
