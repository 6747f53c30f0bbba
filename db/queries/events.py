"""Events of a ledger in one order: messages under tags and addresses, outputs created and spent, milestones, gaps.

Invariants:
1. An event has a place: its milestone, its kind and its id. Places rise along the stream and depend on the ledger
   alone, so a place is a cursor for every subscription, server and store.
2. Only complete milestones have events. What lies between complete milestones is one event, a gap.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from db import schema
from db.coverage import check_listing, find_coverage
from db.intervals import Intervals, intervals, parse_intervals
from db.listing.page import read_columns
from db.listing.spans import within
from db.listing.streams import Source, get_chunk_size, lookup_source, partition_source
from db.partitions import ms_range_id
from db.queries.messages import TAGS
from db.queries.outputs import get_output
from db.queries.transactions import CONFLICTING, HISTORIES, INCLUDED, MIGRATED
from db.store import Bound, Row, Store
from db.sync import RANGES_AT_ONCE

MESSAGE, CREATED, SPENT, END = range(4)
"""Kinds of events, in their order within a milestone. Milestones and gaps are at the end of a milestone."""

ROWS_AT_ONCE = 200

MILESTONES_AT_ONCE = 200
"""Milestones whose events are read together if each of them is an event."""


class Place(NamedTuple):
    """The place of an event. Default: after all events of the milestone."""

    milestone_index: int
    kind: int = END
    id: str = ""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What to list: each milestone; messages with these tags or indexes, in hex; transactions that pay or are signed by
    these serialized addresses, in hex; outputs with these ids, in hex.
    """

    milestones: bool = False
    tags: Sequence[str] = ()
    addresses: Sequence[str] = ()
    outputs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """An event.

    Attributes:
        place: its place.
        ms_timestamp: the milestone's timestamp in milliseconds since 1970; None if unknown.
        inclusion_state: of a message.
        tags, addresses: the subscribed keys that a message was found under.
        row: of an output its row in `outputs`, of a milestone that in `milestones`, None if it is not stored.
        gap: the first milestone of a gap, which ends with the milestone of its place.
    """

    place: Place
    ms_timestamp: int | None = None
    inclusion_state: int | None = None
    tags: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    row: Row | None = None
    gap: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Events in order, and the place up to which there are no others."""

    events: Sequence[Event]
    until: Place


Feed: TypeAlias = AsyncIterator[Event]
"""Events in the order of their milestones."""


async def check_kept(store: Store, subscription: Subscription) -> None:
    """Raises NotKeptHere for a tag, an address or an output whose events a selective store does not have."""
    keys = [(TAGS, tag) for tag in subscription.tags] + [(HISTORIES, each) for each in subscription.addresses]
    await check_listing(store, keys)
    if subscription.outputs and await find_coverage(store) is not None:
        for output_id in subscription.outputs:
            await get_output(store, output_id)


async def list_events(store: Store, network: str, subscription: Subscription, after: Place) -> AsyncIterator[Batch]:
    """Yields the events after a place, up to the newest complete milestone. A batch has those of whole milestones."""
    begin = max(1, after.milestone_index + (after.kind == END))
    for first, last in await _complete(store, network, begin):
        if first > begin:
            gap = Event(Place(first - 1), gap=begin)
            yield Batch([gap], gap.place)
        async for batch in _within(store, subscription, max(first, begin), last):
            yield Batch([event for event in batch.events if event.place > after], batch.until)
        begin = last + 1


async def _complete(store: Store, network: str, begin: int) -> Intervals:
    """The complete milestones from `begin` on."""
    first = ms_range_id(begin, await get_chunk_size(store))
    found: list[tuple[int, int]] = []
    lower = Bound((first,))
    while True:
        rows = await store.slice(schema.ranges, (network,), lower=lower, reverse=True, limit=RANGES_AT_ONCE)
        found += [pair for row in rows for pair in parse_intervals(row["complete"])]
        if len(rows) < RANGES_AT_ONCE:
            return [(max(low, begin), high) for low, high in intervals(found) if high >= begin]
        lower = Bound((rows[-1]["ms_range_id"],), inclusive=False)


async def _within(store: Store, subscription: Subscription, first: int, last: int) -> AsyncIterator[Batch]:
    """The events of these milestones, all of which are complete."""
    step = MILESTONES_AT_ONCE if subscription.milestones else last - first + 1
    for start in range(first, last + 1, step):
        end = min(last, start + step - 1)
        feeds = [_Feed(each) for each in _feeds(store, subscription, start, end)]
        for feed in feeds:
            await feed.advance()
        while (index := min((feed.milestone_index for feed in feeds), default=None)) is not None and index <= end:
            events = [event for feed in feeds for event in [each async for each in feed.of(index)]]
            yield Batch([*_merged(events)], Place(index))
        yield Batch([], Place(end))


class _Feed:
    """The events of one source, of which the next one is known."""

    def __init__(self, events: Feed) -> None:
        self._events = events
        self._next: Event | None = None

    @property
    def milestone_index(self) -> int:
        """The milestone of the next event, or a milestone after all others."""
        return schema.PENDING_RANGE if self._next is None else self._next.place.milestone_index

    async def advance(self) -> None:
        self._next = await anext(self._events, None)

    async def of(self, milestone_index: int) -> Feed:
        """The events of a milestone, none of which precedes it."""
        while self._next is not None and self._next.place.milestone_index == milestone_index:
            yield self._next
            await self.advance()


def _feeds(store: Store, subscription: Subscription, first: int, last: int) -> Iterator[Feed]:
    for tag in subscription.tags:
        columns = read_columns(schema.tags, ("ms_timestamp", "inclusion_state"), None)
        yield _tagged(_rows(store, lookup_source(TAGS, (tag,), columns), first, last), tag)
    for address in subscription.addresses:
        columns = read_columns(schema.transactions_by_address, ("ms_timestamp", "direction"), None)
        for included in (True, False):
            source = lookup_source(HISTORIES, (address, included), columns)
            yield _attached(_rows(store, source, first, last), address, included=included)
    if subscription.outputs:
        yield _changed(store, subscription.outputs, first, last)
    if subscription.milestones:
        yield _milestones(store, first, last)


async def _rows(store: Store, source: Source, first: int, last: int) -> AsyncIterator[Row]:
    stream = within(source, [(first, last)])(store, None, False)  # noqa: FBT003
    while rows := await stream.next(ROWS_AT_ONCE):
        for row in rows:
            yield row


async def _tagged(rows: AsyncIterator[Row], tag: str) -> Feed:
    async for row in rows:
        place = Place(row["milestone_index"], MESSAGE, row["message_id"])
        yield Event(place, row["ms_timestamp"], row["inclusion_state"], tags=(tag,))


async def _attached(rows: AsyncIterator[Row], address: str, *, included: bool) -> Feed:
    async for row in rows:
        if row["direction"] != MIGRATED:
            place = Place(row["milestone_index"], MESSAGE, row["message_id"])
            state = INCLUDED if included else CONFLICTING
            yield Event(place, row["ms_timestamp"], state, addresses=(address,))


async def _changed(store: Store, output_ids: Sequence[str], first: int, last: int) -> Feed:
    rows = await store.get_many(schema.outputs, [(output_id,) for output_id in output_ids])
    found = [
        Event(Place(row[column], kind, output_id), await _time_of(store, row[column]), row=row)
        for output_id, row in zip(output_ids, rows, strict=True)
        for column, kind in (("created_milestone_index", CREATED), ("spent_milestone_index", SPENT))
        if row is not None and row[column] is not None and first <= row[column] <= last
    ]
    for event in sorted(found, key=lambda each: each.place):
        yield event


async def _time_of(store: Store, milestone_index: int) -> int | None:
    row = await store.get(schema.sync, (ms_range_id(milestone_index, await get_chunk_size(store)), milestone_index))
    return row["ms_timestamp"] if row else None


async def _milestones(store: Store, first: int, last: int) -> Feed:
    chunk_size = await get_chunk_size(store)
    columns = read_columns(schema.sync, ("ms_timestamp",), None)
    for range_id in range(ms_range_id(first, chunk_size), ms_range_id(last, chunk_size) + 1):
        synced = [
            row async for row in _rows(store, partition_source(schema.sync, (range_id,), columns=columns), first, last)
        ]
        rows = await store.get_many(schema.milestones, [(row["milestone_index"],) for row in synced])
        for sync, row in zip(synced, rows, strict=True):
            yield Event(Place(sync["milestone_index"]), sync["ms_timestamp"], row=row)


def _merged(events: list[Event]) -> Iterator[Event]:
    """The events of a milestone in order, each once, with all keys that it was found under."""
    last: Event | None = None
    for event in sorted(events, key=lambda each: each.place):
        if last is not None and last.place == event.place:
            tags, addresses = (*last.tags, *event.tags), (*last.addresses, *event.addresses)
            last = replace(last, tags=tags, addresses=addresses)
            continue
        if last is not None:
            yield last
        last = event
    if last is not None:
        yield last
