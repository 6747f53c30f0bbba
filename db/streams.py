"""Rows of a listing in its order, a batch at a time: one partition, many partitions behind hints, several merged.

Rules of this file: async generators over Store alone; `start` is the first row wanted, by value, and everything after
it follows in order; partitions of a key follow each other as their hints do, as no row lies outside the milestones
that its partition begins with.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from db import schema
from db.model import Lookup, Order, Table
from db.partitions import ms_range_id
from db.store import Bound, Key, Row, Store

HINTS_AT_ONCE = 50


class Source(Protocol):
    """Something that a listing lists: `batches(store, start, newest=…, limit=…)`, never an empty batch."""

    def __call__(self, store: Store, start: Bound | None, *, newest: bool, limit: int) -> AsyncIterator[list[Row]]:
        """Rows from `start` on, newest or oldest first, at most `limit` a batch."""


def key_of(table: Table, row: Row) -> Key:
    """What a row is sorted by: its clustering columns."""
    return tuple(row[name] for name in table.clustering)


def partition_source(table: Table, partition: Key) -> Source:
    """One partition of a table."""

    async def batches(store: Store, start: Bound | None, *, newest: bool, limit: int) -> AsyncIterator[list[Row]]:
        reverse = (table.order is Order.DESC) != newest
        while True:
            lower, upper = (None, start) if newest else (start, None)
            rows = await store.slice(table, partition, lower=lower, upper=upper, reverse=reverse, limit=limit)
            if rows:
                yield rows
            if len(rows) < limit:
                return
            start = Bound(key_of(table, rows[-1]), inclusive=False)

    return batches


def lookup_source(lookup: Lookup, key: Key) -> Source:
    """All partitions of one key of a lookup."""
    constants = dict(lookup.hint_constants)
    values = dict(zip(lookup.key, key, strict=True)) | constants
    hint_partition = tuple(values[name] for name in lookup.hints.partition)

    async def batches(store: Store, start: Bound | None, *, newest: bool, limit: int) -> AsyncIterator[list[Row]]:
        first_hint = None
        if start is not None:
            milestone_index = start.values[0]
            assert isinstance(milestone_index, int)
            first_hint = (ms_range_id(milestone_index, await get_chunk_size(store)), milestone_index)
        async for hint in _hints(store, lookup.hints, hint_partition, first_hint, newest=newest):
            source = partition_source(lookup.table, (*key, hint["ms_range_id"], hint["partition_id"]))
            async for rows in source(store, start, newest=newest, limit=limit):
                yield rows

    return batches


def pending_source(lookup: str, key_text: str) -> Source:
    """Pending rows of one key, in the order of the milestones they were expected in."""

    async def batches(store: Store, start: Bound | None, *, newest: bool, limit: int) -> AsyncIterator[list[Row]]:
        first_hint = None
        if start is not None:
            est_milestone_index = start.values[0]
            assert isinstance(est_milestone_index, int)
            first_hint = (est_milestone_index // schema.PENDING_BUCKET,)
        async for hint in _hints(store, schema.pending_hints, (lookup, key_text), first_hint, newest=newest):
            source = partition_source(schema.pending, (lookup, key_text, schema.PENDING_RANGE, hint["bucket"]))
            async for rows in source(store, start, newest=newest, limit=limit):
                yield rows

    return batches


def merged(sources: Sequence[Source], sort_key: Callable[[Row], Key]) -> Source:
    """Several sources in one order; a row that several of them have comes once."""

    async def batches(store: Store, start: Bound | None, *, newest: bool, limit: int) -> AsyncIterator[list[Row]]:
        streams = [source(store, start, newest=newest, limit=limit) for source in sources]
        waiting = [await anext(stream, []) for stream in streams]
        pick = max if newest else min
        last: Key | None = None
        batch: list[Row] = []
        while any(waiting):
            heads = [(sort_key(rows[0]), index) for index, rows in enumerate(waiting) if rows]
            key, index = pick(heads)
            row, *rest = waiting[index]
            waiting[index] = rest or await anext(streams[index], [])
            if key != last:
                batch.append(row)
                last = key
            if len(batch) == limit:
                yield batch
                batch = []
        if batch:
            yield batch

    return sources[0] if len(sources) == 1 else batches


async def get_chunk_size(store: Store) -> int:
    """The store's chunk_size, as it was created with."""
    row = await store.get(schema.keyspace_info, ("chunk_size",))
    assert row is not None
    return int(row["value"])


async def _hints(store: Store, hints: Table, partition: Key, first: Key | None, *, newest: bool) -> AsyncIterator[Row]:
    """Hints from the one whose partition may hold the first row wanted; a few at a time, as far as asked for."""
    start = Bound(first) if first is not None else None
    if start is not None and not newest:
        # Ascending, the row lies in the last partition that begins at or before it.
        rows = await store.slice(hints, partition, upper=start, reverse=hints.order is not Order.DESC, limit=1)
        start = Bound(key_of(hints, rows[0])) if rows else start
    async for batch in partition_source(hints, partition)(store, start, newest=newest, limit=HINTS_AT_ONCE):
        for hint in batch:
            yield hint
