"""Which milestones are complete: computes `ranges` from `sync`, and reads both.

Invariants:
1. A milestone is complete if its rows are durable in the current layout (synced_by is set).
2. A row of `ranges` is a pure function of the range's `sync` rows, so writing it again is harmless.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass

from db import schema
from db.intervals import (
    Intervals,
    add,
    format_intervals,
    gaps,
    intersect,
    intervals,
    of_indices,
    parse_intervals,
    subtract,
)
from db.model import Table
from db.store import Bound, Row, Store
from ledger.levels import LEVELS, weakest

RANGES_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Held:
    """Milestones of a network. `incomplete` ones were loaded with rejects or in an earlier layout. `logged` ones are
    whole in a durable archive file. `messages` counts those of complete milestones.
    """

    complete: Intervals
    incomplete: Intervals
    logged: Intervals
    messages: int

    @property
    def unlogged(self) -> Intervals:
        """Complete milestones that no known archive file contains."""
        return subtract(self.complete, self.logged)


def missing(found: Held, genesis: int | None) -> Intervals:
    """Milestones that are neither complete nor incomplete, from the one after genesis (else the lowest) to the
    highest.
    """
    known = add(found.complete, found.incomplete)
    if not known:
        return []
    first = known[0][0] if genesis is None else min(known[0][0], genesis + 1)
    return gaps(known, first, known[-1][1])


def range_row(network: str, ms_range_id: int, sync_rows: Sequence[Row]) -> Row:
    """Computes the `ranges` row of a range from all its `sync` rows, in any order."""
    rows = sorted(sync_rows, key=lambda row: row["milestone_index"])
    complete = [row for row in rows if is_complete(row)]
    times = [row["ms_timestamp"] for row in complete if row["ms_timestamp"] is not None]
    return {
        "network": network,
        "ms_range_id": ms_range_id,
        "complete": format_intervals(of_indices(row["milestone_index"] for row in complete)),
        "incomplete": format_intervals(of_indices(row["milestone_index"] for row in rows if not is_complete(row))),
        "milestone_count": len(complete),
        "message_count": sum(row["message_count"] or 0 for row in complete),
        "min_timestamp": min(times, default=None),
        "max_timestamp": max(times, default=None),
        "rising": times == sorted(times),
        "layout": schema.LAYOUT,
        "logged": format_intervals(of_indices(row["milestone_index"] for row in rows if row["logged_by"] is not None)),
    }


def is_complete(row: Row) -> bool:
    """Whether a `sync` row says that all rows of its milestone are durable in the current layout."""
    return row["synced_by"] is not None and row["layout"] == schema.LAYOUT


def proof_row(network: str, ms_range_id: int, sync_rows: Sequence[Row]) -> Row:
    """Computes the `proofs` row of a range from all its `sync` rows, in any order."""
    indices: dict[str, list[int]] = {level: [] for level in LEVELS}
    for row in sync_rows:
        if is_complete(row):
            indices[weakest(row["verified"])].append(row["milestone_index"])
    levels = {level: of_indices(held) for level, held in indices.items() if held}
    return {"network": network, "ms_range_id": ms_range_id, "levels": json.dumps(levels)}


def extended_rows(range_before: Row, proof_before: Row, sync_rows: Sequence[Row]) -> tuple[Row, Row] | None:
    """The rows of `ranges` and `proofs` from the rows before, and from all `sync` rows above the newest milestone that
    was complete before. None if they do not suffice, because the layout has changed.
    """
    if range_before["layout"] != schema.LAYOUT:
        return None
    complete = parse_intervals(range_before["complete"])
    news = range_row(range_before["network"], range_before["ms_range_id"], sync_rows)
    ends = [range_before["max_timestamp"], news["min_timestamp"]]
    known = [(0, complete[-1][1])] if complete else []

    def joined(column: str) -> str:
        before = intersect(parse_intervals(range_before[column] or "[]"), known)
        return format_intervals(add(before, parse_intervals(news[column])))

    extended = news | {
        **{column: joined(column) for column in ("complete", "incomplete", "logged")},
        "milestone_count": range_before["milestone_count"] + news["milestone_count"],
        "message_count": range_before["message_count"] + news["message_count"],
        "min_timestamp": _first(min, range_before["min_timestamp"], news["min_timestamp"]),
        "max_timestamp": _first(max, range_before["max_timestamp"], news["max_timestamp"]),
        "rising": range_before["rising"] and news["rising"] and (None in ends or ends[0] <= ends[1]),
    }
    proof = proof_row(range_before["network"], range_before["ms_range_id"], sync_rows)
    before, after = json.loads(proof_before["levels"]), json.loads(proof["levels"])
    levels = {level: add(_pairs(before.get(level, [])), _pairs(after.get(level, []))) for level in LEVELS}
    return extended, proof | {"levels": json.dumps({level: held for level, held in levels.items() if held})}


def _first(choose: Callable[[Iterable[int]], int], *times: int | None) -> int | None:
    known = [time for time in times if time is not None]
    return choose(known) if known else None


def _pairs(levels: Iterable[Sequence[int]]) -> Intervals:
    return [(first, last) for first, last in levels]


async def list_ranges(store: Store, network: str, ids: range | None = None) -> AsyncIterator[Row]:
    """Yields rows of `ranges`, lowest range first, reading only as many as needed. `ids`: of the ranges; None: all."""
    async for row in _by_range(store, schema.ranges, network, ids):
        yield row


async def list_proofs(store: Store, network: str, ids: range | None = None) -> AsyncIterator[Row]:
    """Yields rows of `proofs`, lowest range first. `ids` as in `list_ranges`."""
    async for row in _by_range(store, schema.proofs, network, ids):
        yield row


async def _by_range(store: Store, table: Table, network: str, ids: range | None) -> AsyncIterator[Row]:
    after = None if ids is None else Bound((ids.start,))
    upper = None if ids is None else Bound((ids.stop - 1,))
    while True:
        rows = await store.slice(table, (network,), lower=after, upper=upper, reverse=True, limit=RANGES_AT_ONCE)
        for row in rows:
            yield row
        if len(rows) < RANGES_AT_ONCE:
            return
        after = Bound((rows[-1]["ms_range_id"],), inclusive=False)


async def held(store: Store, network: str, ids: range | None = None) -> Held:
    """Reads ranges in one pass. `ids` as in `list_ranges`."""
    return held_in([row async for row in list_ranges(store, network, ids)])


def held_in(range_rows: Sequence[Row]) -> Held:
    """The milestones in all rows of `ranges`. A range written before the column `logged` existed has none until it is
    written again.
    """

    def joined(column: str) -> Intervals:
        return intervals(pair for row in range_rows for pair in parse_intervals(row[column] or "[]"))

    messages = sum(row["message_count"] or 0 for row in range_rows)
    return Held(joined("complete"), joined("incomplete"), joined("logged"), messages)


async def complete(store: Store, network: str) -> Intervals:
    """All complete milestones."""
    return (await held(store, network)).complete


async def proved(store: Store, network: str, ids: range | None = None) -> dict[str, Intervals]:
    """Complete milestones by the strongest level they reached (ledger/levels.py). `ids` as in `list_ranges`."""
    return proved_in([row async for row in list_proofs(store, network, ids)])


def proved_in(proof_rows: Sequence[Row]) -> dict[str, Intervals]:
    """Like `proved`, from all rows of `proofs`."""
    parts: dict[str, Intervals] = {level: [] for level in LEVELS}
    for row in proof_rows:
        for level, pairs in json.loads(row["levels"]).items():
            parts[level] += [(first, last) for first, last in pairs]
    return {level: intervals(found) for level, found in parts.items()}


async def find_ledger_index(store: Store, network: str) -> int | None:
    """The end of the first contiguous run of complete milestones; None without complete milestones."""
    end: int | None = None
    async for row in list_ranges(store, network):
        for first, last in parse_intervals(row["complete"]):
            if end is not None and first > end + 1:
                return end
            end = last
    return end


async def find_newest_milestone(store: Store, network: str) -> int | None:
    """The highest complete milestone; None without complete milestones."""
    rows = await store.slice(schema.ranges, (network,), limit=RANGES_AT_ONCE)
    ends = [last for row in rows for _, last in parse_intervals(row["complete"])]
    return max(ends, default=None)
