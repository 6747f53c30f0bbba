"""Parameters of analytics v2: inx-chronicle's ranges of milestones, and this server's series."""

from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator

from api.analytics_v2.measures import DAY_MEASURES, HOUR_MEASURES, MILESTONE_MEASURES, Measures, wire_name
from api.fields.params import KNOWN_INDEX
from api.fields.span_params import END as SPAN_END
from api.fields.span_params import FIRST_TIME
from api.fields.span_params import START as SPAN_START
from api.http.params import Param, word_list
from db.queries.analytics import SUMMED
from db.queries.spans import Edge


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


START = replace(
    SPAN_START,
    meaning=f"First item: a milestone (below {FIRST_TIME}), a time in seconds since 1970, or a UTC day. Series of "
    "hours and days begin with the whole hour or day that contains it",
)
END = replace(SPAN_END, meaning="Last item, as `start`")
START_INDEX = Param("startIndex", KNOWN_INDEX, "First milestone", 1)
END_INDEX = replace(START_INDEX, name="endIndex", meaning="First milestone after the range", example=51)

StartIndex = Annotated[int | None, START_INDEX]
EndIndex = Annotated[int | None, END_INDEX]
Start = Annotated[Edge | None, START]
End = Annotated[Edge | None, END]
MilestoneMeasures = Annotated[Measures, measures(MILESTONE_MEASURES)]
HourMeasures = Annotated[Measures, measures(HOUR_MEASURES)]
DayMeasures = Annotated[Measures, measures(DAY_MEASURES)]
