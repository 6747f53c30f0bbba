"""Chooses the media type of a response from Accept (RFC 9110 12.4, 12.5.1).

No Accept header is rejected, except for its length. A client that accepts none of the offered types gets the first one,
as at a node.
"""

from collections.abc import Sequence
from functools import lru_cache

from starlette.types import Scope

from api.http.errors import HeaderTooLong

JSON = "application/json"

ACCEPT_MAX_BYTES = 1_024
"""Maximum of an Accept header, and of Accept-Encoding. Those of browsers have up to 200 bytes; some are kept."""


def accepted(scope: Scope, header: bytes = b"accept") -> str:
    """Returns the Accept headers of a request, or another one of their form, as one text. Raises HeaderTooLong."""
    found = b",".join([value for name, value in scope["headers"] if name == header])
    if len(found) > ACCEPT_MAX_BYTES:
        raise HeaderTooLong(header.decode(), ACCEPT_MAX_BYTES)
    return found.decode("latin-1")


@lru_cache(maxsize=256)
def choose_form(header: str, forms: Sequence[str]) -> str:
    """Returns the media type that Accept prefers.

    The order is by weight, then by the more specific range, then by the position in Accept, then by the position in
    `forms`. If Accept allows none, the result is the first of `forms`.
    """
    wanted = weights(header)
    order = list(wanted)

    def rank(form: str) -> tuple[float, int, int]:
        for exactness, name in ((2, form), (1, f"{form.partition('/')[0]}/*"), (0, "*/*")):
            if name in wanted:
                return wanted[name], exactness, -order.index(name)
        return 0.0, 0, 0

    best = max(forms, key=rank)
    return best if rank(best)[0] > 0 else forms[0]


def weights(header: str) -> dict[str, float]:
    """Returns name → weight, 0 to 1, for the items of an Accept or Accept-Encoding header (RFC 9110 12.4.2)."""
    named: dict[str, float] = {}
    for part in header.lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        named[name] = min((weight(text) for text in parameters), default=1.0)
    return named


def weight(parameter: str) -> float:
    """Returns the number of `q=0.5`: 0 if it is invalid, 1 for another parameter."""
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(1.0, max(0.0, float(value)))
    except ValueError:
        return 0.0
