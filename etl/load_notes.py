"""Notes of each load in its store: when it began, how it ended, and what the store has then.

`permanode status` and /metrics read them (db/queries/loads.py), because counting at each read would scan tables.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from db.queries.loads import BEGUN, ENDED, REJECTS, EndedLoad
from db.queries.wormhole.holdings import HOLDINGS
from db.schema import keyspace_info
from db.store import LeaseHeld, StoreError, StoreUnavailable, WritableStore
from etl.lake.rejects import count_rejects
from etl.report import FAILED
from etl.writers.publish import Publication


@contextmanager
def noted(publication: Publication) -> Iterator[None]:
    """Notes the beginning of a load, and its end with the exit code.

    A load that is killed or interrupted, or that loses its store or its lease, leaves only the note that it began.
    """
    with publication.store.batch() as batch:
        batch.upsert(keyspace_info, keyspace_info.names, [(BEGUN, str(publication.report.began_at))])
    try:
        yield
    except (StoreUnavailable, LeaseHeld):
        raise
    except Exception:
        with suppress(StoreError):
            _note_end(publication, FAILED, [])
        raise
    note_end(publication)


def note_end(publication: Publication, *more: tuple[str, str]) -> None:
    """Notes the result of a load and what the store has, together with further values of keyspace_info."""
    notes = [*more, (REJECTS, str(count_rejects(publication.lake.root)))]
    if publication.store_settings.wormhole_network is not None:
        notes.append((HOLDINGS, publication.reads.holdings().text()))
    _note_end(publication, publication.report.exit_code, notes)


def note_rejects(store: WritableStore, root: str) -> None:
    """Notes the number of rejects in the lake at `root`."""
    with store.batch() as batch:
        batch.upsert(keyspace_info, keyspace_info.names, [(REJECTS, str(count_rejects(root)))])


def _note_end(publication: Publication, exit_code: int, notes: list[tuple[str, str]]) -> None:
    report = publication.report
    ended = EndedLoad(
        report.run,
        report.began_at,
        round(time.time(), 3),
        exit_code,
        report.milestones,
        report.messages,
        report.rejects,
    )
    has_begun = publication.reads.info(BEGUN) is not None
    with publication.store.batch() as batch:
        batch.upsert(keyspace_info, keyspace_info.names, [*notes, (ENDED, ended.text())])
        if has_begun:
            batch.delete(keyspace_info, (BEGUN,))
