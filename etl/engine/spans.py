"""The approximate duration of a run, which limits the time for planning queries and compiling code."""

from enum import Enum, auto

SECONDS_BYTES, MINUTE_BYTES = 64 << 20, 512 << 20
"""A load takes seconds, or about a minute, if its files have fewer bytes in total than these."""

VAA_WEIGHT = 4
"""One byte of VAAs makes about as many rows as four bytes of messages."""

ANALYTICS_MESSAGES = 2_000_000
"""The analytics of fewer messages than this take about a minute."""


class Span(Enum):
    """The expected duration of a run. ANALYTICS: about a minute, all of it in Spark's own operators."""

    SECONDS = auto()
    MINUTE = auto()
    ANALYTICS = auto()
    MINUTES = auto()


class Planning(Enum):
    """How the queries of a session differ from the run's own: with compiled code, not planned again after their first
    stages, or for a row per milestone, where compiling code takes longer than running without it.
    """

    COMPILED = auto()
    UNREVISED = auto()
    FEW_ROWS = auto()


def span_of(size: int, weight: int = 1) -> Span:
    """Returns the expected duration of a load of files with that many bytes. `weight`: rows per byte, compared to
    messages.
    """
    size *= weight
    return Span.SECONDS if size < SECONDS_BYTES else Span.MINUTE if size < MINUTE_BYTES else Span.MINUTES


def span_of_analytics(messages: int) -> Span:
    """Returns the expected duration of the analytics of all messages of a store."""
    return Span.ANALYTICS if messages < ANALYTICS_MESSAGES else Span.MINUTES
