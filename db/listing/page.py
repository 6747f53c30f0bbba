"""One page of a listing, and the cursor of the next page.

Invariants:
1. A page reads one row beyond the page size, so `cursor` is None exactly if this is the last page.
2. The number of rows that a filter may drop is bounded. Only a page that reached this bound may be empty and still have
   a
   cursor.
3. Pending rows come at the newest end, and only while `messages` does not contain them.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple, TypeAlias

from db import schema
from db.coverage import check_listing
from db.lazy_rows import joined
from db.listing import chronicle_paging_state as chronicle_state
from db.listing.cursor import Cursor, CursorError, checks_of, format_cursor, parse_cursor
from db.listing.spans import within
from db.listing.streams import (
    BegunStream,
    Sieve,
    Source,
    Stream,
    get_network,
    key_of,
    lookup_source,
    merged,
    partition_source,
    pending_source,
)
from db.model import Lookup, Table
from db.partitions import lookup_key_text
from db.store import Bound, Key, Passed, Row, Store
from db.times import Window

EXAMINED_PER_ROW = 3
"""Rows that a page reads per row of its size if a filter drops some. The filter may need another row per row, and
merged streams read ahead: a page reads at most ten rows per row of its size (docs/limits.md).
"""

EXAMINED_AT_LEAST = 300
BATCH_AT_MOST = 5_000
FILTERED_BATCH = 100
"""The smallest number of rows per read if a filter dropped some."""

Keep: TypeAlias = Callable[[Sequence[Row], int | None], Awaitable[Sequence[Row]]]
"""Filters rows, at the listing's ledger index if it has one."""


class Page(NamedTuple):
    """Rows in the listing's order. `cursor` leads to the next page; None: this is the last.

    `as_of` is the ledger index of all pages, if the listing has one.
    """

    rows: Sequence[Row]
    cursor: str | None
    as_of: int | None = None


@dataclass(slots=True)
class Listing:
    """The definition of a listing. `sources` are merged by the clustering columns of `table`, and the text of `query`
    distinguishes it from other listings. `sieve` belongs to the sources and is valid for one page. Nothing changes it;
    a frozen class would take three times as long to create.
    """

    table: Table
    sources: Sequence[Source]
    query: object
    pending: Source | None = None
    keep_pending: Keep | None = None
    """Like `keep`, for pending rows; it may add columns to them."""
    sieve: Sieve | None = None
    keep: Keep | None = None
    window: Window | None = None
    as_of: int | None = None
    """The ledger index of a first page, which excludes later milestones. A cursor contains its own."""
    is_fixed: bool = False
    """Whether the request names the ledger index. A cursor of another one, or of none, is then rejected."""

    def identity(self, network: str, *, newest: bool) -> str:
        """Everything that identifies the listing, including its order."""
        span = f" {self.window}" if self.window else ""
        state = f" at {self.as_of}" if self.is_fixed else ""
        return f"{network} {self.query}{span}{state} {'newest' if newest else 'oldest'}"


async def list_lookup(
    store: Store,
    lookup: Lookup,
    keys: Sequence[Key],
    *,
    newest: bool,
    page_size: int,
    cursor: str | None,
    with_pending: bool = False,
    pending: Source | None = None,
    keep: Keep | None = None,
    keep_pending: Keep | None = None,
    query: str = "",
    window: Window | None = None,
    as_of: int | None = None,
    is_fixed: bool = False,
    columns: Sequence[str] | None = None,
    start: Bound | None = None,
) -> Page:
    """A page of the rows under one key of a lookup, or under several keys merged.

    `query` identifies the filter `keep`; `columns` are needed beside the clustering columns. A `window` restricts
    the listing to a time span, `as_of` to a ledger index; `is_fixed` as in `Listing`. `with_pending` lists the pending
    rows of a single key, `pending` those of a source; they are in no window. `start` is where the first page begins, by
    default at the start of the listing; not allowed with pending rows.

    Raises NotKeptHere for a key that a selective store does not keep.
    """
    await check_listing(store, [(lookup, str(key[0])) for key in keys])
    texts = [lookup_key_text(key) for key in keys]
    if with_pending:
        pending = pending_source(lookup.table.name, *texts)
    read = read_columns(lookup.table, columns, window)
    listing = Listing(
        lookup.table,
        [lookup_source(lookup, key, read) for key in keys],
        f"{lookup.table.name} {' '.join(texts)} {query}",
        pending if window is None else None,
        keep_pending=keep_pending,
        keep=keep,
        window=window,
        as_of=as_of,
        is_fixed=is_fixed,
    )
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor, start=start)


async def list_partition(
    store: Store,
    table: Table,
    partition: Key,
    *,
    newest: bool,
    page_size: int,
    cursor: str | None,
    with_pending: bool = False,
    window: Window | None = None,
    prefix: Key = (),
    columns: Sequence[str] | None = None,
    start: Bound | None = None,
) -> Page:
    """A page of one partition of a table without hints.

    `prefix` selects rows by their first clustering columns. `window`, `columns` and `start` as in `list_lookup`.
    """
    text = lookup_key_text(partition + prefix)
    pending = pending_source(table.name, text) if with_pending and window is None else None
    source = partition_source(table, partition, prefix=prefix, columns=read_columns(table, columns, window))
    listing = Listing(table, [source], f"{table.name} {text}", pending, window=window)
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor, start=start)


async def list_page(
    store: Store,
    listing: Listing,
    *,
    newest: bool,
    page_size: int,
    cursor: str | None,
    start: Bound | None = None,
) -> Page:
    """The page of `page_size` rows (at least 1) after `cursor`, else from `start`, else the first page.

    Raises:
        CursorError: The cursor belongs to another listing.
    """
    assert start is None or listing.pending is None, "pending rows have another order"
    identity = listing.identity(await get_network(store), newest=newest)
    after = _position(listing, cursor, identity, newest=newest) if cursor is not None else None
    reader = _Reader(store, listing, after, start, identity, newest=newest)
    bound = max(EXAMINED_AT_LEAST, EXAMINED_PER_ROW * page_size)
    shown: list[Sequence[Row]] = []
    pending: list[bool] = []
    count = read = examined = 0
    while count <= page_size:
        missing = page_size + 1 - count
        at_least = FILTERED_BATCH if examined > count else 0
        rows, kept = await reader.next(min(max(missing, at_least), BATCH_AT_MOST, bound - examined))
        if not rows:
            return Page(joined(shown), None, reader.as_of)
        if kept:
            shown.append(kept)
            pending.append(reader.pending)
            count += len(kept)
        if reader.ended and count <= page_size:
            return Page(joined(shown), None, reader.as_of)
        read += len(rows)
        examined = read + (listing.sieve.left_out if listing.sieve else 0)
        if examined >= bound and count <= page_size:
            return reader.page(joined(shown), rows[-1], pending=reader.pending)
    shown[-1] = shown[-1][: page_size - count]
    if not shown[-1]:
        del shown[-1], pending[-1]
    return reader.page(joined(shown), shown[-1][-1], pending=pending[-1])


def read_columns(table: Table, columns: Sequence[str] | None, window: Window | None) -> tuple[str, ...] | None:
    """The columns to read for `columns`, including those that rows are sorted by and that a window checks."""
    if columns is None:
        return None
    return tuple(dict.fromkeys((*table.clustering, *columns, *(["ms_timestamp"] if window else []))))


def _position(listing: Listing, text: str, identity: str, *, newest: bool) -> Cursor:
    """The position in a cursor. Chronicle's paging state begins with all rows of its milestone."""
    pending = checks_of(schema.pending) if listing.pending else None
    try:
        has_state = listing.as_of is not None
        return parse_cursor(text, identity, checks_of(listing.table), pending=pending, has_state=has_state)
    except CursorError:
        by_milestone = listing.table.clustering[0] == "milestone_index"
        milestone_index = chronicle_state.find_milestone(text) if newest and by_milestone else None
        if milestone_index is None:
            raise
        return Cursor((min(milestone_index + 1, schema.PENDING_RANGE),))


class _Reader:
    """Reads a listing after a cursor or from `start`: pending rows at the newest end, then final ones, filtered."""

    def __init__(
        self,
        store: Store,
        listing: Listing,
        after: Cursor | None,
        start: Bound | None,
        identity: str,
        *,
        newest: bool,
    ) -> None:
        self._store, self._listing, self._newest, self._identity = store, listing, newest, identity
        self._final_to = after.final_to if after else None
        self.as_of = listing.as_of
        if after and listing.as_of is not None and after.final_to is not None:
            self.as_of = min(after.final_to, listing.as_of)
        self._start = Bound(after.key, inclusive=False) if after else start
        self._parts = [newest, not newest] if listing.pending else [False]
        if after and after.pending != self._parts[0]:
            self._parts.pop(0)
        self._stream: Stream | None = None
        self._final: Stream | None = None

    @property
    def pending(self) -> bool:
        """Whether the last rows read are pending."""
        return self._parts[0]

    @property
    def ended(self) -> bool:
        """Whether it is known without reading that nothing follows."""
        return len(self._parts) == 1 and self._stream is not None and self._stream.ended

    async def next(self, limit: int) -> tuple[Sequence[Row], Sequence[Row]]:
        """Reads the next rows and filters them. There are no rows only at the end."""
        while self._parts:
            if self._stream is None:
                self._stream = self._open()
            rows = await self._stream.next(limit)
            if rows:
                return rows, await self._kept(rows, limit)
            self._parts.pop(0)
            self._stream = self._start = None
        return [], []

    def page(self, rows: Sequence[Row], last: Row, *, pending: bool) -> Page:
        """A page with these rows that is followed by another one after `last`."""
        if pending:
            cursor = Cursor(key_of(schema.pending, last), pending=True, final_to=self._final_to)
        else:
            cursor = Cursor(key_of(self._listing.table, last), final_to=self.as_of)
        return Page(rows, format_cursor(cursor, self._identity), self.as_of)

    def _open(self) -> Stream:
        if self.pending:
            assert self._listing.pending is not None
            return self._listing.pending(self._store, self._start, self._newest)
        if self._final is not None:
            return self._final
        if self._start is None and self._newest and self._listing.pending and self._final_to is not None:
            self._start = Bound((self._final_to,))
        source = merged(self._listing.sources, self._listing.table, self._listing.sieve)
        if self.as_of is not None:
            source = within(source, [(0, self.as_of)])
        if self._listing.window:
            source = within(source, self._listing.window.milestones)
        return source(self._store, self._start, self._newest)

    async def _kept(self, rows: Sequence[Row], limit: int) -> Sequence[Row]:
        if self.pending:
            # Keep rows that `messages` does not contain, or only in a milestone that is not final in this listing.
            if self._final_to is None:
                self._final_to = await self._newest_milestone(limit) if self.as_of is None else self.as_of
            found = await self._store.get_many(schema.messages, [(row["message_id"],) for row in rows])
            kept = [message is None or message["milestone_index"] > self._final_to for message in found]
            rows = list(compress(rows, kept))
            return await self._listing.keep_pending(rows, self.as_of) if self._listing.keep_pending else rows
        if self._listing.sieve:
            rows = [row for row in rows if type(row) is not Passed]
        if self._listing.window:
            rows = [row for row in rows if self._listing.window.holds(row["ms_timestamp"])]
        if self._listing.keep:
            return await self._listing.keep(rows, self.as_of)
        return rows

    async def _newest_milestone(self, limit: int) -> int:
        """The milestone of the listing's newest final row; -1 without one. If this row follows the pending ones, up to
        `limit` rows are read at once.
        """
        stream = merged(self._listing.sources, self._listing.table)(self._store, None, True)  # noqa: FBT003
        rows = await stream.next(limit if self._newest else 1)
        if self._newest:
            self._final = BegunStream(rows, stream)
        return int(rows[0]["milestone_index"]) if rows else -1
