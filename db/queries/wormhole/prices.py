"""Token prices from the loaded price files.

The rules are the same as when a load prices transfers: a price applies from its day, the first one also before it, and
a token's own prices take precedence over those of its symbol. A token takes two partition reads, or four with its
symbol.
"""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Collection
from decimal import Decimal
from operator import itemgetter
from typing import TypeAlias, TypeVar

from db.queries.wormhole.vaas import find_token
from db.schema.wormhole_tables import prices, symbol_key
from db.store import Bound, Store
from db.together import together

AT_ONCE = 64
"""Tokens that are read concurrently."""

DAYS_MAX = 100_000
"""The most days with prices per token: about three centuries."""

History: TypeAlias = list[tuple[int, Decimal]]
"""Days and the prices that apply from them, in order."""

Value = TypeVar("Value")


async def find_prices(store: Store, token_keys: Collection[str], day: int) -> dict[str, Decimal]:
    """The price in USD of one token by token_key, on a day since 1970; only tokens with a price."""

    async def find(key: str) -> Decimal | None:
        rows = await store.slice(prices, (key,), upper=Bound((day,)), limit=1)
        if not rows:
            rows = await store.slice(prices, (key,), reverse=True, limit=1)
        return Decimal(rows[0]["price_usd"]) if rows else None

    return await _of_each(store, token_keys, find)


async def read_histories(store: Store, token_keys: Collection[str]) -> dict[str, History]:
    """All prices by token_key; only tokens with any."""

    async def find(key: str) -> History | None:
        return await _history(store, key) or None

    return await _of_each(store, token_keys, find)


async def read_history(store: Store, symbol: str) -> History:
    """All prices of a symbol; none for an unknown one."""
    return await _history(store, symbol_key(symbol))


async def _history(store: Store, key: str) -> History:
    rows = await store.slice(prices, (key,), reverse=True, limit=DAYS_MAX)
    return [(row["day"], Decimal(row["price_usd"])) for row in rows]


def price_on(history: History, day: int) -> Decimal:
    """The price that applies on a day."""
    return history[max(bisect_right(history, day, key=itemgetter(0)) - 1, 0)][1]


async def _of_each(
    store: Store, token_keys: Collection[str], find: Callable[[str], Awaitable[Value | None]]
) -> dict[str, Value]:
    async def own_or_symbol_s(token_key: str) -> Value | None:
        own = await find(token_key)
        if own is not None:
            return own
        token = await find_token(store, token_key)
        return None if token is None else await find(symbol_key(token["symbol"]))

    every, found = [*token_keys], dict[str, Value]()
    for start in range(0, len(every), AT_ONCE):
        keys = every[start : start + AT_ONCE]
        values = await together(*(own_or_symbol_s(key) for key in keys))
        found |= {key: value for key, value in zip(keys, values, strict=True) if value is not None}
    return found
