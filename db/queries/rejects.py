"""Rejects: input that a load did not accept, with file, line and reason.

They are in the partition of their milestone. Lines that name no milestone have UNKNOWN.
"""

from collections.abc import Iterator
from functools import partial

from db import schema
from db.intervals import Intervals
from db.listing.cursor import Check, Cursor, format_cursor, is_integer, is_text, parse_cursor
from db.listing.page import Page
from db.listing.streams import get_network
from db.store import Bound, Key, Row, Store
from db.sync import held

UNKNOWN = -1
"""The milestone of lines that name none."""

EXAMINED = 300
"""The most milestones that a page reads. Those of an earlier layout are incomplete, but have no rejects."""

PLACE: tuple[Check, ...] = (
    partial(is_integer, most=schema.PENDING_RANGE, least=UNKNOWN),
    is_text,
    partial(is_integer, most=2**31 - 1, least=-1),
    is_text,
)
"""The checks of a cursor: milestone, file, line and item of the row before the next page."""


async def list_rejects(
    store: Store, network: str, milestone: int | None, *, page_size: int, cursor: str | None
) -> Page:
    """A page of rejects, by milestone, file, line and item.

    A page that has read EXAMINED milestones is shorter, and has a cursor.

    Args:
        store: the store.
        network: name of its network.
        milestone: the milestone whose rejects are listed, also if it is complete. None: those of all incomplete
            milestones, after those of lines that name no milestone.
        page_size: the most rows.
        cursor: cursor of the page before.

    Raises:
        CursorError: The cursor belongs to another listing.
    """
    query = f"{await get_network(store)} rejects {'incomplete' if milestone is None else milestone}"
    after = None if cursor is None else parse_cursor(cursor, query, PLACE).key
    if milestone is not None:
        wanted: Intervals = [(milestone, milestone)]
    else:
        wanted = [(UNKNOWN, UNKNOWN), *(await held(store, network)).incomplete]
    rows: list[Row] = []
    for examined, index in enumerate(_from(wanted, after)):
        if examined == EXAMINED:
            return Page(rows, format_cursor(Cursor((index, "", -1, "")), query))
        begins_inside = after is not None and after[0] == index
        lower = Bound(after[1:], inclusive=False) if begins_inside and after is not None else None
        rows += await store.slice(schema.rejects, (index,), lower=lower, limit=page_size + 1 - len(rows))
        if len(rows) > page_size:
            last = rows[page_size - 1]
            place: Key = (last["milestone_index"], *(last[name] for name in schema.rejects.clustering))
            return Page(rows[:page_size], format_cursor(Cursor(place), query))
    return Page(rows, None)


def _from(wanted: Intervals, after: Key | None) -> Iterator[int]:
    """The milestones of intervals in ascending order, from that of a place on."""
    least = UNKNOWN if after is None else after[0]
    assert isinstance(least, int), "PLACE checks it"
    for first, last in wanted:
        yield from range(max(first, least), last + 1)
