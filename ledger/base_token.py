"""How a network's amounts are shown: the object `baseToken` of the core API v2's info, value ⇄ JSON.

Rules of this file: what is known of a public network's token stands here; nothing is computed with it.
"""

from dataclasses import dataclass
from typing import Any

from ledger.json_reader import U32 as MAX_U32
from ledger.json_reader import JsonError, member, uint


@dataclass(frozen=True, slots=True)
class BaseToken:
    """A token's names; `decimals` of `unit` are one, `subunit` is the smallest part, if that has a name."""

    name: str
    ticker_symbol: str
    unit: str
    subunit: str | None
    decimals: int
    use_metric_prefix: bool


IOTA = BaseToken("IOTA", "IOTA", "IOTA", "micro", 6, use_metric_prefix=False)
SHIMMER = BaseToken("Shimmer", "SMR", "SMR", "glow", 6, use_metric_prefix=False)


def known_token(network: str) -> BaseToken:
    """The token of the network of that name; an unknown one is taken for a test network of IOTA."""
    return SHIMMER if network == "shimmer" else IOTA


def base_token_json(token: BaseToken) -> dict[str, Any]:
    """The object `baseToken`, as Hornet writes it."""
    return {
        "name": token.name,
        "tickerSymbol": token.ticker_symbol,
        "unit": token.unit,
        **({} if token.subunit is None else {"subunit": token.subunit}),
        "decimals": token.decimals,
        "useMetricPrefix": token.use_metric_prefix,
    }


def parse_base_token_json(value: Any) -> BaseToken:
    """The token of such an object. Raises JsonError."""
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
