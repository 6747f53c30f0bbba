"""A UTC day of an IOTA network: its milestones, and every measure of it."""

from datetime import date, timedelta

from api.web import measures
from api.web.page import Answer, Page, View
from api.web.visit import Visit, segment
from db.schema.protocols import IOTA
from db.together import together

ROWS = 50
"""Milestones before `More`."""


async def day(visit: Visit) -> Answer:
    """The day, and the ones before and after."""
    text = visit.params["date"]
    found = await visit.json(f"explorer/v2/milestones/by-date/{segment(text)}")
    at = date.fromisoformat(text)
    series = "analytics/v2/series"
    names = ",".join(measures.OF["day"])
    figures, before, after, milestones = await together(
        visit.json(f"{series}/day", start=text, end=text, measures=names),
        visit.json(f"{series}/day", end=str(at - timedelta(1)), measures="messageCount", sort="newest", pageSize=1),
        visit.json(f"{series}/day", start=str(at + timedelta(1)), measures="messageCount", sort="oldest", pageSize=1),
        visit.json(
            f"{series}/milestone",
            start=text,
            end=text,
            measures="messageCount,transactionCount,transferredTokens",
            sort="oldest",
            pageSize=ROWS,
            cursor=visit.query.get("cursor"),
        ),
    )
    values = {
        "date": text,
        "first": found["firstMilestone"],
        "last": found["lastMilestone"],
        "before": before["items"][0]["date"] if before["items"] else None,
        "after": after["items"][0]["date"] if after["items"] else None,
        "groups": measures.values_of(figures["items"][0]) if figures["items"] else {},
        "milestones": milestones["items"],
        "next": visit.here(cursor=milestones["cursor"]) if milestones["cursor"] else None,
    }
    return Page("day", text, values)


VIEWS = (View("/{network}/day/{date}", day, IOTA),)
