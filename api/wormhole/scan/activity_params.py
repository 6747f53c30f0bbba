"""Parameters of wormholescan's counts and sums."""

from collections.abc import Mapping
from typing import Annotated

from api.http.params import Param, comma_separated, text, words
from api.wormhole.params import PORTAL

APP_PATTERN = "[0-9A-Za-z_-]+"


def spans_of(days: Mapping[str, int | None], default: str | None) -> Param:
    """The parameter timeSpan with these words: word → days, None: all."""
    return Param(
        "timeSpan",
        words({word: (word, count) for word, count in days.items()}),
        "Days that the answer covers",
        next(iter(days)),
        default=default,
        required=default is None,
    )


SAMPLE_RATE = Param(
    "sampleRate", words(("1h", "1d")), "Length of an interval: 1h for timeSpan 1d, 1d for 1w and 1mo", "1h"
)

TimeSpan = tuple[str, int | None]
"""The word, and its days."""

LastTxsSpan = Annotated[TimeSpan, spans_of({"1d": 1, "1w": 7, "1mo": 30}, "1d")]
ActivitySpan = Annotated[TimeSpan, spans_of({"7d": 7, "30d": 30, "90d": 90, "1y": 365, "all-time": None}, "7d")]
TopSpan = Annotated[TimeSpan, spans_of({"7d": 7, "15d": 15, "30d": 30}, None)]
SampleRate = Annotated[str | None, SAMPLE_RATE]
By = Annotated[
    str, Param("by", words(("notional", "tx")), "Sum of USD, or number of transfers", "tx", default="notional")
]
ActiveApps = Annotated[
    tuple[str, ...] | None,
    Param(
        "apps",
        comma_separated(
            text("", pattern=f"^{APP_PATTERN}$"),
            "names of applications, separated by commas (letters, digits, - and _)",
            APP_PATTERN,
        ),
        f"Only transfers of these applications. {PORTAL} has all transfers that are summed, others have none",
        PORTAL,
    ),
]
