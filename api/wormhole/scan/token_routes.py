"""wormholescan's tokens: one by its address, and the symbols and corridors with most transfers.

Sums are over whole UTC days of verified transfers, as in activity_routes.py. Tokens of the same symbol count together,
whatever its letter case.
"""

from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from typing import Annotated

from api.http.errors import BadParameter, NotKept
from api.http.operations import Operation
from api.http.params import Param, integer, path
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.params import CHAIN, EMITTER, Until
from api.wormhole.scan.activity_params import TimeSpan, spans_of
from api.wormhole.scan.activity_routes import most_first, plain, span_end, transfers
from api.wormhole.scan.period_responses import SymbolTotals, Token, TopCorridors, TopSymbols
from db.queries.wormhole.daily import TooManyRows
from db.queries.wormhole.periods import limited
from db.queries.wormhole.vaas import find_symbols, find_token
from db.store import NotFound, Row
from ledger.wormhole.addresses import NativeAddressError, parse_token

TOP_SYMBOLS = 7
TOP_CORRIDORS = 100
SYMBOLS_MAX = 100

ALL_TIME: TimeSpan = ("all-time", None)

SymbolSpan = Annotated[TimeSpan, spans_of({"7d": 7, "15d": 15, "30d": 30}, "7d")]
CorridorSpan = Annotated[TimeSpan, spans_of({"2d": 2, "7d": 7}, "2d")]
Limit = Annotated[int, Param("limit", integer(1, SYMBOLS_MAX), "Maximum number of symbols", 10, default="10")]
WBTC = "0000000000000000000000002260fac5e5542a773aa44fbcfedf7c193bc2c599"

TokenChain = Annotated[int, replace(CHAIN, meaning="Wormhole's ID of the token's home chain", example=2)]
TokenAddress = Annotated[
    str, path("token_address", EMITTER.type, "The token, as hex or as its home chain writes it", WBTC)
]


async def token_by_address(network: NetworkMount, chain: TokenChain, address: TokenAddress) -> Json:
    """Returns symbol, decimals and CoinGecko id of a token on its home chain.

    The status is 404 if no verified message and no token list describes it.
    """
    try:
        hexadecimal = parse_token(chain, address).hex()
    except NativeAddressError as error:
        raise BadParameter("token_address", EMITTER.expected, address) from error
    row = await find_token(network.store, f"{chain}/{hexadecimal}")
    if row is None:
        raise NotFound(f"token {chain}/{hexadecimal}")
    return {"symbol": row["symbol"], "coingeckoId": row["coin_gecko_id"] or "", "decimals": row["decimals"]}


async def top_symbols_by_volume(network: NetworkMount, span: SymbolSpan, until: Until) -> Json:
    """Returns the symbols with the highest USD volume, with their tokens by the chain that they left."""
    sums: dict[tuple[str, int], tuple[int, Decimal]] = defaultdict(lambda: (0, Decimal(0)))
    async for row in moves(network, span, until):
        place = row["token_key"], row["emitter_chain"]
        count, usd = sums[place]
        sums[place] = count + row["message_count"], usd + Decimal(row["notional_usd"] or 0)
    symbols = await find_symbols(network.store, {key for key, _ in sums})
    held: dict[str, dict[tuple[str, int], tuple[int, Decimal]]] = defaultdict(dict)
    for (key, chain), each in sums.items():
        if key in symbols:
            held[symbols[key]][key, chain] = each
    volumes = {symbol: sum((usd for _, usd in tokens.values()), Decimal(0)) for symbol, tokens in held.items()}
    return {
        "symbols": [
            {
                "symbol": symbol,
                "volume": plain(volume),
                "txs": str(sum(count for count, _ in held[symbol].values())),
                "tokens": [
                    {
                        "emitter_chain": chain,
                        **token_json(key),
                        "volume": plain(usd),
                        "txs": str(held[symbol][key, chain][0]),
                    }
                    for (key, chain), usd in most_first({each: usd for each, (_, usd) in held[symbol].items()})
                ],
            }
            for symbol, volume in most_first(volumes)[:TOP_SYMBOLS]
        ]
    }


async def top_100_corridors(network: NetworkMount, span: CorridorSpan, until: Until) -> Json:
    """Returns the tokens and pairs of chains with most transfers."""
    counts: dict[tuple[int, int, str], int] = defaultdict(int)
    async for row in moves(network, span, until):
        counts[row["emitter_chain"], row["target_chain"], row["token_key"]] += row["message_count"]
    return {
        "corridors": [
            {"emitter_chain": chain, "target_chain": to, **token_json(key), "txs": count}
            for (chain, to, key), count in most_first(counts)[:TOP_CORRIDORS]
        ]
    }


async def tokens_symbol_volume(network: NetworkMount, limit: Limit, until: Until) -> list[Json]:
    """Returns the symbols with the highest USD volume of all time."""
    volumes: dict[str, Decimal] = defaultdict(Decimal)
    async for row in moves(network, ALL_TIME, until):
        volumes[row["token_key"]] += Decimal(row["notional_usd"] or 0)
    symbols = await find_symbols(network.store, {key for key, usd in volumes.items() if usd})
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for key, symbol in symbols.items():
        totals[symbol] += volumes[key]
    return [{"symbol": symbol, "volume": float(volume)} for symbol, volume in most_first(totals)[:limit]]


async def moves(network: NetworkMount, span: TimeSpan, until: int | None) -> AsyncIterator[Row]:
    """Yields the rows of `transfers` of these days. Raises NotKept if there are too many."""
    try:
        async for _, rows in limited(transfers(network, span[1], span_end(until))):
            for row in rows:
                yield row
    except TooManyRows:
        raise NotKept("more rows than one response sums: request fewer days") from None


def token_json(token_key: str) -> Json:
    """Returns a token's home chain and its address there."""
    chain, _, address = token_key.partition("/")
    return {"token_chain": int(chain), "token_address": address}


TOKENS = (
    Operation("/token/{chain}/{token_address}", token_by_address, Token, (404,)),
    Operation("/top-symbols-by-volume", top_symbols_by_volume, TopSymbols, (501,)),
    Operation("/top-100-corridors", top_100_corridors, TopCorridors, (501,)),
    Operation("/tokens-symbol-volume", tokens_symbol_volume, SymbolTotals, (501,)),
)
"""Paths as in wormholescan, where `token` has its parameters in this order."""
