"""One page of a listing, and the cursor of the next.

Rules of this file: a page reads one row more than it shows, so its cursor is None exactly on the last one; what a
filter drops is bounded, and only a page that this bound cut short may be empty and still carry a cursor. Pending rows
stand at the newest end and only while `messages` does not know them.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from db import schema
from db.cursor import Cursor, CursorError, format_cursor, parse_cursor
from db.model import Lookup, Table
from db.partitions import lookup_key_text
from db.store import Bound, Key, Row, Store
from db.streams import Source, key_of, lookup_source, merged, partition_source, pending_source

__all__ = ["CursorError", "Listing", "Page", "list_lookup", "list_page", "list_partition"]

EXAMINED_PER_ROW = 10
EXAMINED_AT_LEAST = 1_000
BATCH_AT_MOST = 5_000
FILTERED_BATCH = 100
"""Rows read at once where most may be dropped."""

Keep: TypeAlias = Callable[[Sequence[Row]], Awaitable[Sequence[bool]]]
"""Which of these rows are shown."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in the listing's order; `cursor` leads to the next page, None: this is the last."""

    rows: list[Row]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """What is listed: `sources` are merged by the clustering columns of `table`, `question` tells it from others."""

    table: Table
    sources: Sequence[Source]
    question: str
    pending: Source | None = None
    keep: Keep | None = None


async def list_lookup(
    store: Store,
    lookup: Lookup,
    keys: Sequence[Key],
    *,
    newest: bool,
    page_size: int,
    cursor: str | None,
    with_pending: bool = False,
    keep: Keep | None = None,
    question: str = "",
) -> Page:
    """A page of everything under one key of a lookup, or of several keys merged.

    `question` names what `keep` filters by. `with_pending` needs exactly one key.
    """
    texts = [lookup_key_text(key) for key in keys]
    listing = Listing(
        lookup.table,
        [lookup_source(lookup, key) for key in keys],
        f"{lookup.table.name} {' '.join(texts)} {question}",
        pending_source(lookup.table.name, *texts) if with_pending else None,
        keep,
    )
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)


async def list_partition(
    store: Store,
    table: Table,
    partition: Key,
    *,
    newest: bool,
    page_size: int,
    cursor: str | None,
    with_pending: bool = False,
) -> Page:
    """A page of one partition of a table that needs no hints."""
    text = lookup_key_text(partition)
    pending = pending_source(table.name, text) if with_pending else None
    listing = Listing(table, [partition_source(table, partition)], f"{table.name} {text}", pending)
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)


async def list_page(store: Store, listing: Listing, *, newest: bool, page_size: int, cursor: str | None) -> Page:
    """The page of `page_size` rows (1 or more) after `cursor`; CursorError when that is of another listing."""
    question = f"{listing.question} {'newest' if newest else 'oldest'}"
    after = parse_cursor(cursor, question) if cursor is not None else None
    bound = max(EXAMINED_AT_LEAST, EXAMINED_PER_ROW * page_size)
    limit = min(max(page_size + 1, FILTERED_BATCH if listing.keep else 0), BATCH_AT_MOST)
    shown: list[tuple[Cursor, Row]] = []
    examined = 0
    async for positions, rows, kept in _examined(store, listing, after, newest=newest, limit=limit):
        shown += [(at, row) for at, row, keep in zip(positions, rows, kept, strict=True) if keep]
        if len(shown) > page_size:
            break
        examined += len(rows)
        if examined >= bound:
            return Page([row for _, row in shown], format_cursor(positions[-1], question))
    more = len(shown) > page_size
    page = shown[:page_size]
    return Page([row for _, row in page], format_cursor(page[-1][0], question) if more else None)


Examined: TypeAlias = tuple[list[Cursor], list[Row], Sequence[bool]]


async def _examined(
    store: Store, listing: Listing, after: Cursor | None, *, newest: bool, limit: int
) -> AsyncIterator[Examined]:
    """Everything after a cursor: batches of rows, each row's cursor, and whether it is shown."""
    in_pending = after is not None and after.pending
    final_to = after.final_to if after is not None else None
    start = Bound(after.key, inclusive=False) if after is not None else None
    if not newest and not in_pending:
        async for examined in _final(store, listing, start, newest=newest, limit=limit):
            yield examined
        start = None
    if listing.pending is not None and (after is None or in_pending or not newest):
        async for rows in listing.pending(store, start, newest=newest, limit=limit):
            if final_to is None:
                final_to = await _newest_milestone(store, listing)
            kept = await _still_pending(store, rows, shown_to=None if newest else final_to)
            yield [Cursor(key_of(schema.pending, row), pending=True, final_to=final_to) for row in rows], rows, kept
    if newest:
        if in_pending:
            start = Bound((final_to,))
        async for examined in _final(store, listing, start, newest=newest, limit=limit):
            yield examined


async def _final(
    store: Store, listing: Listing, start: Bound | None, *, newest: bool, limit: int
) -> AsyncIterator[Examined]:
    source = merged(listing.sources, lambda row: key_of(listing.table, row))
    async for rows in source(store, start, newest=newest, limit=limit):
        kept = await listing.keep(rows) if listing.keep else [True] * len(rows)
        yield [Cursor(key_of(listing.table, row)) for row in rows], rows, kept


async def _still_pending(store: Store, rows: Sequence[Row], shown_to: int | None) -> list[bool]:
    """Whether `messages` does not know them, or only in a milestone after those that were shown (None: all will be)."""
    found = await store.get_many(schema.messages, [(row["message_id"],) for row in rows])
    return [message is None or (shown_to is not None and message["milestone_index"] > shown_to) for message in found]


async def _newest_milestone(store: Store, listing: Listing) -> int:
    """The milestone of the listing's newest final row; -1 when it has none."""
    source = merged(listing.sources, lambda row: key_of(listing.table, row))
    async for rows in source(store, None, newest=True, limit=1):
        return int(rows[0]["milestone_index"])
    return -1
