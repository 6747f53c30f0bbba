"""Commits decoded milestones to the lake and writes their rows to the store, in parallel where the order allows it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from db.intervals import size
from etl.archive.archived_milestones import sealed_by
from etl.engine.current import on_sail
from etl.expectations.comparison import Expectation
from etl.lake.summary import count_messages, count_rows
from etl.verification.expect import expect
from etl.verification.ingest import Ingest, Ingested
from etl.writers.archived_marks import note_logged
from etl.writers.few_run import FEW_MESSAGES
from etl.writers.publish import Opened, Publication

SMALL_STORE = 20_000
"""Messages. A load into a store with fewer builds a generation as if it had this number: the first milestones of a
network are faster in a transaction.
"""


class Opening:
    """The splits of a run, which a thread computes once they are needed."""

    def __init__(self, pool: ThreadPoolExecutor, open_splits: Callable[[], Opened]) -> None:
        self._pool = pool
        self._open_splits = open_splits
        self._starting = threading.Lock()
        self._future: Future[Opened] | None = None

    def start(self) -> "Future[Opened]":
        """Starts the thread, once."""
        with self._starting:
            if self._future is None:
                self._future = self._pool.submit(self._open_splits)
            return self._future

    def result(self) -> Opened:
        """Waits for the splits."""
        return self.start().result()


def fill(ingest: Ingest, found: Ingested, publication: Publication, *, bulk: bool) -> Expectation:
    """Commits to the lake while the splits are opened and the sources noted. Rows follow the commit. Returns what was
    written.
    """
    report, kept = publication.report, publication.reads.held().messages

    def commit() -> Expectation:
        expectation = expect(publication, found)
        ingest.commit(found)
        if found.run and size(found.run) <= FEW_MESSAGES:
            count_rows(publication.few_run(found.run).known, report)
        else:
            count_messages(publication.lake, found.run, report)
        return expectation

    with ThreadPoolExecutor(3, thread_name_prefix="beside") as pool:
        committing = pool.submit(commit)
        opening = Opening(pool, lambda: publication.open_splits(found.run))
        decoded = found.expected.over(found.decoded)["messages"].rows
        # Sail uses all cores for one query, and the first rows to be written do not need the splits.
        if decoded > FEW_MESSAGES and not on_sail():
            opening.start()
        noting = pool.submit(ingest.note_sources, found)
        if kept or decoded <= FEW_MESSAGES:
            # The commit counts the messages of the run, also those that an interrupted load has decoded.
            committing.result()
        messages = max(decoded, report.messages)
        much = bulk or messages >= publication.settings.bulk_share * max(kept, SMALL_STORE)
        publication.publish(found.run, found.plan.names, opening.result, committing, bulk=bool(found.run) and much)
        noting.result()
        note_logged(publication.store, publication.reads, publication.store_settings.chunk_size, sealed_by(found.plan))
        if found.pending:
            publication.publish_pending()
    report.skipped, report.reopened = found.skipped, size(found.reopened)
    report.pending = found.pending
    return committing.result()
