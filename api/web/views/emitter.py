"""What an archive of Wormhole has: an emitter with its gaps, days and gaps of the network, and guardian sets."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from api.web import operations
from api.web.page import Answer, Page, View
from api.web.visit import Visit, segment
from db.schema.protocols import WORMHOLE
from db.together import together
from ledger.wormhole.chains import find_chain

PAGE_SIZE = 25

WIDTH = 1_000
"""Units of a bar's width."""


async def emitter(visit: Visit) -> Answer:
    """The newest messages of an emitter, and the sequences that are missing between them."""
    path = f"{segment(visit.params['chain'])}/{segment(visit.params['emitter'])}"
    cursor, gap_cursor = visit.query.get("cursor") or None, visit.query.get("gaps") or None
    found, gaps = await together(
        visit.json(f"wormhole/v1/vaas/{path}", parsedPayload="true", pageSize=PAGE_SIZE, cursor=cursor),
        visit.json(f"wormhole/v1/gaps/{path}", cursor=gap_cursor),
    )
    items = found["data"]
    following = found["pagination"]["next"]
    chain = gaps["emitterChain"]
    return Page(
        "emitter",
        f"Emitter of {find_chain(chain).name}",
        {
            "chain": operations.chain_name(chain),
            "address": gaps["emitterAddr"],
            "native": items[0]["emitterNativeAddr"] if items else None,
            "items": [
                {
                    "id": each["id"],
                    "sequence": each["sequence"],
                    "time_s": operations.seconds(each["timestamp"]),
                    "kind": operations.kind_of(each.get("payload"), [each["appId"]] if "appId" in each else []),
                    "set": each["guardianSetIndex"],
                }
                for each in items
            ],
            "next": visit.here(cursor=following) if following else None,
            "gaps": gaps,
            "missing": [span(each) for each in gaps["missing"]],
            "next_gaps": visit.here(gaps=gaps["cursor"]) if gaps["cursor"] else None,
        },
    )


def span(gap: Any) -> tuple[int, int, int]:
    """Returns first, last and number of the sequences of a gap."""
    first, last = int(gap["first"]), int(gap["last"])
    return first, last, last + 1 - first


async def coverage(visit: Visit) -> Answer:
    """The days with verified messages, and the gaps in the sequences of all emitters."""
    covered, gaps = await together(
        visit.json("wormhole/v1/coverage"),
        visit.json("wormhole/v1/gaps", pageSize=PAGE_SIZE, cursor=visit.query.get("cursor") or None),
    )
    ranges = [(date.fromisoformat(each["first"]), date.fromisoformat(each["last"])) for each in covered["days"]]
    return Page(
        "wormhole_coverage",
        "Coverage",
        {
            "messages": covered["messages"],
            "undated": covered["undated"],
            "kept": covered.get("kept"),
            "ranges": ranges,
            "count": sum((last - first).days + 1 for first, last in ranges),
            "bars": bars(ranges),
            "gaps": [
                {**each, "span": span(each), "name": find_chain(each["emitterChain"]).name} for each in gaps["gaps"]
            ],
            "next": visit.here(cursor=gaps["cursor"]) if gaps["cursor"] else None,
        },
    )


def bars(ranges: Sequence[tuple[date, date]]) -> list[tuple[str, float, float]]:
    """Returns title, position and width of each range of days in a bar from the first day to the last."""
    if not ranges:
        return []
    start, unit = ranges[0][0], WIDTH / ((ranges[-1][1] - ranges[0][0]).days + 1)
    return [
        (
            f"{first} to {last}" if first != last else str(first),
            round((first - start).days * unit, 2),
            round(max(((last - first).days + 1) * unit, 1), 2),
        )
        for first, last in ranges
    ]


async def guardian_sets(visit: Visit) -> Answer:
    """All guardian sets, the current one first."""
    found = await visit.json("wormhole/v1/guardian-sets")
    return Page("guardians", "Guardian sets", {"sets": found["guardianSets"]})


VIEWS = (
    View("/{network}/emitter/{chain}/{emitter}", emitter, WORMHOLE),
    View("/{network}/coverage", coverage, WORMHOLE),
    View("/{network}/guardians", guardian_sets, WORMHOLE),
)
