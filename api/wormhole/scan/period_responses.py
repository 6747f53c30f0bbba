"""Responses of wormholescan's activity by period, of its tokens, and of its server."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from api.http.responses import whole_example
from api.wormhole.responses import U16, Hex32

TOP: dict[str, Any] = {
    "from": "2021-10-01T00:00:00Z",
    "to": "2021-11-01T00:00:00Z",
    "emitter_chain": "1",
    "volume": 25050000000,
    "count": 3,
}
SUMS: dict[str, Any] = {"total_messages": 3, "total_value_transferred": 250.5}
SPAN: dict[str, Any] = {"from": TOP["from"], "to": TOP["to"], **SUMS}
APPLICATION: dict[str, Any] = {
    "app_id": "PORTAL_TOKEN_BRIDGE",
    "time_range_data": [SPAN | {"aggregations": [{"app_id": "PORTAL_TOKEN_BRIDGE", **SUMS}]}],
}
SYMBOL: dict[str, Any] = {
    "token_symbol": "USDC",
    **SUMS,
    "time_range_data": [SPAN | {"aggregations": [SUMS | {"source_chain": 1, "target_chain": 2}]}],
}


class ChainTop(BaseModel):
    """The transfers that left a chain in a period. `volume` is in 10^-8 USD."""

    model_config = ConfigDict(populate_by_name=True)
    since: str = Field(alias="from")
    to: str
    emitter_chain: str
    volume: int
    count: int


class ChainTops(RootModel[list[ChainTop]]):
    """Periods of each chain, as a list without envelope."""

    model_config = ConfigDict(json_schema_extra={"examples": [[TOP]]})


class Sums(BaseModel):
    """Messages, and the USD that they transferred."""

    total_messages: int
    total_value_transferred: float


class ApplicationSums(Sums):
    """The messages that belong to one application alone."""

    app_id: str


class ApplicationSpan(Sums):
    """A period of an application."""

    model_config = ConfigDict(populate_by_name=True)
    since: str = Field(alias="from")
    to: str
    aggregations: list[ApplicationSums]


class OneApplication(BaseModel):
    """An application."""

    app_id: str
    time_range_data: list[ApplicationSpan]


class ApplicationActivity(RootModel[list[OneApplication]]):
    """Applications, as a list without envelope."""

    model_config = ConfigDict(json_schema_extra={"examples": [[APPLICATION]]})


class WaySums(Sums):
    """The transfers from one chain to another."""

    source_chain: U16
    target_chain: U16


class TokenSpan(Sums):
    """A period of a symbol."""

    model_config = ConfigDict(populate_by_name=True)
    since: str = Field(alias="from")
    to: str
    aggregations: list[WaySums]


class SymbolActivity(Sums):
    """The tokens with a symbol."""

    token_symbol: str
    time_range_data: list[TokenSpan]


class TokensActivity(BaseModel):
    """Symbols."""

    model_config = whole_example(tokens=[SYMBOL])
    tokens: list[SymbolActivity]


class TokenVolume(BaseModel):
    """The tokens with a symbol that left a chain. Numbers are text."""

    emitter_chain: U16
    token_chain: U16
    token_address: Hex32
    volume: str
    txs: str


class SymbolVolume(BaseModel):
    """A symbol."""

    symbol: str
    volume: str
    txs: str
    tokens: list[TokenVolume]


class TopSymbols(BaseModel):
    """The symbols with the highest volume."""

    model_config = whole_example(
        symbols=[
            {
                "symbol": "USDC",
                "volume": "250.5",
                "txs": "3",
                "tokens": [
                    {"emitter_chain": 1, "token_chain": 1, "token_address": "ab" * 32, "volume": "250.5", "txs": "3"}
                ],
            }
        ]
    )
    symbols: list[SymbolVolume]


class Corridor(BaseModel):
    """The transfers of a token from one chain to another."""

    emitter_chain: U16
    target_chain: U16
    token_chain: U16
    token_address: Hex32
    txs: int


class TopCorridors(BaseModel):
    """The corridors with most transfers."""

    model_config = whole_example(
        corridors=[{"emitter_chain": 1, "target_chain": 2, "token_chain": 1, "token_address": "ab" * 32, "txs": 3}]
    )
    corridors: list[Corridor]


class SymbolTotal(BaseModel):
    """The USD that tokens with a symbol ever moved."""

    symbol: str
    volume: float


class SymbolTotals(RootModel[list[SymbolTotal]]):
    """Symbols, as a list without envelope."""

    model_config = ConfigDict(json_schema_extra={"examples": [[{"symbol": "USDC", "volume": 250.5}]]})


class Token(BaseModel):
    """A token on its home chain. `coingeckoId` is empty if no token list has it."""

    model_config = whole_example(symbol="USDC", coingeckoId="usd-coin", decimals=6)
    symbol: str
    coingeckoId: str
    decimals: int


class Healthy(BaseModel):
    """Whether the server works."""

    model_config = whole_example(status="OK")
    status: str


class Ready(BaseModel):
    """Whether the store of the network answers."""

    model_config = whole_example(ready="OK")
    ready: str


class Version(BaseModel):
    """The program: `build` is its version; what it does not know is empty."""

    model_config = whole_example(build_date="", build="1.0.0", branch="", machine="", user="")
    build_date: str
    build: str
    branch: str
    machine: str
    user: str
