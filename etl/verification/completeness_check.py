"""Counts the rows of the store's newest complete milestones and marks those with missing rows as incomplete.

An acknowledged write is not yet durable on a cluster, so a power failure can lose rows. The marks go to `sync` first
and then to `ranges`. The next load writes these milestones again from the lake. This module does not need Spark.
"""

import os
import socket
from contextlib import closing

from db import schema
from db.connect import StoreSettings, open_store
from db.intervals import Intervals, in_words, nth, of_indices, size
from db.partitions import ms_range_id
from db.store import LeaseHeld, WritableStore
from db.sync import is_complete
from etl.store_reads import StoreReads
from etl.writers.ranges import rewrite_ranges

CHECKED_BY_LOADS = 100
"""Number of newest complete milestones that every load counts first."""

LEASE_S = 60


def check_newest(settings: StoreSettings, newest: int) -> Intervals:
    """Reopens those of the `newest` complete milestones with missing rows, and returns them.

    Raises StoreUnavailable. Raises LeaseHeld, which names the milestones, if another run holds the store's lease.
    """
    with (
        closing(open_store(settings, writable=True)) as store,
        closing(StoreReads(store, settings.network)) as reads,
    ):
        short = find_short(reads, settings.chunk_size, newest)
        if short:
            try:
                lease = store.acquire(f"{socket.gethostname()}:{os.getpid()}", "check", LEASE_S)
            except LeaseHeld as error:
                raise LeaseHeld(f"milestones {in_words(short)} are short, not opened again: {error}") from error
            try:
                reopen(store, reads, settings.chunk_size, short)
            finally:
                store.release(lease)
        return short


def find_short(reads: StoreReads, chunk_size: int, newest: int) -> Intervals:
    """Returns those of the `newest` complete milestones that have fewer rows in messages_by_milestone than `sync` says,
    or are incomplete in `sync`.
    """
    complete = reads.complete()
    count = size(complete)
    indices = [nth(complete, position) for position in range(max(0, count - newest), count)]
    states = reads.many(schema.sync, [(ms_range_id(index, chunk_size), index) for index in indices])
    return of_indices(
        index
        for index, state in zip(indices, states, strict=True)
        if state is None
        or not is_complete(state)
        or sum(1 for _ in reads.partition(schema.messages_by_milestone, (index,))) < state["message_count"]
    )


def reopen(store: WritableStore, reads: StoreReads, chunk_size: int, short: Intervals) -> None:
    """Marks those milestones as incomplete. The caller holds the lease.

    A ledger state beyond the first of them may have lost rows too. It is deleted, and the next load applies it again
    from genesis on.
    """
    if not short:
        return
    indices = [index for first, last in short for index in range(first, last + 1)]
    ledger_index = reads.ledger_index()
    with store.batch() as batch:
        if ledger_index is not None and ledger_index >= indices[0]:
            batch.delete(schema.ledger_frontier, (reads.network,))
        columns = (*schema.sync.key, "synced_by", "verified", "layout")
        rows = [(ms_range_id(index, chunk_size), index, None, None, None) for index in indices]
        batch.upsert(schema.sync, columns, rows)
    ranges = sorted({ms_range_id(index, chunk_size) for index in indices})
    rewrite_ranges(store, reads, ranges)
