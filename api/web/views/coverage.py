"""The coverage of an IOTA network: which milestones the archive has, by proof level, and what is missing and why.

The map divides a range of milestones into cells. Each cell leads to the map of its own milestones, until a cell is one
milestone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from api.web import coverage
from api.web.page import Answer, Page, View
from api.web.visit import Visit
from db.schema.protocols import IOTA
from db.together import together

SHOWN_RUNS = 200
"""The most runs of milestones in a table; a smaller range has the others."""

REJECTS = 50
"""Rejects before `More`."""

Json: TypeAlias = Mapping[str, Any]


async def coverage_page(visit: Visit) -> Answer:
    """The map of the milestones from `start` to `end`, both inclusive, by default of all."""
    sync, rejects = await together(
        visit.json("sync"),
        visit.json("explorer/v2/rejects", pageSize=REJECTS, cursor=visit.query.get("cursor")),
    )
    found = coverage.ranges(sync)
    shared = {
        "kept": sync.get("kept"),
        "rejects": rejects,
        "next": visit.here(cursor=rejects["cursor"]) if rejects["cursor"] else None,
    }
    if not found:
        return Page("coverage", "Coverage", {**shared, "first": None})
    lowest, highest = found[0][0], found[-1][1]
    first = bounded(visit.query.get("start", ""), lowest, highest, lowest)
    last = bounded(visit.query.get("end", ""), first, highest, highest)
    size, cells = coverage.cells(found, first, last)
    runs = coverage.states(found, first, last)
    gaps = [each for each in runs if each.level is None]
    unlogged = clipped(sync["synced_but_unlogged"], first, last)
    width = last + 1 - first
    values = {
        **shared,
        "lowest": lowest,
        "highest": highest,
        "first": first,
        "last": last,
        "size": size,
        "cells": cells,
        "runs": runs[:SHOWN_RUNS],
        "run_count": len(runs),
        "gaps": gaps[:SHOWN_RUNS],
        "gap_count": len(gaps),
        "counts": coverage.counted(runs),
        "unlogged": unlogged[:SHOWN_RUNS],
        "unlogged_count": sum(end + 1 - start for start, end in unlogged),
        "earlier": around(first - width, last - width, lowest, highest) if first > lowest else None,
        "later": around(first + width, last + width, lowest, highest) if last < highest else None,
    }
    return Page("coverage", "Coverage", values)


def bounded(text: str, least: int, most: int, default: int) -> int:
    """The milestone in a text, moved into a range; the default if it is no number."""
    return min(max(int(text), least), most) if text.isascii() and text.isdigit() and len(text) < 11 else default


def around(first: int, last: int, lowest: int, highest: int) -> tuple[int, int]:
    """The part of a range that is between the lowest and the highest milestone."""
    return max(first, lowest), min(last, highest)


def clipped(spans: Sequence[Json], first: int, last: int) -> list[tuple[int, int]]:
    """The parts of spans of `sync` that are between two milestones, both inclusive, in ascending order."""
    inside = ((max(each["start"], first), min(each["end"] - 1, last)) for each in spans)
    return sorted((low, high) for low, high in inside if low <= high)


VIEWS = (View("/{network}/coverage", coverage_page, IOTA),)
