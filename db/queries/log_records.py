"""The records that the transparency log has of a ledger, in the log's order.

They exist for the milestones that are applied to the ledger state: from the one after the genesis on, without a gap.
Records never change.
"""

from collections.abc import AsyncIterator, Sequence

from db import schema
from db.listing.streams import get_chunk_size
from db.partitions import ms_range_id, ranges_of
from db.store import Bound, Row, Store
from ledger.completeness.intervals import Interval, closing, complete_to, cover, is_end
from ledger.completeness.records import CoverRecord, IntervalRecord
from ledger.completeness.trees import cover_record
from ledger.transparency.records import MilestoneRecord, Record

PROVED_FROM, PROVED_TO = "proved_from", "proved_to"
"""keyspace_info keys: the first and the last milestone whose records, and the trees that end there, are in the store.
The second one is written after their rows.
"""

ALL_ROWS = 2**31 - 1


async def find_proved(store: Store) -> range | None:
    """The milestones whose records are in the store, ascending; None if it has none."""
    first, last = await store.get_many(schema.keyspace_info, [(PROVED_FROM,), (PROVED_TO,)])
    return None if first is None or last is None else range(int(first["value"]), int(last["value"]) + 1)


async def closed_records(store: Store, first: int, after: int, to: int) -> AsyncIterator[Record]:
    """Yields the records of the milestones (after, to], and those of the intervals and covers that end with them.

    Memory: those of one range of milestones.

    Args:
        store: the store of an IOTA network.
        first: the first milestone of the log, from `find_proved`.
        after: the last milestone of the log so far; `first` − 1 for an empty one.
        to: at most the last milestone of `find_proved`.
    """
    known = {each.interval: each for each in await find_records(store, _cover_at(first, after))}
    chunk_size = await get_chunk_size(store)
    for ms_range in ranges_of(after + 1, to, chunk_size):
        last = min(to, (ms_range + 1) * chunk_size - 1)
        lower = Bound((after + 1,))
        milestones = await store.slice(
            schema.milestone_roots, (ms_range,), lower=lower, upper=Bound((last,)), limit=ALL_ROWS
        )
        for row in milestones:
            yield _milestone_record(row)
            index = row["milestone_index"]
            closed = list(closing(first, index - 1, index))
            if closed:
                for record in await find_records(store, closed):
                    known[record.interval] = record
                    yield record
                intervals = cover(first, index)
                known = {each: known[each] for each in intervals}
                yield cover_record([known[each] for each in intervals])
        after = last


async def find_records(store: Store, intervals: Sequence[Interval]) -> list[IntervalRecord]:
    """The records of these intervals, which must be in the store."""
    chunk_size = await get_chunk_size(store)
    keys = [(ms_range_id(each.end, chunk_size), each.end, each.level) for each in intervals]
    rows = await store.get_many(schema.interval_roots, keys)
    found = []
    for interval, row in zip(intervals, rows, strict=True):
        assert row is not None, f"the store has no record of {interval}"
        found.append(IntervalRecord(interval, row["key_count"], row["root"]))
    return found


async def get_cover_record(store: Store, first: int, end: int) -> CoverRecord:
    """The record of the cover that ends with milestone `end`."""
    return cover_record(await find_records(store, cover(first, end)))


def _cover_at(first: int, milestone: int) -> list[Interval]:
    """The intervals of the newest cover at a milestone."""
    end = complete_to(first, milestone)
    return cover(first, end) if end is not None and is_end(first, end) else []


def _milestone_record(row: Row) -> MilestoneRecord:
    return MilestoneRecord(
        row["milestone_index"],
        bytes.fromhex(row["log_id"]),
        row["timestamp"],
        row["message_count"],
        row["messages_root"],
        row["changes_root"],
    )
