"""Records which milestones durable archive files contain: `sync.logged_by`, then `ranges`.

Invariants:
1. A file counts if the archive writer closed it and its bytes match the checksum next to it. The checksum is written
   only when the bytes are durable, and only for completely verified milestones (etl/archive/writer.py).
2. The caller holds the lease of the store.
3. Recording is idempotent. If a run is killed, the next one records the rest, because `ranges` still lists it.
4. Spark is not used here.
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
    """The milestones of a folder's closed files whose bytes match their checksums, and faults for the other files.
    Reads only files with milestones in `wanted`.
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
    """The milestones of those files of a load that were closed and whose bytes match their checksums."""
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
    """Records in the store that durable files contain these milestones, if they are complete there. Calls `renew` after
    each range.
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
    """Writes the marks of these milestones to `sync`. `ranges` must be updated afterwards."""
    batch.upsert(schema.sync, LOGGED, _marks(chunk_size, milestones))


def find_logged(reads: StoreReads, chunk_size: int, milestones: Intervals) -> Intervals:
    """The milestones that have a mark in `sync`. A rebuild that was killed leaves such marks."""
    ranges = sorted({each for first, last in milestones for each in ranges_of(first, last, chunk_size)})
    columns = ("milestone_index", "logged_by")
    rows = (row for each in ranges for row in reads.partition(schema.sync, (each,), columns))
    return intersect(milestones, of_indices(row["milestone_index"] for row in rows if row["logged_by"] is not None))


def _marks(chunk_size: int, milestones: Intervals) -> Iterator[tuple[int, int, int]]:
    for first, last in milestones:
        for index in range(first, last + 1):
            yield ms_range_id(index, chunk_size), index, 0
