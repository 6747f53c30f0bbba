"""The tables `ranges` and `proofs`. They summarize which milestones in `sync` are complete and proved."""

from db import schema
from db.intervals import Intervals, intersect, parse_intervals
from db.partitions import ranges_of
from db.store import Row, WritableStore
from db.sync import extended_rows, proof_row, range_row
from etl.store_reads import StoreReads


def rewrite_ranges(store: WritableStore, reads: StoreReads, ranges: list[int]) -> None:
    """Writes the rows of `ranges` and `proofs` of those ranges again, from `sync`."""
    states = [(each, reads.sync_rows(each)) for each in ranges]
    with store.batch() as batch:
        for table, make in ((schema.proofs, proof_row), (schema.ranges, range_row)):
            rows = [make(reads.network, each, rows) for each, rows in states]
            batch.upsert(table, table.names, [[row[name] for name in table.names] for row in rows])


def extend_ranges(store: WritableStore, reads: StoreReads, milestones: Intervals, chunk_size: int) -> None:
    """Writes these rows after `sync` has new rows of milestones. Reads few rows if these follow all complete ones."""
    for each in sorted({each for first, last in milestones for each in ranges_of(first, last, chunk_size)}):
        inside = intersect(milestones, [(each * chunk_size, (each + 1) * chunk_size - 1)])
        if (extended := _extended(reads, each, inside)) is None:
            rewrite_ranges(store, reads, [each])
            continue
        with store.batch() as batch:
            for table, row in zip((schema.ranges, schema.proofs), extended, strict=True):
                batch.upsert(table, table.names, [[row[name] for name in table.names]])


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
