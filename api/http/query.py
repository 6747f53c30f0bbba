"""Reads the query of a request."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import unquote_plus

from api.http.errors import BadParameter
from api.http.params import Param

KEPT, KEPT_BYTES = 1_024, 256
"""Number and bytes of the queries whose values are kept: clients send the same ones again and again."""

SPAN = frozenset({"start", "end"})
"""Parameters that limit listings to a span of milestones."""

Query: TypeAlias = tuple[dict[str, Any], object]
"""The values of an operation's parameters in a query, by argument, and the media type that it chooses."""


def read_once(read: Callable[[bytes], Query], text: bytes) -> Query:
    """Returns what the function of an operation reads from a query. It reads a short query once, and all requests share
    the values, so nothing may change them. Raises BadParameter.
    """
    return _kept(read, text) if len(text) <= KEPT_BYTES else read(text)


@lru_cache(KEPT)
def _kept(read: Callable[[bytes], Query], text: bytes) -> Query:
    return read(text)


def query(
    text: bytes, known: frozenset[str], *, is_strict: bool, elsewhere: frozenset[str] = frozenset(), no_span: str = ""
) -> dict[str, str]:
    """Returns the known parameters in the query of a request.

    Unknown parameters are ignored, as in the original APIs, unless `is_strict`. But a name in `elsewhere` has a meaning
    in other operations of this server, and no response ignores it. Raises BadParameter for a repeated parameter, for an
    unknown one if `is_strict`, and for one in `elsewhere`. For `no_span` see Operation.
    """
    values: dict[str, str] = {}
    for pair in text.decode("latin-1").split("&"):
        name, _, value = pair.partition("=")
        if "%" in pair or "+" in pair:
            name, value = (unquote_plus(part, errors="surrogateescape") for part in (name, value))
        if name in known:
            if name in values:
                raise BadParameter(name, "one value", f"{values[name]}, {value}")
            values[name] = value
        elif pair and (is_strict or name in elsewhere):
            reason = f": {no_span}" if no_span and name in SPAN else ""
            raise BadParameter(name, f"only {', '.join(sorted(known)) or 'the path'}{reason}", value)
    return values


def keep_one_name(param: Param, also: Param, given: dict[str, str]) -> None:
    """Removes the name of a parameter whose value counts as missing. Raises BadParameter if both names have a value."""
    if also.name not in given:
        return
    if also.is_missing(given[also.name]):
        del given[also.name]
    elif not param.is_missing(given.pop(param.name, None)):
        raise BadParameter(also.name, f"only one of {param.name} and {also.name}", given[also.name])
