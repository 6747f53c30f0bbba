"""The home page: a card for each network with its newest milestone, coverage and days, and the newest milestones.

A network's own page has the same, for one network. Parts of a page that change are requested again by htmx.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from api.http.errors import RequestError, message_of
from api.web import coverage
from api.web.page import Answer, Page, View
from api.web.visit import Visit
from db.schema.protocols import IOTA
from db.store import StoreError
from db.together import together

NEWEST = 6
"""Milestones in the list of the newest ones, and messages in that of messages."""

DAYS = 60
"""Days in the small chart of a card."""

BARS_MIN = 30
"""The least number of bars for which a small chart has room, so that a few days are no blocks."""


async def home(visit: Visit) -> Answer:
    """A card for each network."""
    of_networks = [replace(visit, params={"network": name}) for name in visit.networks]
    cards = await together(*(card_or_problem(each) for each in of_networks))
    return Page("home", "Ledgers in this archive", {"cards": cards})


async def network_home(visit: Visit) -> Answer:
    """The card of one network, with its newest milestones."""
    return Page("home", visit.network, {"cards": [await card(visit)]})


async def card_or_problem(visit: Visit) -> Mapping[str, Any]:
    """The card of a network, or why its data cannot be read, so that the page can show the other networks."""
    try:
        return await card(visit)
    except (RequestError, StoreError) as error:
        return {"network": visit.network, "protocol": visit.mount.protocol, "problem": message_of(error)}


async def card(visit: Visit) -> Mapping[str, Any]:
    """The figures of a network. A Wormhole network has days instead of milestones."""
    return await (iota_card if visit.mount.protocol == IOTA else wormhole_card)(visit)


async def iota_card(visit: Visit) -> Mapping[str, Any]:
    """The figures of an IOTA network."""
    sync = await visit.json("sync")
    found = coverage.ranges(sync)
    shared = {"network": visit.network, "token": visit.mount.base_token, "protocol": IOTA}
    if not found:
        return {**shared, "held": 0}
    first, last = found[0][0], found[-1][1]
    measures = "messageCount,transferredTokens"
    series, days, messages, richest = await together(
        visit.find(
            "analytics/v2/series/milestone",
            measures=measures,
            start=max(first, last - NEWEST + 1),
            end=last + 1,
            sort="newest",
        ),
        visit.find("analytics/v2/series/day", measures=measures, sort="newest", pageSize=DAYS),
        visit.json(f"explorer/v2/milestones/by-index/{last}/blocks", pageSize=NEWEST),
        visit.find("explorer/v2/ledger/richest-addresses", top=1),
    )
    newest = series["items"] if series else []
    by_day = days["items"] if days else []
    return {
        **shared,
        "filters": len(sync.get("kept", ())),
        "newest": newest,
        "age_s": max(0, time.time() - newest[0]["timestamp"]) if newest else None,
        "first": first,
        "last": last,
        "held": sum(end + 1 - start for start, end, _ in found),
        "runs": list(coverage.runs(found, first, last)),
        "levels": {level: sum(end + 1 - start for start, end, of in found if of == level) for _, _, level in found},
        "messages": messages["blocks"],
        "richest": richest["top"][0]["address"] if richest and richest["top"] else None,
        "days": by_day,
        "bars": bars([day["messageCount"] for day in reversed(by_day)]),
    }


async def wormhole_card(visit: Visit) -> Mapping[str, Any]:
    """The figures of a Wormhole network. Not its sums of all days, which take a hundred times as long."""
    covered = await visit.json("wormhole/v1/coverage")
    return {"network": visit.network, "protocol": visit.mount.protocol, **covered}


def bars(values: Sequence[int | None]) -> list[tuple[int, float]]:
    """Returns position and height of each bar of a chart that is 100 units high. The last one is at the right."""
    highest = max((value or 0 for value in values), default=0) or 1
    first = max(0, BARS_MIN - len(values))
    return [(index, round(100 * (value or 0) / highest, 2)) for index, value in enumerate(values, first)]


VIEWS = (View("/", home), View("/{network}", network_home, IOTA))
