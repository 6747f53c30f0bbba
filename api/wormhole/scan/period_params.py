"""Parameters of wormholescan's activity by period."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from api.http.params import Param, text, words
from api.wormhole.params import FROM, PORTAL, TO
from api.wormhole.scan.activity_params import APP_PATTERN
from db.queries.wormhole.periods import Unit

TIMESPAN = "timespan"

SYMBOLS_MAX = 100
_SYMBOL = Annotated[str, Field(min_length=1, max_length=64)]
SYMBOL_LIST = Annotated[
    tuple[_SYMBOL, ...],
    Field(max_length=SYMBOLS_MAX),
    BeforeValidator(lambda given: [symbol for symbol in given.split(",") if symbol]),
    AfterValidator(lambda symbols: symbols or None),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^,*([^,]+(,+[^,]+){{0,{SYMBOLS_MAX - 1}}},*)?$",
            "description": f"at most {SYMBOLS_MAX} symbols, separated by commas",
        }
    ),
]
"""Read as None without any symbol."""


def units(spans: Mapping[str, Unit | None]) -> Param:
    """The parameter timespan with these words: word → unit, None: hours."""
    return Param(TIMESPAN, words(spans), "Length of a period; 1h returns 501", "1d", required=True)


TopsUnit = Annotated[Unit | None, units({"1h": None, "1d": "day", "1mo": "month", "1y": "year"})]
ApplicationUnit = Annotated[Unit | None, units({"1h": None, "1d": "day", "1mo": "month"})]
TokenUnit = Annotated[Unit | None, units({"1h": None, "1d": "day", "1mo": "month"})]
FromTime = Annotated[int, replace(FROM, meaning="A time in the first period", required=True)]
ToTime = Annotated[
    int, replace(TO, meaning="A time in the period after the last one; at the latest now", required=True)
]
OneApp = Annotated[
    str | None,
    Param(
        "appId",
        text("the name of an application (letters, digits, - and _)", pattern=f"^{APP_PATTERN}$"),
        "Only this application",
        PORTAL,
    ),
]
Symbols = Annotated[
    tuple[str, ...] | None,
    Param(
        "symbol",
        SYMBOL_LIST,
        "Only tokens with these symbols, in any letter case. Empty items are ignored",
        "USDC",
    ),
]
