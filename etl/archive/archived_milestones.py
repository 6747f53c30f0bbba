"""Which milestones durable archive files hold: `sync.logged_by`, and `ranges` after it.

What counts is a file that the archive writer closed, and whose bytes are still what the checksum beside it says: that
stands there only once they are durable, and only of milestones that were verified whole (etl/archive/writer.py).

Rules of this file: under the caller's lease; noted twice is noted once, and a killed run's half is noted again by the
next, as `ranges` says what is still to be noted; no Spark here.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from db import schema
from db.intervals import Intervals, intersect, intervals, of_indices
from db.partitions import ms_range_id, ranges_of
from db.store import Batch, WritableStore
from etl.archive.validate import Fault, checksum_fault
from etl.archive.writer import checksum_beside, sealed_span
from etl.sources.plan import Plan
from etl.store_reads import StoreReads
from etl.verification.completeness_check import rewrite_ranges

LOGGED = ("ms_range_id", "milestone_index", "logged_by")


def sealed_in(folder: Path, wanted: Intervals) -> tuple[Intervals, list[Fault]]:
    """The milestones of a folder's closed files whose bytes are as the checksum beside them says, and the files whose
    bytes are not. Looked at are those that have any of `wanted`.
    """
    sealed, faults = list[tuple[int, int]](), list[Fault]()
    for path in sorted(folder.iterdir()):
        span = sealed_span(path)
        if span is not None and intersect(wanted, [span]):
            wrong = checksum_fault(path)
            if wrong is None:
                sealed.append(span)
            else:
                faults.append(wrong)
    return intervals(sealed), faults


def sealed_by(plan: Plan) -> Intervals:
    """The milestones of those files of a load that were closed, and whose bytes are still as the checksum says."""
    found: list[tuple[int, int]] = []
    for source in plan.files:
        path = Path(source.file)
        span = sealed_span(path)
        if span is not None and checksum_beside(path) == source.checksum.hex():
            found.append(span)
    return intersect(intervals(found), plan.milestones())


def note_logged(
    store: WritableStore,
    reads: StoreReads,
    chunk_size: int,
    sealed: Intervals,
    renew: Callable[[], None] = lambda: None,
) -> None:
    """Tells the store that durable files hold those milestones, as far as they are complete there; `renew` is called
    after each range.
    """
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
    """The mark of those milestones in `sync`; `ranges` is still to be told."""
    batch.upsert(schema.sync, LOGGED, _marks(chunk_size, milestones))


def find_logged(reads: StoreReads, chunk_size: int, milestones: Intervals) -> Intervals:
    """Those of the milestones that have the mark in `sync`, which a rebuild that was killed leaves where it was."""
    ranges = sorted({each for first, last in milestones for each in ranges_of(first, last, chunk_size)})
    columns = ("milestone_index", "logged_by")
    rows = (row for each in ranges for row in reads.partition(schema.sync, (each,), columns))
    return intersect(milestones, of_indices(row["milestone_index"] for row in rows if row["logged_by"] is not None))


def _marks(chunk_size: int, milestones: Intervals) -> Iterator[tuple[int, int, int]]:
    for first, last in milestones:
        for index in range(first, last + 1):
            yield ms_range_id(index, chunk_size), index, 0
