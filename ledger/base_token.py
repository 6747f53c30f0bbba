"""The native token of a network, and its JSON object `baseToken` in the info endpoint of the core API v2.

Values of the public networks are built in. They are used for display only.
"""

from dataclasses import dataclass
from typing import Any

from ledger.json_reader import U32 as MAX_U32
from ledger.json_reader import JsonError, member, uint


@dataclass(frozen=True, slots=True)
class BaseToken:
    """A token's names. 10^`decimals` subunits are one `unit`; `subunit` is None if the smallest part has no name."""

    name: str
    ticker_symbol: str
    unit: str
    subunit: str | None
    decimals: int
    use_metric_prefix: bool


IOTA = BaseToken("IOTA", "IOTA", "IOTA", "micro", 6, use_metric_prefix=False)
SHIMMER = BaseToken("Shimmer", "SMR", "SMR", "glow", 6, use_metric_prefix=False)


def known_token(network: str) -> BaseToken:
    """The built-in token of a network. An unknown network is treated as an IOTA test network."""
    return SHIMMER if network == "shimmer" else IOTA


def base_token_json(token: BaseToken) -> dict[str, Any]:
    """Renders the object `baseToken`, in Hornet's form."""
    return {
        "name": token.name,
        "tickerSymbol": token.ticker_symbol,
        "unit": token.unit,
        **({} if token.subunit is None else {"subunit": token.subunit}),
        "decimals": token.decimals,
        "useMetricPrefix": token.use_metric_prefix,
    }


def parse_base_token_json(value: Any) -> BaseToken:
    """Parses an object `baseToken`. Raises JsonError."""
    metric = member(value, "useMetricPrefix")
    if type(metric) is not bool:
        raise JsonError("useMetricPrefix", "true or false")
    return BaseToken(
        _text(value, "name"),
        _text(value, "tickerSymbol"),
        _text(value, "unit"),
        _text(value, "subunit") if "subunit" in value else None,
        uint(value, "decimals", MAX_U32),
        metric,
    )


def _text(value: Any, key: str) -> str:
    text = member(value, key)
    if type(text) is not str:
        raise JsonError(key, "a text")
    return text
