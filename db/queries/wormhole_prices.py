"""What tokens are worth, by the price files that were loaded.

Rules of this file: as loads price transfers: a price holds from its day on, the first one before it too; a token's own
prices go before those of its symbol. A token is two partition reads, four where its symbol is asked for.
"""

from asyncio import gather
from collections.abc import Collection
from decimal import Decimal

from db.queries.wormhole import find_token
from db.schema_wormhole import prices, symbol_key
from db.store import Bound, Store

AT_ONCE = 64
"""Tokens that are asked about together."""


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


async def _on(store: Store, key: str, day: int) -> Decimal | None:
    rows = await store.slice(prices, (key,), upper=Bound((day,)), limit=1)
    if not rows:
        rows = await store.slice(prices, (key,), reverse=True, limit=1)
    return Decimal(rows[0]["price_usd"]) if rows else None
