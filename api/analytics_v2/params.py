"""The parameters of analytics v2: spans of milestones as inx-chronicle has them, and ours of the series.

Rules of this file: as in params.py. What may be measured stands in measures.py.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from api.analytics_v2.measures import DAY_MEASURES, HOUR_MEASURES, MILESTONE_MEASURES, Measures, wire_name
from api.fields.inx_chronicle_params import START_MILESTONE, parse_index
from api.fields.params import INDEX_MAX
from api.http.params import Param, parse_int
from db.queries.analytics import SUMMED
from db.queries.series import Edge
from db.utc_days import DAY_S

FIRST_TIME = 10**9
"""Numbers below are milestones, others seconds since 1970: no network counts that far, and all are younger."""

ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def parse_edge(text: str) -> Edge:
    """A milestone, a time in seconds since 1970, or a UTC day; ValueError otherwise."""
    if ISO_DATE.fullmatch(text):
        midnight = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
        return Edge(midnight, midnight + DAY_S - 1)
    number = parse_int(text, 0, INDEX_MAX)
    return Edge(milestone=number) if number < FIRST_TIME else Edge(number, number)


def measures(known: Measures) -> Param:
    """What a series tells."""

    def parse(text: str) -> Measures:
        names = dict.fromkeys(text.split(","))
        if not names.keys() <= known.keys():
            raise ValueError("not a measure")
        return {name: known[name] for name in names}

    one = f"({'|'.join(known)})"
    return Param(
        "measures",
        "query",
        "What is told of each, in that order, names with commas between them: those of the items in the answer",
        "names of measures of this interval, with commas between them",
        {"type": "string", "pattern": f"^{one}(,{one})*$", "maxLength": 4096},
        parse,
        "messageCount,transactionCount",
        default=",".join(wire_name(column) for column in SUMMED),
    )


START = Param(
    "start",
    "query",
    f"Where the series begins: a milestone (below {FIRST_TIME}), a time in seconds since 1970, or a UTC day. Hours and "
    "days are whole: those that this is in",
    f"an integer from 0 to {INDEX_MAX} or a date like 2022-01-31",
    {"anyOf": [{"type": "integer", "minimum": 0, "maximum": INDEX_MAX}, {"type": "string", "format": "date"}]},
    parse_edge,
    1,
)
END = replace(START, name="end", meaning="Where the series ends, in it; as start", example="2022-10-01")
START_INDEX = replace(START_MILESTONE, name="startIndex", meaning="The first milestone", parse=parse_index, example=1)
END_INDEX = replace(START_INDEX, name="endIndex", meaning="The milestone before which it ends", example=51)

StartIndex: TypeAlias = Annotated[int | None, START_INDEX]
EndIndex: TypeAlias = Annotated[int | None, END_INDEX]
Start: TypeAlias = Annotated[Edge | None, START]
End: TypeAlias = Annotated[Edge | None, END]
MilestoneMeasures: TypeAlias = Annotated[Measures, measures(MILESTONE_MEASURES)]
HourMeasures: TypeAlias = Annotated[Measures, measures(HOUR_MEASURES)]
DayMeasures: TypeAlias = Annotated[Measures, measures(DAY_MEASURES)]
