"""The ends of a span of milestones: `start` and `end` of series, histories and listings."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field

from api.fields.params import END_TIMESTAMP, INDEX, INDEX_MAX, START_TIMESTAMP
from api.http.params import DAY, Param, Params
from db.queries.spans import Edge
from db.utc_days import DAY_S

FIRST_TIME = 10**9
"""Lower numbers are milestone indices, others seconds since 1970: no network has that many milestones."""

Given: TypeAlias = Mapping[str, Any]


def edge_of(value: int | date) -> Edge:
    """A milestone, a time in seconds since 1970, or a UTC day."""
    if isinstance(value, date):
        midnight = (value - date(1970, 1, 1)).days * DAY_S
        return Edge(midnight, midnight + DAY_S - 1)
    return Edge(milestone=value) if value < FIRST_TIME else Edge(value, value)


START = Param(
    "start",
    Annotated[
        INDEX | DAY,
        AfterValidator(edge_of),
        Field(description=f"an integer from 0 to {INDEX_MAX} or a date such as 2022-01-31"),
    ],
    f"Only what this milestone or a later one did: a milestone (below {FIRST_TIME}), a time in seconds since 1970, or "
    "a UTC day",
    1,
)
END = replace(
    START, name="end", meaning="Only what this milestone or an earlier one did; as `start`", example="2022-10-01"
)

Span = Annotated[Given, Params((START, END))]
TimedSpan = Annotated[Given, Params((START_TIMESTAMP, END_TIMESTAMP, START, END))]
"""With the parameters of node REST v1 and Chronicle v1, whose end is exclusive."""


def edges_of(given: Given) -> tuple[list[Edge], list[Edge]]:
    """The given starts and ends."""
    return [[given[each.name]] if given[each.name] is not None else [] for each in (START, END)]  # type: ignore[return-value]
