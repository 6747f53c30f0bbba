"""Statistics of an IOTA network: any measure over time, two of them compared, or all of a group."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from api.web import measures
from api.web.page import Answer, Page, View
from api.web.visit import Visit
from db.schema.protocols import IOTA

POINTS = 1_000
"""The most points of a chart: the largest page of a series."""

POINTS_OF_GROUP = 150
"""The most points of each chart of a group, which has up to 22 of them."""

DEFAULT = "messageCount"

DAYS_MIN = 3
"""Days for which a chart by day is the default; with fewer it is one by milestone."""

Json: TypeAlias = Mapping[str, Any]


async def statistics(visit: Visit) -> Answer:
    """A chart of the measures that the query names, or one for each measure of a group."""
    span = {name: visit.query[name] for name in ("start", "end") if visit.query.get(name)}
    interval = chosen(visit, "by", measures.OF, "")
    if not interval:
        days = await visit.json("analytics/v2/series/day", **span, measures=DEFAULT, sort="newest", pageSize=DAYS_MIN)
        interval = "day" if len(days["items"]) == DAYS_MIN else "milestone"
    groups = measures.by_group(interval)
    known = measures.OF[interval]
    group = chosen(visit, "group", groups, "")
    if group:
        names = [each.name for each in groups[group]]
        charts = [[name] for name in names]
    else:
        names = [chosen(visit, "measure", known, DEFAULT)]
        other = chosen(visit, "with", known, "")
        names += [other] if other and other not in names else []
        charts = [names]
    path = f"analytics/v2/series/{interval}"
    found = await visit.json(
        path, **span, measures=",".join(names), sort="newest", pageSize=POINTS_OF_GROUP if group else POINTS
    )
    items = found["items"][::-1]
    decimals = visit.mount.base_token.decimals
    values = {
        "interval": interval,
        "intervals": list(measures.OF),
        "groups": groups,
        "group": group,
        "chosen": names,
        "items": items,
        "times": [each["timestamp"] for each in items],
        "charts": [(chart, series_of(chart, items, decimals)) for chart in charts],
        "known": measures.KNOWN,
        "is_cut": found["cursor"] is not None,
        "csv": visit.api(path, **span, measures=",".join(names), format="csv"),
    }
    return Page("statistics", "Statistics", values, charts=bool(items))


def chosen(visit: Visit, name: str, known: Mapping[str, object], default: str) -> str:
    """The value of a parameter of the query if it is a known one, else the default."""
    value = visit.query.get(name, default)
    return value if value in known else default


def series_of(names: Sequence[str], items: Sequence[Json], decimals: int) -> Mapping[str, list[str]]:
    """The values of measures as series of a chart, by their labels."""
    return {
        measures.KNOWN[name].label: [measures.point(name, each[name], decimals) for each in items] for name in names
    }


VIEWS = (View("/{network}/statistics", statistics, IOTA),)
