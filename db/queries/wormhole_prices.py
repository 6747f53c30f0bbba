"""What tokens are worth, by the price files that were loaded.

Rules of this file: as loads price transfers: a price holds from its day on, the first one before it too; a token's own
prices go before those of its symbol. A token is two partition reads, four where its symbol is asked for.
"""

from asyncio import gather
from bisect import bisect_right
from collections.abc import Collection
from decimal import Decimal
from operator import itemgetter
from typing import TypeAlias

from db.queries.wormhole import find_token
from db.schema_wormhole import prices, symbol_key
from db.store import Bound, Store

AT_ONCE = 64
"""Tokens that are asked about together."""

DAYS_MAX = 100_000
"""Days that a token has prices of, at most: three centuries."""

History: TypeAlias = list[tuple[int, Decimal]]
"""Days and the prices that hold from them on, in order."""


async def find_prices(store: Store, token_keys: Collection[str], day: int) -> dict[str, Decimal]:
    """USD of one token by token_key, on that day since 1970; of those that have a price."""
    every, found = [*token_keys], dict[str, Decimal]()
    for start in range(0, len(every), AT_ONCE):
        keys = every[start : start + AT_ONCE]
        told = await gather(*(_price(store, key, day) for key in keys))
        found |= {key: price for key, price in zip(keys, told, strict=True) if price is not None}
    return found


async def _price(store: Store, token_key: str, day: int) -> Decimal | None:
    own = await _on(store, token_key, day)
    if own is not None:
        return own
    token = await find_token(store, token_key)
    return None if token is None else await _on(store, symbol_key(token["symbol"]), day)


async def read_histories(store: Store, token_keys: Collection[str]) -> dict[str, History]:
    """All prices of tokens by token_key, of those that have any."""
    every, found = [*token_keys], dict[str, History]()
    for start in range(0, len(every), AT_ONCE):
        keys = every[start : start + AT_ONCE]
        told = await gather(*(_history(store, key) for key in keys))
        found |= {key: history for key, history in zip(keys, told, strict=True) if history}
    return found


def price_on(history: History, day: int) -> Decimal:
    """The price that holds on that day."""
    return history[max(bisect_right(history, day, key=itemgetter(0)) - 1, 0)][1]


async def _history(store: Store, token_key: str) -> History:
    own = await _all(store, token_key)
    if own:
        return own
    token = await find_token(store, token_key)
    return [] if token is None else await _all(store, symbol_key(token["symbol"]))


async def _all(store: Store, key: str) -> History:
    rows = await store.slice(prices, (key,), reverse=True, limit=DAYS_MAX)
    return [(row["day"], Decimal(row["price_usd"])) for row in rows]


async def _on(store: Store, key: str, day: int) -> Decimal | None:
    rows = await store.slice(prices, (key,), upper=Bound((day,)), limit=1)
    if not rows:
        rows = await store.slice(prices, (key,), reverse=True, limit=1)
    return Decimal(rows[0]["price_usd"]) if rows else None
