"""Which milestones of a store durable archive files contain: the column `sync.logged_by`, and `ranges` after it.

The caller holds the store's lease. Setting a mark twice changes nothing. The next run completes one that was killed,
because `ranges` says which marks are missing.
"""

from collections.abc import Callable, Iterator

from db import schema
from db.intervals import Intervals, intersect, of_indices
from db.partitions import ms_range_id, ranges_of
from db.store import Batch, WritableStore
from etl.store_reads import StoreReads
from etl.writers.ranges import rewrite_ranges

LOGGED = ("ms_range_id", "milestone_index", "logged_by")


def note_logged(
    store: WritableStore,
    reads: StoreReads,
    chunk_size: int,
    sealed: Intervals,
    renew: Callable[[], None] = lambda: None,
) -> None:
    """Marks those of the milestones that are complete in the store. Calls `renew` after each range."""
    if not sealed:
        return
    new = intersect(sealed, reads.held().unlogged)
    for each in sorted({each for first, last in new for each in ranges_of(first, last, chunk_size)}):
        inside = intersect(new, [(each * chunk_size, (each + 1) * chunk_size - 1)])
        with store.batch() as batch:
            write_logged(batch, chunk_size, inside)
        rewrite_ranges(store, reads, [each])
        renew()


def write_logged(batch: Batch, chunk_size: int, milestones: Intervals) -> None:
    """Writes the mark of those milestones into `sync`, and nothing into `ranges`."""
    batch.upsert(schema.sync, LOGGED, _marks(chunk_size, milestones))


def find_logged(reads: StoreReads, chunk_size: int, milestones: Intervals) -> Intervals:
    """Returns those of the milestones that have the mark in `sync`. A killed rebuild leaves the marks there."""
    ranges = sorted({each for first, last in milestones for each in ranges_of(first, last, chunk_size)})
    columns = ("milestone_index", "logged_by")
    rows = (row for each in ranges for row in reads.partition(schema.sync, (each,), columns))
    return intersect(milestones, of_indices(row["milestone_index"] for row in rows if row["logged_by"] is not None))


def _marks(chunk_size: int, milestones: Intervals) -> Iterator[tuple[int, int, int]]:
    for first, last in milestones:
        for index in range(first, last + 1):
            yield ms_range_id(index, chunk_size), index, 0
