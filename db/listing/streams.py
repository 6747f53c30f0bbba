"""Streams of rows in a listing's order: one partition, many partitions found by hints, several streams merged.

Invariants:
1. Streams depend only on the Store port. A stream reads on request and keeps nothing open.
2. `start` is the first row, by value. All rows after it follow in order.
3. The partitions of a key follow each other in the order of their hints: no row lies outside those of its partition.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias
from weakref import WeakKeyDictionary

from db import schema
from db.model import Lookup, Order, Table
from db.partitions import ms_range_id
from db.store import Bound, Key, Row, Store, Value, Where

HINTS_AT_ONCE = 50

MERGED_AHEAD = 3
"""Rows that merged streams read in total per requested row. First each reads a few, then those with most rows read
again.
"""


@dataclass(slots=True)
class Sieve:
    """The conditions on the rows of a listing, and the number of rows read that did not satisfy them. Rows returned as
    Passed are not counted.
    """

    where: Where
    left_out: int = 0


class Stream(Protocol):
    """A listing in progress. `ended`: it is known without reading that nothing follows."""

    @property
    def ended(self) -> bool: ...  # noqa: D102

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows in order, 1 to `limit`; none only at the end. Rows that a sieve drops count towards `limit`."""


Source: TypeAlias = Callable[[Store, Bound | None, bool], Stream]
"""Something to list: (store, first row, newest first) → its stream."""


def key_of(table: Table, row: Row) -> Key:
    """The clustering columns of a row, which order it."""
    return tuple([row[name] for name in table.clustering])


class PartitionStream:
    """One partition of a table: all columns or some, rows whose first clustering columns are `prefix`, rows that
    satisfy a sieve.
    """

    def __init__(
        self,
        store: Store,
        table: Table,
        partition: Key,
        start: Bound | None,
        *,
        newest: bool,
        prefix: Key = (),
        columns: tuple[str, ...] | None = None,
        sieve: Sieve | None = None,
    ) -> None:
        self._store, self._table, self._partition, self._columns = store, table, partition, columns
        self._sieve = sieve
        self._end = Bound(prefix) if prefix else None
        self._start, self._newest = start or self._end, newest
        self._read: Sequence[Row] = ()
        self.ended = False

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows: one slice."""
        if self.ended:
            return []
        if self._read:
            self._start = Bound(key_of(self._table, self._read[-1]), inclusive=False)
        lower, upper = (self._end, self._start) if self._newest else (self._start, self._end)
        reverse = (self._table.order is Order.DESC) != self._newest
        if self._sieve is None:
            rows = await self._store.slice(
                self._table,
                self._partition,
                lower=lower,
                upper=upper,
                reverse=reverse,
                limit=limit,
                columns=self._columns,
            )
            examined = len(rows)
        else:
            assert self._columns is not None, "a sieve needs explicit columns"
            rows, examined = await self._store.scan(
                self._table,
                self._partition,
                self._sieve.where,
                lower=lower,
                upper=upper,
                reverse=reverse,
                limit=limit,
                columns=self._columns,
            )
            self._sieve.left_out += examined - len(rows)
        self.ended = examined < limit
        self._read = rows
        return rows


class HintedStream:
    """All partitions in the hints of one key. Hints are read a few at a time, only as far as needed.

    `first` is the hint of the partition that would contain the first row; None: from the beginning.
    """

    def __init__(
        self,
        store: Store,
        hints: Table,
        hint_partition: Key,
        first: Callable[[], Awaitable[Key]] | None,
        open_partition: Callable[[Row], Stream],
        *,
        newest: bool,
    ) -> None:
        self._store, self._hints, self._hint_partition = store, hints, hint_partition
        self._first, self._open_partition, self._newest = first, open_partition, newest
        self._hint_stream: PartitionStream | None = None
        self._named: list[Row] = []
        self._rows: Stream | None = None

    @property
    def ended(self) -> bool:
        """Whether the last partition is at its end."""
        hints, rows = self._hint_stream, self._rows
        return not self._named and hints is not None and hints.ended and rows is not None and rows.ended

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows, all of one partition."""
        while True:
            if self._rows is not None and (rows := await self._rows.next(limit)):
                return rows
            if not self._named:
                if self._hint_stream is None:
                    self._hint_stream = await self._begin()
                self._named = [*await self._hint_stream.next(HINTS_AT_ONCE)][::-1]
            if not self._named:
                return []
            self._rows = self._open_partition(self._named.pop())

    async def _begin(self) -> PartitionStream:
        start = Bound(await self._first()) if self._first else None
        if start and not self._newest:
            # Ascending, the first row lies in the last partition that begins at or before it.
            reverse = self._hints.order is not Order.DESC
            rows = await self._store.slice(self._hints, self._hint_partition, upper=start, reverse=reverse, limit=1)
            start = Bound(key_of(self._hints, rows[0])) if rows else start
        return PartitionStream(self._store, self._hints, self._hint_partition, start, newest=self._newest)


class MergedStream:
    """Merges several streams in one order. A row that occurs in several is returned once. Rows that `sieve` drops count
    as read: no stream is read again if that would exceed the limit with them.
    """

    ended = False

    def __init__(
        self, streams: Sequence[Stream], sort_key: Callable[[Row], Key], sieve: Sieve | None, *, newest: bool
    ) -> None:
        self._streams, self._sort_key, self._pick = streams, sort_key, max if newest else min
        self._sieve = sieve or Sieve(())
        self._waiting: list[list[Row]] = [[] for _ in streams]
        self._ended = [False] * len(streams)
        self._last: Key | None = None

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows of all streams."""
        rows: list[Row] = []
        at_once = min(limit, -(-MERGED_AHEAD * limit // max(1, len(self._streams))))
        left_out = self._sieve.left_out
        while len(rows) < limit:
            for index, stream in enumerate(self._streams):
                if not self._waiting[index] and not self._ended[index]:
                    if rows and len(rows) + self._sieve.left_out - left_out >= limit:
                        return rows
                    self._waiting[index] = [*await stream.next(at_once)][::-1]
                    self._ended[index] = not self._waiting[index]
            heads = [(self._sort_key(waiting[-1]), index) for index, waiting in enumerate(self._waiting) if waiting]
            if not heads:
                break
            key, index = self._pick(heads)
            waiting = self._waiting[index]
            if key == self._last:
                waiting.pop()
                continue
            # If only one stream remains, all its rows come next.
            count = min(limit - len(rows), len(waiting)) if len(heads) == 1 else 1
            rows += waiting[: -count - 1 : -1]
            del waiting[-count:]
            self._last = self._sort_key(rows[-1])
        return rows


class BegunStream:
    """A stream whose first rows were read before."""

    def __init__(self, rows: Sequence[Row], following: Stream) -> None:
        self._rows, self._following = rows, following

    @property
    def ended(self) -> bool:
        """Whether nothing follows the rows read before."""
        return not self._rows and self._following.ended

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows, those read before first."""
        rows, self._rows = self._rows[:limit], self._rows[limit:]
        return rows or await self._following.next(limit)


class ChainedStream:
    """Concatenates streams. All rows of a stream precede those of the next."""

    ended = False

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._left = [*reversed(streams)]

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows, of one stream."""
        while self._left:
            rows = await self._left[-1].next(limit)
            if rows:
                return rows
            self._left.pop()
        return []


def partition_source(
    table: Table, partition: Key, *, prefix: Key = (), columns: tuple[str, ...] | None = None
) -> Source:
    """One partition of a table, or its rows that begin with `prefix`."""
    return lambda store, start, newest: PartitionStream(
        store, table, partition, start, newest=newest, prefix=prefix, columns=columns
    )


_HINT_COLUMNS: dict[str, list[tuple[int | None, Value]]] = {}
"""Lookup table → position in its key, or constant, of each partition column of its hints."""


def _hint_partition(lookup: Lookup, key: Key) -> Key:
    columns = _HINT_COLUMNS.get(lookup.table.name)
    if columns is None:
        names, constants = dict(lookup.hint_names), dict(lookup.hint_constants)
        columns = _HINT_COLUMNS[lookup.table.name] = [
            (None, constants[name]) if name in constants else (lookup.query_columns.index(names.get(name, name)), None)
            for name in lookup.hints.partition
        ]
    return tuple([constant if place is None else key[place] for place, constant in columns])


def lookup_source(
    lookup: Lookup, key: Key, columns: tuple[str, ...] | None = None, sieve: Sieve | None = None
) -> Source:
    """All partitions of one key of a lookup."""
    hint_partition = _hint_partition(lookup, key)

    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        async def first() -> Key:
            milestone_index = _leading(start)
            return ms_range_id(milestone_index, await get_chunk_size(store)), milestone_index

        def open_partition(hint: Row) -> Stream:
            partition = (*key, hint[lookup.range_column], hint["partition_id"])
            return PartitionStream(store, lookup.table, partition, start, newest=newest, columns=columns, sieve=sieve)

        return HintedStream(
            store, lookup.hints, hint_partition, first if start else None, open_partition, newest=newest
        )

    return source


def pending_source(lookup: str, key_text: str) -> Source:
    """Pending rows of one key, ordered by expected milestone."""

    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        async def first() -> Key:
            return (_leading(start) // schema.PENDING_BUCKET,)

        def open_partition(hint: Row) -> Stream:
            partition = (lookup, key_text, schema.PENDING_RANGE, hint["bucket"])
            return PartitionStream(store, schema.pending, partition, start, newest=newest)

        return HintedStream(
            store, schema.pending_hints, (lookup, key_text), first if start else None, open_partition, newest=newest
        )

    return source


def merged(sources: Sequence[Source], table: Table, sieve: Sieve | None = None) -> Source:
    """Merges several sources by the table's clustering columns. Without sources there are no rows."""
    if len(sources) == 1:
        return sources[0]
    return lambda store, start, newest: MergedStream(
        [source(store, start, newest) for source in sources], lambda row: key_of(table, row), sieve, newest=newest
    )


_CHUNK_SIZES: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
_NETWORKS: WeakKeyDictionary[Store, str] = WeakKeyDictionary()


async def get_chunk_size(store: Store) -> int:
    """The store's chunk_size, which never changes. Read once."""
    chunk_size = _CHUNK_SIZES.get(store)
    if chunk_size is None:
        chunk_size = _CHUNK_SIZES[store] = int(await _read_info(store, "chunk_size"))
    return chunk_size


async def get_network(store: Store) -> str:
    """The name of the store's network, which never changes. Read once."""
    network = _NETWORKS.get(store)
    if network is None:
        network = _NETWORKS[store] = await _read_info(store, "network")
    return network


async def _read_info(store: Store, name: str) -> str:
    row = await store.get(schema.keyspace_info, (name,))
    assert row is not None
    return str(row["value"])


def _leading(start: Bound | None) -> int:
    assert start is not None
    milestone_index = start.values[0]
    assert isinstance(milestone_index, int)
    return milestone_index
