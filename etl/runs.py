"""Runs pipelines: holds the store's lease, the Spark session and the lake from the first write to the last.

`load` and `rebuild` run the steps of etl/jobs.py. The other functions run one part again. All but `verify`, `compact`
and `compact_lake` return a Report. A failure raises an exception; a rejected line is counted.
"""

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from db.admin.status import ENGINE
from db.connect import StoreSettings, checked_url, open_store
from db.intervals import Intervals, add, intersect, subtract
from db.intervals import size as size_of
from db.intervals import span as interval_of
from db.schema import keyspace_info, protocols, rejects
from db.store import WritableStore
from etl.analytics import catch_up as analyse
from etl.engine.choice import bytes_loaded, choose_engine
from etl.engine.current import AUTO, run_scratch
from etl.engine.progress_monitor import watched
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.engine.spans import VAA_WEIGHT, Span, span_of, span_of_analytics
from etl.iota_steps import IotaRun
from etl.jobs import IOTA, IOTA_REBUILD, IOTA_REPAIR, WORMHOLE, WORMHOLE_REBUILD
from etl.lake import maintenance
from etl.lake.delta import Lake
from etl.lake.network import check_network, record_network
from etl.lake.paths import lake_of, lake_root, staging_of
from etl.lake.rejects import Wanted, list_rejects, remove_rejects
from etl.ledger_state import compaction
from etl.load_notes import note_rejects, noted
from etl.pipeline import run_steps
from etl.reduction import reduce_lake
from etl.report import ENGINE_START, Notify, Progress, Report, Stored, quiet
from etl.run_lease import AT_HEAD, held_lease
from etl.sources.fields import MAX_MILESTONE_INDEX
from etl.sources.files import archive_files, unpacked_bytes
from etl.static_archive.archived_log import ArchivedLog
from etl.store_reads import StoreReads
from etl.verification.audit import Audit, audit
from etl.verification.decode import start_workers
from etl.wormhole.decode import start_workers as start_vaa_workers
from etl.wormhole.places import vaa_files
from etl.wormhole.steps import WormholeRun
from etl.writers.choice import frame_writer, reject_bulk
from etl.writers.publish import Publication
from etl.writers.staging import Staging


def load(
    store_settings: StoreSettings,
    settings: EtlSettings,
    sources: list[Path],
    *,
    first: int | None = None,
    last: int | None = None,
    force: bool = False,
    genesis: Path | None = None,
    default_genesis: Path | None = None,
    logs: Sequence[ArchivedLog] = (),
    keep: Sequence[str] = (),
    prices: Path | None = None,
    tokens: Path | None = None,
    bulk: bool = False,
    analytics: bool = True,
    notify: Notify = quiet,
) -> Report:
    """Loads files into a store, with the steps of etl.jobs.IOTA or etl.jobs.WORMHOLE.

    Args:
        store_settings: the store.
        settings: the lake, the session and sizes.
        sources: archive files, or folders of them.
        first: the first milestone to load. Default: the first one in the files.
        last: the milestone after the last one to load. Default: all in the files.
        force: load complete milestones again.
        genesis: file with the ledger's beginning. Without it, or an earlier load's, there is no ledger state.
        default_genesis: the same; ignored if `genesis` is given or the lake has a genesis already.
        logs: signed logs that the milestones must agree with.
        keep: filters of a selective store (ledger/selection.py), which are added to those that it has.
        prices: CSV file of token prices, for a Wormhole network.
        tokens: CSV file with a list of tokens, for a Wormhole network.
        bulk: write SSTables and stream them to a Cassandra cluster.
        analytics: end with the analytics of all milestones and days that have none.
        notify: receives the progress.

    Raises:
        FileNotFoundError: a source does not exist.
        ValueError: an option does not fit the network's protocol, or the store does not take SSTables.
        StoreMismatch: store or lake is of another network, or the store contains what the lake does not.
        StoreUnavailable: the store cannot be reached.
        LeaseHeld: another run writes to the store.
    """
    if store_settings.wormhole_network is not None:
        only_iota = {"range": (first, last) != (None, None), "force": force, "genesis": genesis, "bulk": bulk}
        _reject_options({name for name, given in only_iota.items() if given}, store_settings)
        return _load_vaas(store_settings, settings, sources, prices, tokens, keep, notify)
    _reject_options({name for name, given in (("prices", prices), ("tokens", tokens)) if given}, store_settings)
    files = archive_files(sources) if sources or genesis is None else []
    size = unpacked_bytes(files) if files else bytes_loaded(lake_path(store_settings, settings))
    with (
        open_run(store_settings, settings, notify, span_of(size), bulk=bulk, size=size) as publication,
        ThreadPoolExecutor(1, thread_name_prefix="workers") as pool,
        noted(publication),
    ):
        if files:
            pool.submit(start_workers, publication.lake, size)
        genesis = genesis or (None if publication.lake.has("genesis") else default_genesis)
        run = IotaRun(publication, files, first, last, force, genesis, tuple(logs), bulk, analytics, keep=keep)
        run_steps(IOTA, run)
        publication.report.stored = _stored(publication.reads)
        if (first, last) != (None, None):
            held = publication.reads.held()
            stored = add(held.complete, held.incomplete)
            publication.report.missing = subtract(interval_of(stored, first, last), stored)
    return publication.report


def rebuild(
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    milestones: Intervals | None = None,
    bulk: bool = False,
    analytics: bool = True,
    notify: Notify = quiet,
) -> Report:
    """Replaces the content of a store by that of its lake. The store may have another chunk_size than before.

    `milestones`: writes only these again, and all rows that cannot be read. Takes the options of `load` and raises the
    same exceptions, and StoreDamaged if rows are still missing.
    """
    if store_settings.wormhole_network is not None:
        given = {"bulk": bulk, "range": milestones is not None}
        _reject_options({name for name, is_given in given.items() if is_given}, store_settings)
        with open_run(store_settings, settings, notify, protocol=protocols.WORMHOLE) as publication, noted(publication):
            run_steps(WORMHOLE_REBUILD, WormholeRun(publication))
        return publication.report
    with open_run(store_settings, settings, notify, bulk=bulk) as publication, noted(publication):
        steps = IOTA_REBUILD if milestones is None else IOTA_REPAIR
        run_steps(steps, IotaRun(publication, bulk=bulk, analytics=analytics, wanted=milestones or []))
        publication.report.stored = _stored(publication.reads)
    return publication.report


def reduce(
    store_settings: StoreSettings, settings: EtlSettings, keep: Sequence[str], *, notify: Notify = quiet
) -> Report:
    """Reduces a store with all messages, and its lake, to those that the filters select. Raises what `rebuild` raises,
    and ValueError if some milestones are not `signed`; then nothing was changed.
    """
    if store_settings.wormhole_network is not None:
        _reject_options({"keep"}, store_settings)
    with open_run(store_settings, settings, notify) as publication, noted(publication):
        with publication.report.timed("purge"):
            reduce_lake(publication, keep)
        run_steps(IOTA_REBUILD, IotaRun(publication, analytics=False))
        publication.report.stored = _stored(publication.reads)
    return publication.report


def _stored(reads: StoreReads) -> Stored:
    held = reads.held()
    return Stored(size_of(held.complete), size_of(held.incomplete), reads.missing())


def analytics(
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    first: int | None = None,
    last: int | None = None,
    only: str | None = None,
    notify: Notify = quiet,
) -> Report:
    """Computes the analytics of the complete milestones of [first, last), and of their days, again from the lake.

    `only`: one step of etl.analytics.catch_up.STEPS. Default: all steps. A selective store has no analytics: nothing is
    computed. Raises ValueError for a range without complete milestones.
    """
    with open_run(store_settings, settings, notify, None) as publication:
        if publication.lake.has("selection"):
            return publication.report
        wanted = [(first or 0, MAX_MILESTONE_INDEX if last is None else last - 1)]
        if (first, last) != (None, None) and not intersect(publication.reads.complete(), wanted):
            raise ValueError("RANGE: the store contains none of these milestones")
        last_known = publication.report.ledger_index = publication.reads.ledger_index()
        ledger = [] if last_known is None else intersect([(0, last_known)], wanted)
        analyse.analyse(publication, wanted, ledger=ledger, only=only)
    return publication.report


def verify(
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    first: int | None = None,
    last: int | None = None,
    level: str | None = None,
    notify: Notify = quiet,
) -> Audit:
    """Verifies milestones of the lake again: etl.verification.audit.audit, with its arguments and errors."""
    with open_run(store_settings, settings, notify) as publication, watched(publication.spark, "verify", notify):
        return audit(publication, first, last, level)


def compact(store_settings: StoreSettings, settings: EtlSettings, *, notify: Notify = quiet) -> int:
    """Deletes outputs from unspent_outputs that were spent more than `ledger_margin` milestones ago.

    Returns the number of deleted rows.
    """
    with open_run(store_settings, settings, notify) as publication:
        return compaction.compact(publication)


def compact_lake(lake: str, *, retain_hours: int = maintenance.RETAIN_HOURS, notify: Notify = quiet) -> dict[str, int]:
    """Merges the lake's small files and deletes old versions. Returns the number of files by table."""
    return maintenance.compact(lake_root(lake), retain_hours, notify)


def clear_rejects(store_settings: StoreSettings, settings: EtlSettings, wanted: Wanted) -> int:
    """Removes rejects from store and lake, and returns their number. Milestones that are incomplete stay so.

    Raises LeaseHeld if another run writes to the store.
    """
    root, run = lake_path(store_settings, settings), uuid.uuid4().hex[:12]
    with closing(open_store(store_settings, writable=True)) as store, held_lease(store, run):
        found = list_rejects(root, wanted)
        # The lake last: if this run is killed, the next one finds the same rejects.
        with store.batch() as batch:
            for each in found:
                batch.delete(rejects, tuple(each[name] for name in rejects.key))
        if found:
            remove_rejects(root, wanted, run)
            note_rejects(store, root)
    return len(found)


def lake_path(store_settings: StoreSettings, settings: EtlSettings) -> str:
    """Returns the path of the network's lake. Raises what `lake_of` raises, StoreError for an invalid store URL, and
    StoreMismatch if the lake belongs to another network.
    """
    root = lake_of(settings.lake, store_settings.network, checked_url(store_settings.url))
    check_network(root, store_settings.known_network(), is_wormhole=store_settings.wormhole_network is not None)
    return root


def engine_of(
    store_settings: StoreSettings, settings: EtlSettings, *, bulk: bool = False, size: int | None = None
) -> str:
    """Returns the engine of a run. For its arguments and errors see `open_run`."""
    if size is None and settings.engine == AUTO:
        size = bytes_loaded(lake_path(store_settings, settings))
    return choose_engine(settings, size=size or 0, spark_only="--bulk" if bulk else "")


@contextmanager
def open_run(
    store_settings: StoreSettings,
    settings: EtlSettings,
    notify: Notify,
    span: Span | None = Span.MINUTES,
    *,
    bulk: bool = False,
    protocol: str = protocols.IOTA,
    size: int | None = None,
    at_head: bool = False,
) -> Iterator[Publication]:
    """Opens the store, takes its lease, starts a session and opens the lake; closes all of them at the end.

    `span`: how long the run takes. None: as long as the analytics of all messages in the store. `size`: bytes of the
    input, which decide on the engine and its sorts. Default: by those of the lake. `at_head`: a run of a follower.
    """
    if store_settings.protocol != protocol:
        raise ValueError(f"network {store_settings.network} is of protocol {store_settings.protocol}, not {protocol}")
    if bulk:
        reject_bulk(store_settings)
    settings = replace(settings, engine=engine_of(store_settings, settings, bulk=bulk, size=size))
    root, network = lake_path(store_settings, settings), store_settings.known_network().name
    run = (AT_HEAD if at_head else "") + uuid.uuid4().hex[:12]
    report = Report(run=run, engine=settings.engine)
    scratch = staging_of(settings.staging, store_settings.network, root)
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(store_settings, writable=True)))
        check = stack.enter_context(held_lease(store, run))
        record_network(root, network)
        reads = stack.enter_context(closing(StoreReads(store, store_settings.network)))
        notify(Progress(settings.engine, 0, None, "starting"))
        with report.timed(ENGINE_START):
            span = span or span_of_analytics(reads.held().messages)
            spark = stack.enter_context(
                engine_session(
                    settings, span=span, cluster=bool(store.nodes()), folders=[Path(root), scratch, scratch.parent]
                )
            )
        _note_engine(store, reads, settings.engine)
        notify(Progress(settings.engine, 1, 1, "started"))
        stack.enter_context(run_scratch())
        sorted_bytes = bytes_loaded(root) if size is None else size
        staging = stack.enter_context(closing(Staging(scratch, sorted_bytes)))
        lake = Lake(spark, root, run, network)
        writer = frame_writer(spark, store, staging, store_settings, settings, bulk=bulk)
        yield Publication(spark, lake, store, reads, staging, writer, store_settings, settings, report, notify)
        check()
        # A machine's first JVM writes its class archive now, which takes seconds.
        notify(Progress("end", 0, None, f"stopping {settings.engine}"))


def _note_engine(store: WritableStore, reads: StoreReads, engine: str) -> None:
    """Stores the engine of the newest run for `permanode status`."""
    if reads.info(ENGINE) != engine:
        with store.batch() as batch:
            batch.upsert(keyspace_info, keyspace_info.names, [(ENGINE, engine)])


def _load_vaas(
    store_settings: StoreSettings,
    settings: EtlSettings,
    sources: list[Path],
    prices: Path | None,
    tokens: Path | None,
    keep: Sequence[str],
    notify: Notify,
) -> Report:
    files = vaa_files(sources) if sources else []
    for each in (prices, tokens):
        if each is not None and not each.is_file():
            raise FileNotFoundError(f"{each}: no such file")
    size = unpacked_bytes(files)
    span = span_of(size, VAA_WEIGHT)
    with (
        open_run(store_settings, settings, notify, span, protocol=protocols.WORMHOLE, size=size) as publication,
        noted(publication),
    ):
        start_vaa_workers(publication.spark, size)
        run_steps(WORMHOLE, WormholeRun(publication, files, prices, tokens, keep))
    return publication.report


def _reject_options(options: set[str], store_settings: StoreSettings) -> None:
    if options:
        given = ", ".join(sorted(f"--{each}" for each in options)) + (" applies" if len(options) == 1 else " apply")
        is_iota = store_settings.protocol == protocols.IOTA
        wanted, found = ("Wormhole", "an IOTA") if is_iota else ("IOTA", "a Wormhole")
        raise ValueError(f"{given} to {wanted} networks; {store_settings.network} is {found} network")
