"""The named jobs: load files, rebuild a store from the lake, compact the ledger state or the lake.

Rules of this file: a job holds the store's lease from its first write to its last and returns a Report; one Spark
session serves all of it; what fails raises, what is refused is counted.
"""

import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from db.connect import StoreSettings, open_store
from db.intervals import Intervals, add, in_words, size, subtract
from db.store import LeaseHeld, StoreMismatch, StoreUnavailable, WritableStore
from etl import compaction
from etl.ingest import Ingest, Ingested
from etl.jars import CONNECTOR
from etl.lake import Lake, either, intervals_of, lake_root
from etl.ledger import Ledger
from etl.publish import Publication
from etl.recheck import CHECKED_BY_LOADS, find_short, reopen
from etl.report import Notify, Progress, Report, quiet
from etl.session import EtlSettings, Span, spark_session
from etl.sources.files import archive_files
from etl.store_reads import StoreReads
from etl.watch import watched
from etl.writer import Staging
from etl.writers import frame_writer, refuse_bulk
from ledger.ids import network_id
from ledger.networks import find_network

KINDS = {"transactions": "transaction", "tagged_data": "indexation", "no_payload": "no payload"}
"""The lake's counts by payload, as a report calls them."""

LEASE_S = 60
RENEW_S = 15

REJECTS_SHOWN = 20
"""Rejects that a report spells out; the table has all of them."""

SECONDS_BYTES, MINUTE_BYTES = 64 << 20, 512 << 20
"""Files below these sizes in all make a run of seconds, of about a minute."""

Sources: TypeAlias = list[Path]


def load(
    store_settings: StoreSettings,
    settings: EtlSettings,
    sources: Sources,
    *,
    first: int | None = None,
    last: int | None = None,
    force: bool = False,
    genesis: Path | None = None,
    bulk: bool = False,
    notify: Notify = quiet,
) -> Report:
    """Loads the milestones of [first, last) that the files hold and the store does not; then the ledger state, where
    `genesis` or an earlier load's gave it a beginning. `bulk`: into a cluster as SSTables.

    First the store's newest milestones are counted; what is short, or was found incomplete before, is written again
    from the lake where that has it whole.

    Raises FileNotFoundError and ValueError for sources that are not there or a store that takes no SSTables,
    StoreMismatch, also for a store that holds what its lake does not, StoreUnavailable, LeaseHeld.
    """
    files = archive_files(sources) if sources or genesis is None else []
    size = sum(path.stat().st_size for path in files)
    span = Span.SECONDS if size < SECONDS_BYTES else Span.MINUTE if size < MINUTE_BYTES else Span.MINUTES
    with _run(store_settings, settings, notify, span, bulk=bulk) as (spark, lake, publication, report):
        reads, chunk_size = publication.reads, store_settings.chunk_size
        refuse_older_lake(lake, reads)
        reopen(publication.store, reads, chunk_size, find_short(reads, chunk_size, CHECKED_BY_LOADS))
        ingest = Ingest(spark, lake, network_id(find_network(store_settings.network).id_name))
        if genesis is not None:
            with report.timed("genesis"):
                ingest.genesis(genesis, publication.staging.folder("genesis"))
        if files:
            with report.timed("decode"), watched(spark.sparkContext, "decode", notify):
                found = ingest.messages(
                    files,
                    first=first,
                    last=last,
                    complete=reads.complete(),
                    incomplete=reads.incomplete(),
                    force=force,
                )
            with report.timed("tables"):
                _fill(ingest, found, publication, files, bulk=bulk)
            report.rejects = report.rows_by_table.get("rejects", 0)
            if report.rejects:
                report.rejected = _reject_lines(lake, found.run)
        with report.timed("ledger"):
            Ledger(publication).advance()
    return report


def _fill(ingest: Ingest, found: Ingested, publication: Publication, files: Sequence[Path], *, bulk: bool) -> None:
    """Commits the milestones to the lake and fills the tables from it, side by side as far as they do not depend."""
    report, kept = publication.report, publication.reads.message_count()

    def commit() -> None:
        ingest.commit(found)
        _count(publication.lake, found.run, report)

    with ThreadPoolExecutor(3, thread_name_prefix="beside") as pool:
        committing = pool.submit(commit)
        opening = pool.submit(publication.open_splits, found.run)
        noting = pool.submit(ingest.note_sources, found)
        if kept:
            committing.result()
        much = bulk or report.messages >= publication.settings.bulk_share * kept
        publication.publish(found.run, files, opening, committing, bulk=bool(found.run) and much)
        noting.result()
        if found.pending:
            publication.publish_pending()
    report.skipped, report.reopened = found.skipped, size(found.reopened)
    report.pending = found.pending


def rebuild(
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    bulk: bool = False,
    notify: Notify = quiet,
) -> Report:
    """Fills a store from the lake alone, also one with another chunk_size; what it held is replaced. `bulk` as in
    `load`.
    """
    with _run(store_settings, settings, notify, bulk=bulk) as (_, lake, publication, report):
        with report.timed("tables"):
            run = intervals_of(lake.read("milestones"))
            _count(lake, run, report)
            publication.republish(run)
        with report.timed("ledger"):
            Ledger(publication).advance()
        report.rejects = report.rows_by_table.get("rejects", 0)
    return report


def refuse_older_lake(lake: Lake, reads: StoreReads) -> None:
    """StoreMismatch when the store holds milestones or a ledger state that the lake lacks: one was restored alone."""
    held = add(reads.complete(), reads.incomplete())
    lacking = subtract(held, lake.held(held))
    if lacking or (reads.ledger_index() is not None and not lake.has("genesis")):
        what = f"milestones {in_words(lacking)}" if lacking else "a ledger state"
        raise StoreMismatch(
            f"the store holds {what}, its lake at {lake.root} does not: that is older, or another store's. Bring back "
            "the right one, or fill the store from this one by `permanode rebuild` and load what it lacks"
        )


def compact(store_settings: StoreSettings, settings: EtlSettings, *, notify: Notify = quiet) -> int:
    """Deletes from unspent_outputs what was spent more than `ledger_margin` milestones ago; how many rows."""
    with _run(store_settings, settings, notify) as (_, _, publication, _):
        return compaction.compact(publication)


def compact_lake(settings: EtlSettings, *, lake: str, retain_hours: int = 168) -> dict[str, int]:
    """Joins the lake's small files and drops old snapshots; files by table after."""
    with spark_session(settings) as spark:
        return Lake(spark, lake_root(lake)).compact(retain_hours)


def lake_path(store_settings: StoreSettings, settings: EtlSettings) -> str:
    """Where the lake of a store is: the setting, else lake/ inside a SQLite store. ValueError: neither."""
    if settings.lake:
        return lake_root(settings.lake)
    scheme, _, path = store_settings.url.partition("://")
    if scheme != "sqlite":
        raise ValueError(f"lake: a directory that the executors share, as {scheme} stores have none of their own")
    return lake_root(Path(path.removeprefix("/")).expanduser() / "lake")


@contextmanager
def _run(
    store_settings: StoreSettings,
    settings: EtlSettings,
    notify: Notify,
    span: Span = Span.MINUTES,
    *,
    bulk: bool = False,
) -> Iterator[tuple[SparkSession, Lake, Publication, Report]]:
    if bulk:
        refuse_bulk(store_settings)
    report = Report(run=uuid.uuid4().hex[:12])
    root = lake_path(store_settings, settings)
    # A folder of our own, as it is removed whole: never the one that the setting names.
    below = Path(settings.staging) / "permanode" if settings.staging else Path(root).parent
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(store_settings, writable=True)))
        check = stack.enter_context(_lease(store, report.run))
        notify(Progress("spark", 0, None, "starting"))
        beside = CONNECTOR if store.nodes() else ()
        with report.timed("spark_start"):
            spark = stack.enter_context(spark_session(settings, span=span, beside=beside))
        reads = stack.enter_context(closing(StoreReads(store, store_settings.network)))
        staging = stack.enter_context(closing(Staging(below / "staging")))
        lake = Lake(spark, root)
        writer = frame_writer(spark, store, staging, store_settings, settings, bulk=bulk)
        publication = Publication(spark, lake, store, reads, staging, writer, store_settings, settings, report, notify)
        yield spark, lake, publication, report
        check()
        # A machine's first JVM writes its class archive now, which takes a while.
        notify(Progress("spark", 1, 1, "ending"))


@contextmanager
def _lease(store: WritableStore, run: str) -> Iterator[Callable[[], None]]:
    """The store's lease, renewed while the block runs; the value raises LeaseHeld once it was lost."""
    lease = store.acquire(f"{socket.gethostname()}:{os.getpid()}", run, LEASE_S)
    done = threading.Event()
    lost: list[LeaseHeld] = []

    def renew() -> None:
        nonlocal lease
        while not done.wait(RENEW_S):
            try:
                lease = store.renew(lease, LEASE_S)
            except StoreUnavailable:
                # The cluster is away, for every other run too; who writes then waits for it.
                continue
            except LeaseHeld as error:
                lost.append(error)
                return

    def check() -> None:
        if lost:
            raise lost[0]

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield check
    finally:
        done.set()
        thread.join()
        # On a cluster that is away it ends by itself.
        with suppress(StoreUnavailable):
            store.release(lease)


def _reject_lines(lake: Lake, run: Intervals) -> list[str]:
    """The first REJECTS_SHOWN rejects of a run in words."""
    shown = lake.read("rejects").where(f"{either(run)} OR milestone_index < 0").orderBy("file", "line", "item")
    text = F.concat_ws(": ", F.concat_ws(":", "file", "line"), F.when(F.col("item") != "", F.col("item")), "reason")
    row = shown.limit(REJECTS_SHOWN).agg(F.collect_list(text)).first()
    return list(row[0]) if row else []


def _count(lake: Lake, run: Intervals, report: Report) -> None:
    """The report's totals, from the lake's own counts: one row for the driver."""
    if not run:
        return
    counts = (
        lake.milestones(run)
        .agg(
            F.count("*"),
            F.count("verified"),
            *(F.coalesce(F.sum(name), F.lit(0)) for name in ("message_count", *KINDS)),
            F.count("milestone_id"),
        )
        .first()
    )
    assert counts is not None
    report.milestones, report.complete, report.messages, *kinds, milestones = counts
    report.messages_by_kind = dict(zip(KINDS.values(), kinds, strict=True)) | {"milestone": milestones}
