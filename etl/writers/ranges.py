"""The tables `ranges` and `proofs`. They summarize which milestones in `sync` are complete and proved."""

from db import schema
from db.store import WritableStore
from db.sync import proof_row, range_row
from etl.store_reads import StoreReads


def rewrite_ranges(store: WritableStore, reads: StoreReads, ranges: list[int]) -> None:
    """Writes the rows of `ranges` and `proofs` of those ranges again, from `sync`."""
    states = [(each, reads.sync_rows(each)) for each in ranges]
    with store.batch() as batch:
        for table, make in ((schema.proofs, proof_row), (schema.ranges, range_row)):
            rows = [make(reads.network, each, rows) for each, rows in states]
            batch.upsert(table, table.names, [[row[name] for name in table.names] for row in rows])
