"""The parameters of wormholescan's counts and sums.

Rules of this file: as in params_wormhole.py.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, TypeAlias

from api.http.params import Param, one_of
from api.wormhole.params import PORTAL, listed_words


def parse_app(text: str) -> str:
    """The name of an application, known or not; ValueError for what can be none."""
    if not re.fullmatch("[0-9A-Za-z_-]+", text, re.ASCII):
        raise ValueError("alphabet")
    return text


def spans_of(days: Mapping[str, int | None], default: str | None) -> Param:
    """The parameter timeSpan of those words: word → days, None: all."""
    words = {word: (word, count) for word, count in days.items()}
    return one_of(
        "timeSpan", "How many days it tells of", words, next(iter(days)), default=default, required=default is None
    )


ACTIVE_APPS = Param(
    "apps",
    "query",
    f"Only what these applications moved: {PORTAL} moved all that is summed, any other nothing",
    "names of applications, of letters, digits, - and _, with commas between them",
    {"type": "string", "pattern": "^[0-9A-Za-z_-]+(,[0-9A-Za-z_-]+)*$"},
    partial(listed_words, parse=parse_app),
    PORTAL,
)
SAMPLE_RATE = one_of(
    "sampleRate", "What is counted together: hours of 1d, days of 1w and 1mo", {"1h": "1h", "1d": "1d"}, "1h"
)
BY = one_of("by", "What is summed: USD, or transfers", {"notional": "notional", "tx": "tx"}, "tx", default="notional")
TimeSpan: TypeAlias = tuple[str, int | None]
"""The word, and its days."""

LastTxsSpan: TypeAlias = Annotated[TimeSpan, spans_of({"1d": 1, "1w": 7, "1mo": 30}, "1d")]
ActivitySpan: TypeAlias = Annotated[
    TimeSpan, spans_of({"7d": 7, "30d": 30, "90d": 90, "1y": 365, "all-time": None}, "7d")
]
TopSpan: TypeAlias = Annotated[TimeSpan, spans_of({"7d": 7, "15d": 15, "30d": 30}, None)]
SampleRate: TypeAlias = Annotated[str | None, SAMPLE_RATE]
By: TypeAlias = Annotated[str, BY]
ActiveApps: TypeAlias = Annotated[tuple[str, ...] | None, ACTIVE_APPS]
