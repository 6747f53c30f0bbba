"""The tables `ranges` and `proofs`. They summarize which milestones in `sync` are complete and proved."""

from collections.abc import Sequence

from db import schema
from db.intervals import Intervals, intersect, parse_intervals
from db.partitions import ranges_of
from db.store import Row, WritableStore
from db.sync import extended_rows, proof_row, range_row
from etl.store_reads import StoreReads


def rewrite_ranges(store: WritableStore, reads: StoreReads, ranges: list[int]) -> None:
    """Writes the rows of `ranges` and `proofs` of those ranges again, from `sync`."""
    _write(store, [_whole(reads, each) for each in ranges])


def extend_ranges(store: WritableStore, reads: StoreReads, milestones: Intervals, chunk_size: int) -> None:
    """Writes these rows after `sync` has new rows of milestones. Reads few rows if these follow all complete ones."""
    rows = []
    for each in sorted({each for first, last in milestones for each in ranges_of(first, last, chunk_size)}):
        inside = intersect(milestones, [(each * chunk_size, (each + 1) * chunk_size - 1)])
        rows.append(_extended(reads, each, inside) or _whole(reads, each))
    _write(store, rows)


def _write(store: WritableStore, rows: Sequence[tuple[Row, Row]]) -> None:
    """Writes rows of `ranges` with those of `proofs`. Readers look at `ranges` first, so it is written last."""
    with store.batch() as batch:
        for table, at in ((schema.proofs, 1), (schema.ranges, 0)):
            batch.upsert(table, table.names, [[pair[at][name] for name in table.names] for pair in rows])


def _whole(reads: StoreReads, range_id: int) -> tuple[Row, Row]:
    rows = reads.sync_rows(range_id)
    return range_row(reads.network, range_id, rows), proof_row(reads.network, range_id, rows)


def _extended(reads: StoreReads, range_id: int, milestones: Intervals) -> tuple[Row, Row] | None:
    (before,) = reads.many(schema.ranges, [(reads.network, range_id)])
    (proof,) = reads.many(schema.proofs, [(reads.network, range_id)])
    if before is None or proof is None:
        return None
    complete = parse_intervals(before["complete"])
    newest = complete[-1][1] if complete else -1
    if milestones[0][0] <= newest:
        return None
    # Also those of a run that was killed before it wrote `ranges`.
    return extended_rows(before, proof, list(reads.partition(schema.sync, (range_id,), first=newest + 1)))
