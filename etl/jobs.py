"""The named jobs: load files, rebuild a store from the lake, analyse it, compact the ledger state or the lake.

Rules of this file: a job holds the store's lease from its first write to its last and returns a Report; one Spark
session serves all of it; what fails raises, what is refused is counted. More than 350 lines, because the
jobs of both protocols share one way of holding lease, session and store.
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

from pyspark.sql import functions as F

from db.connect import StoreSettings, open_store
from db.intervals import Intervals, add, in_words, intersect, size, subtract
from db.schema.protocols import IOTA, WORMHOLE
from db.store import LeaseHeld, StoreMismatch, StoreUnavailable, WritableStore
from etl.analytics import catch_up as analyse
from etl.archive.archived_milestones import note_logged, sealed_by
from etl.engine.progress_monitor import watched
from etl.engine.session import VAA_WEIGHT, EtlSettings, Session, Span, span_of, span_of_analytics, spark_session
from etl.lake.delta import Lake, either, intervals_of, lake_root, literal_path
from etl.lake.ingest import Ingest, Ingested
from etl.ledger_state import compaction
from etl.ledger_state.advance import Ledger
from etl.report import SPARK_START, Notify, Progress, Report, quiet
from etl.sources.fields import MAX_MILESTONE_INDEX
from etl.sources.files import archive_files
from etl.store_reads import StoreReads
from etl.verification.audit import Proved, reprove
from etl.verification.chain import refuse_broken_links
from etl.verification.completeness_check import CHECKED_BY_LOADS, find_short, reopen
from etl.verification.decode import start_workers
from etl.verification.full_verification import promote
from etl.verification.resolve_inclusion import decide_states
from etl.wormhole.load import VaaLoad
from etl.wormhole.places import vaa_files
from etl.writers.choice import frame_writer, refuse_bulk
from etl.writers.frame_writer import Staging
from etl.writers.publish import Publication
from ledger.levels import FULL

KINDS = {"transactions": "transaction", "tagged_data": "indexation", "no_payload": "no payload"}
"""The lake's counts by payload, as a report calls them."""

LEASE_S = 60
RENEW_S = 15

REJECTS_SHOWN = 20
"""Rejects that a report spells out; the table has all of them."""

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
    prices: Path | None = None,
    bulk: bool = False,
    analytics: bool = True,
    notify: Notify = quiet,
) -> Report:
    """Loads the milestones of [first, last) that the files hold and the store does not; then the ledger state, where
    `genesis` or an earlier load's gave it a beginning. `bulk`: into a cluster as SSTables. It ends with
    `analytics`, of all that lags behind.

    First the store's newest milestones are counted; what is short, or was found incomplete before, is written again
    from the lake where that has it whole.

    Of a Wormhole network: VAAs and cells of the event tables, and `prices`, a file of what tokens were worth.

    Raises FileNotFoundError and ValueError for sources that are not there or a store that takes no SSTables,
    StoreMismatch, also for a store that holds what its lake does not, StoreUnavailable, LeaseHeld.
    """
    if store_settings.wormhole_network is not None:
        only_iota = {"range": first is not None or last is not None, "force": force, "genesis": genesis, "bulk": bulk}
        _refuse({name for name, given in only_iota.items() if given}, store_settings)
        return _load_vaas(store_settings, settings, sources, prices, notify)
    _refuse({"prices"} if prices else set(), store_settings)
    files, run = archive_files(sources) if sources or genesis is None else [], list[tuple[int, int]]()
    with (
        _run(store_settings, settings, notify, span_of(files), bulk=bulk) as (spark, lake, publication, report),
        ThreadPoolExecutor(1, thread_name_prefix="workers") as pool,
    ):
        if files:
            pool.submit(start_workers, spark)
        reads, chunk_size = publication.reads, store_settings.chunk_size
        refuse_older_lake(lake, reads)
        reopen(publication.store, reads, chunk_size, find_short(reads, chunk_size, CHECKED_BY_LOADS))
        ingest = Ingest(spark, lake, store_settings, reads)
        if genesis is not None:
            with report.timed("genesis"):
                ingest.genesis(genesis, publication.staging.folder("genesis"))
        if files:
            held = reads.held()
            with report.timed("decode"), watched(spark, "decode", notify):
                found = ingest.messages(
                    files,
                    first=first,
                    last=last,
                    complete=held.complete,
                    incomplete=held.incomplete,
                    force=force,
                )
            if found.believed:
                with report.timed("decide"):
                    decide_states(publication, found.believed, found.level)
            if found.links:
                with report.timed("chain"):
                    found = refuse_broken_links(publication, found)
            run = found.run
            analyse.forget(publication, run)
            with report.timed("tables"):
                _fill(ingest, found, publication, files, bulk=bulk)
            report.rejects = report.rows_by_table.get("rejects", 0)
            if report.rejects:
                report.rejected = _reject_lines(lake, found.run)
        with report.timed("ledger"):
            Ledger(publication, analytics=analytics).advance()
        if analytics:
            analyse.catch_up(publication)
        if settings.level == FULL:
            with report.timed("full"):
                promote(publication, run)
    return report


def _load_vaas(
    store_settings: StoreSettings, settings: EtlSettings, sources: Sources, prices: Path | None, notify: Notify
) -> Report:
    files = vaa_files(sources) if sources else []
    if prices is not None and not prices.is_file():
        raise FileNotFoundError(f"{prices}: no such file")
    span = span_of(files, VAA_WEIGHT)
    with _run(store_settings, settings, notify, span, protocol=WORMHOLE) as (_, _, publication, report):
        VaaLoad(publication).load(files, prices)
        if report.rejects:
            report.rejected = _reject_lines(publication.lake, [])
    return report


def _refuse(options: set[str], store_settings: StoreSettings) -> None:
    if options:
        given = ", ".join(sorted(f"--{each}" for each in options))
        raise ValueError(
            f"{given}: not of network {store_settings.network}, whose protocol is {store_settings.protocol}"
        )


def _fill(ingest: Ingest, found: Ingested, publication: Publication, files: Sequence[Path], *, bulk: bool) -> None:
    """Commits the milestones to the lake and fills the tables from it, side by side as far as they do not depend."""
    report, kept = publication.report, publication.reads.held().messages

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
        note_logged(publication.store, publication.reads, publication.store_settings.chunk_size, sealed_by(found.plan))
        if found.pending:
            publication.publish_pending()
    report.skipped, report.reopened = found.skipped, size(found.reopened)
    report.pending = found.pending


def rebuild(
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    bulk: bool = False,
    analytics: bool = True,
    notify: Notify = quiet,
) -> Report:
    """Fills a store from the lake alone, also one with another chunk_size; what it held is replaced. `bulk` as in
    `load`.
    """
    if store_settings.wormhole_network is not None:
        _refuse({"bulk"} if bulk else set(), store_settings)
        with _run(store_settings, settings, notify, protocol=WORMHOLE) as (_, _, publication, report):
            VaaLoad(publication).rebuild()
        return report
    with _run(store_settings, settings, notify, bulk=bulk) as (_, lake, publication, report):
        with report.timed("tables"):
            run = intervals_of(lake.read("milestones"))
            _count(lake, run, report)
            publication.republish(run)
        with report.timed("ledger"):
            Ledger(publication, analytics=analytics).advance()
        if analytics:
            analyse.catch_up(publication)
        if settings.level == FULL:
            with report.timed("full"):
                promote(publication, run)
        report.rejects = report.rows_by_table.get("rejects", 0)
    return report


def analytics(
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    first: int | None = None,
    last: int | None = None,
    only: str | None = None,
    notify: Notify = quiet,
) -> Report:
    """Makes the analytics of the complete milestones of [first, last), and of their days, once more from the lake; all,
    or those of one of etl.analytics.catch_up.STEPS.
    """
    with _run(store_settings, settings, notify, None) as (_, _, publication, report):
        wanted = [(first or 0, MAX_MILESTONE_INDEX if last is None else last - 1)]
        last_known = report.ledger_index = publication.reads.ledger_index()
        ledger = [] if last_known is None else intersect([(0, last_known)], wanted)
        analyse.analyse(publication, wanted, ledger=ledger, only=only)
    return report


def verify(
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    first: int | None = None,
    last: int | None = None,
    level: str | None = None,
    notify: Notify = quiet,
) -> tuple[str, list[Proved]]:
    """How far the milestones of [first, last) in the lake are proved, as etl.verification.audit.reprove has it."""
    with _run(store_settings, settings, notify) as (spark, _, publication, _):
        end = MAX_MILESTONE_INDEX if last is None else last - 1
        wanted = None if first is None and last is None else [(first or 0, end)]
        with watched(spark, "verify", notify):
            return reprove(publication, wanted, level)


def refuse_older_lake(lake: Lake, reads: StoreReads) -> None:
    """StoreMismatch when the store holds milestones or a ledger state that the lake lacks: one was restored alone."""
    stored = reads.held()
    held = add(stored.complete, stored.incomplete)
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
    """Where the lake of a store is: the setting, else lake/ inside a SQLite store. ValueError: neither, or a path that
    Spark takes for a pattern.
    """
    if settings.lake:
        return literal_path("lake", lake_root(settings.lake))
    scheme, _, path = store_settings.url.partition("://")
    if scheme != "sqlite":
        raise ValueError(f"lake: a directory that the executors share, as {scheme} stores have none of their own")
    return literal_path("store", lake_root(Path(path.removeprefix("/")).expanduser() / "lake"))


@contextmanager
def _run(
    store_settings: StoreSettings,
    settings: EtlSettings,
    notify: Notify,
    span: Span | None = Span.MINUTES,
    *,
    bulk: bool = False,
    protocol: str = IOTA,
) -> Iterator[tuple[Session, Lake, Publication, Report]]:
    """`span` None: that of making the analytics of all that the store holds."""
    if store_settings.protocol != protocol:
        raise ValueError(f"network {store_settings.network} is of protocol {store_settings.protocol}, not {protocol}")
    if bulk:
        refuse_bulk(store_settings)
    report = Report(run=uuid.uuid4().hex[:12])
    root = lake_path(store_settings, settings)
    # A folder of our own, as it is removed whole: never the one that the setting names.
    below = Path(literal_path("staging", settings.staging)) / "permanode" if settings.staging else Path(root).parent
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(store_settings, writable=True)))
        check = stack.enter_context(_lease(store, report.run))
        reads = stack.enter_context(closing(StoreReads(store, store_settings.network)))
        notify(Progress("spark", 0, None, "starting"))
        with report.timed(SPARK_START):
            span = span or span_of_analytics(reads.held().messages)
            spark = stack.enter_context(spark_session(settings, span=span, cluster=bool(store.nodes())))
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
        )
        .first()
    )
    assert counts is not None
    report.milestones, report.complete, report.messages, *kinds = counts
    rest = {"milestone": report.messages - sum(kinds)}
    report.messages_by_kind = dict(zip(KINDS.values(), kinds, strict=True)) | rest
