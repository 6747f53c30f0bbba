"""Parameters of analytics v2: inx-chronicle's ranges of milestones, and this server's series."""

from dataclasses import replace
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field

from api.analytics_v2.measures import DAY_MEASURES, HOUR_MEASURES, MILESTONE_MEASURES, Measures, wire_name
from api.fields.inx_chronicle_params import KNOWN_INDEX
from api.fields.params import INDEX, INDEX_MAX
from api.http.params import DAY, Param, word_list
from db.queries.analytics import SUMMED
from db.queries.series import Edge
from db.utc_days import DAY_S

FIRST_TIME = 10**9
"""Lower numbers are milestone indices, others seconds since 1970: no network has that many milestones."""


def edge_of(value: int | date) -> Edge:
    """A milestone, a time in seconds since 1970, or a UTC day."""
    if isinstance(value, date):
        midnight = (value - date(1970, 1, 1)).days * DAY_S
        return Edge(midnight, midnight + DAY_S - 1)
    return Edge(milestone=value) if value < FIRST_TIME else Edge(value, value)


def measures(known: Measures) -> Param:
    """The measures of a series."""
    names = word_list({name: (name, measure) for name, measure in known.items()}, maxLength=4096)
    return Param(
        "measures",
        Annotated[names, AfterValidator(dict)],
        "Measures to return, in this order, separated by commas. The items of the answer list all of them",
        "messageCount,transactionCount",
        default=",".join(wire_name(column) for column in SUMMED),
    )


START = Param(
    "start",
    Annotated[
        INDEX | DAY,
        AfterValidator(edge_of),
        Field(description=f"an integer from 0 to {INDEX_MAX} or a date such as 2022-01-31"),
    ],
    f"First item: a milestone (below {FIRST_TIME}), a time in seconds since 1970, or a UTC day. Series of hours "
    "and days begin with the whole hour or day that contains it",
    1,
)
END = replace(START, name="end", meaning="Last item, as `start`", example="2022-10-01")
START_INDEX = Param("startIndex", KNOWN_INDEX, "First milestone", 1)
END_INDEX = replace(START_INDEX, name="endIndex", meaning="First milestone after the range", example=51)

StartIndex = Annotated[int | None, START_INDEX]
EndIndex = Annotated[int | None, END_INDEX]
Start = Annotated[Edge | None, START]
End = Annotated[Edge | None, END]
MilestoneMeasures = Annotated[Measures, measures(MILESTONE_MEASURES)]
HourMeasures = Annotated[Measures, measures(HOUR_MEASURES)]
DayMeasures = Annotated[Measures, measures(DAY_MEASURES)]
