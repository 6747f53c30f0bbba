"""What a client accepts, and which of the forms of an answer it gets (RFC 9110 12.4, 12.5.1).

Rules of this file: headers are read, nothing is refused: who wants nothing that there is gets the first form, as at a
node, and may look at its content-type.
"""

from collections.abc import Sequence
from functools import lru_cache

from starlette.types import Scope

JSON = "application/json"


def accepted(scope: Scope) -> str:
    """What the Accept headers of a request name, as one text."""
    return ",".join([value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"])


@lru_cache(maxsize=256)
def choose_form(header: str, forms: Sequence[str]) -> str:
    """The media type that Accept wants most: by weight, then the one named more exactly, then the one named first, then
    the one that comes first in `forms`, which is also the answer to who accepts none of them.
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
    """Name → weight, 0 to 1, of what an Accept or Accept-Encoding names (RFC 9110 12.4.2)."""
    named: dict[str, float] = {}
    for part in header.lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        named[name] = min((weight(text) for text in parameters), default=1.0)
    return named


def weight(parameter: str) -> float:
    """The number of `q=0.5`; 0 for what is none, 1 for another parameter."""
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(1.0, max(0.0, float(value)))
    except ValueError:
        return 0.0
