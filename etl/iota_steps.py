"""The steps of the IOTA pipeline: files → lake → tables → ledger state → listings and analytics → log.

Each function takes an IotaRun and returns the IotaRun for the next step. A step without work returns its argument.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from db.connect import GENESIS_PARAMETERS
from db.coverage import Coverage
from db.intervals import Intervals, add, in_words, subtract
from db.schema import keyspace_info
from db.store import StoreMismatch, Unreadable
from etl.analytics import catch_up as analyse
from etl.analytics.with_ledger import LedgerAnalytics
from etl.completeness.advance import ListingTrees, message_leaves
from etl.completeness.message_leaves import MessageLeaves
from etl.expectations.comparison import Expectation
from etl.filling import fill
from etl.kept_proofs import restore_proofs
from etl.lake.coverage import reject_unfinished_purge
from etl.lake.delta import Lake, intervals_of
from etl.lake.summary import count_messages, reject_lines
from etl.ledger_state.advance import Ledger
from etl.ledger_state.changes import Found
from etl.selective import advance_selected, choose, extend, note_late
from etl.sources.fields import MAX_MILESTONE_INDEX
from etl.sources.limits import Limits
from etl.static_archive.archived_log import ArchivedLog
from etl.store_reads import StoreReads
from etl.transparency.history import LoggedMilestones
from etl.transparency.steps import append_log, check_log, fork_check
from etl.verification.chain import reject_broken_links
from etl.verification.completeness_check import CHECKED_BY_LOADS, find_short, reopen
from etl.verification.decode import WholeCheck
from etl.verification.expect import expect_lake, expect_ledger
from etl.verification.full_verification import promote
from etl.verification.ingest import Ingest, Ingested
from etl.verification.resolve_inclusion import decide_states
from etl.writers.publish import Publication
from etl.writers.rewrite import check_rewritten, rewrite, rewrite_all
from ledger.levels import FULL
from ledger.selection import Selection


@dataclass(frozen=True)
class IotaRun:
    """The options of one run, and what its steps have found so far.

    Attributes:
        publication: the store, the lake and the session of the run.
        files: archive files to load. Empty: only `genesis`, or a rebuild.
        first: the first milestone to load.
        last: the milestone after the last one to load.
        force: load complete milestones again.
        genesis: file with the ledger's beginning.
        logs: signed logs that the files must agree with.
        bulk: write a generation as SSTables.
        analytics: end with the analytics.
        days: compute the analytics of days, too. False: a later run does.
        keep: filters to add, as text (ledger/selection.py).
        coverage: what a selective store keeps. None: all messages. Set by `choose_messages`.
        found: what the files contain. Set by `decode`, changed by `compare_links`.
        milestones: the milestones whose rows were written. Set by the steps that fill tables.
        wanted: milestones to write again.
        lost: rows that could not be read before. Set by `rewrite_tables`.
        expectation: what those rows are. Set by the steps that fill tables.
        changes: the changes of the ledger since genesis, if `advance_ledger` read them.
        leaves: of the listings of messages. Set by `advance_ledger` if there is a ledger state.
    """

    publication: Publication
    files: list[Path] = field(default_factory=list)
    first: int | None = None
    last: int | None = None
    force: bool = False
    genesis: Path | None = None
    logs: tuple[ArchivedLog, ...] = ()
    bulk: bool = False
    analytics: bool = True
    days: bool = True
    keep: Sequence[str] = ()
    coverage: Coverage | None = None
    found: Ingested | None = None
    milestones: Intervals = field(default_factory=list)
    wanted: Intervals = field(default_factory=list)
    lost: list[Unreadable] = field(default_factory=list)
    expectation: Expectation = field(default_factory=Expectation)
    changes: Found | None = None
    leaves: MessageLeaves | None = None

    @property
    def ingest(self) -> Ingest:
        """The writer of files into the run's lake."""
        of = self.publication
        return Ingest(of.spark, of.lake, of.store_settings, of.reads, of.staging.folder, of.notify)


def check_store(run: IotaRun) -> IotaRun:
    """Rejects a lake older than the store, and one with an unfinished purge. Counts the store's newest milestones and
    reopens those with missing rows.
    """
    store, reads = run.publication.store, run.publication.reads
    chunk_size = run.publication.store_settings.chunk_size
    reject_unfinished_purge(run.publication.lake)
    if run.force and run.files:
        # What this run replaces may be damaged. `decode` compares it with the milestones that the files have.
        run.publication.lake.set_aside([(run.first or 0, (run.last or MAX_MILESTONE_INDEX + 1) - 1)], ("milestones",))
    reject_older_lake(run.publication.lake, reads)
    check_log(run.publication)
    reopen(store, reads, chunk_size, find_short(reads, chunk_size, CHECKED_BY_LOADS))
    return run


def put_genesis(run: IotaRun) -> IotaRun:
    """Writes the outputs and the coordinator's keys of the genesis file into the lake, and the protocol parameters into
    the store.
    """
    if run.genesis is not None:
        publication = run.publication
        with publication.report.timed("genesis"):
            parameters = run.ingest.genesis(run.genesis, publication.staging.folder("genesis"))
            if parameters is not None:
                with publication.store.batch() as batch:
                    row = (GENESIS_PARAMETERS, parameters.hex())
                    batch.upsert(keyspace_info, keyspace_info.names, [row])
    return run


def choose_messages(run: IotaRun) -> IotaRun:
    """Adds the filters of the run to those of a selective lake. They are in lake and store before any message."""
    coverage = choose(run.publication, run.keep)
    if coverage is not None and run.logs:
        raise ValueError("--log-key compares all messages of a milestone with a log, but a selective store keeps some")
    if coverage is None:
        return run
    publication = replace(run.publication, selection=Selection(frozenset(coverage)))
    return replace(run, publication=publication, coverage=coverage)


def _check_of(run: IotaRun) -> WholeCheck:
    """What compares decoded milestones with logs."""
    return fork_check(run.publication, [LoggedMilestones(each.head, each.bundle) for each in run.logs])


def decode(run: IotaRun) -> IotaRun:
    """Reads the files, verifies their messages and writes those into the lake."""
    if not run.files:
        return run
    publication = run.publication
    held = publication.reads.held()
    with publication.report.timed("decode"):
        found = run.ingest.messages(
            run.files,
            first=run.first,
            last=run.last,
            complete=held.complete,
            incomplete=held.incomplete,
            force=run.force,
            limits=Limits.of(publication.settings),
            check=_check_of(run),
            coverage=run.coverage,
        )
    if run.coverage is not None and found.coverage is not None:
        note_late(publication, run.coverage, found.coverage)
        return replace(run, found=found, coverage=found.coverage)
    return replace(run, found=found)


def resolve_inclusion(run: IotaRun) -> IotaRun:
    """Proves the inclusion states that no source contains and only the Merkle root can prove."""
    found = run.found
    if found is not None and found.believed:
        with run.publication.report.timed("decide"):
            changed = decide_states(run.publication, found.believed, found.level)
        return replace(run, found=replace(found, changed=add(found.changed, changed)))
    return run


def compare_links(run: IotaRun) -> IotaRun:
    """Rejects Stardust milestones that do not name the milestone before them."""
    found = run.found
    if found is not None and found.links:
        with run.publication.report.timed("chain"):
            return replace(run, found=reject_broken_links(run.publication, found))
    return run


def fill_tables(run: IotaRun) -> IotaRun:
    """Commits the milestones to the lake and writes their rows to the store, in parallel where the order allows it."""
    found, publication = run.found, run.publication
    if found is None:
        return run
    analyse.forget(publication, found.run)
    with publication.report.timed("tables"):
        expectation = fill(run.ingest, found, publication, bulk=run.bulk)
    return replace(run, milestones=found.run, expectation=expectation)


def note_coverage(run: IotaRun) -> IotaRun:
    """Notes which milestones the filters of a selective store cover now."""
    if run.coverage is not None:
        decoded = [] if run.found is None else run.found.decoded
        return replace(run, coverage=extend(run.publication, run.coverage, decoded))
    return run


def reject_fork(run: IotaRun) -> IotaRun:
    """Rejects a lake whose milestones differ from the transparency log. A selective lake has other counts."""
    if run.coverage is None:
        check_log(run.publication, whole=True)
    return run


def refill_tables(run: IotaRun) -> IotaRun:
    """Replaces all rows of the store by those of the lake's milestones."""
    publication = run.publication
    with publication.report.timed("tables"):
        publication.lake.check()
        milestones = intervals_of(publication.lake.read("milestones"))
        count_messages(publication.lake, milestones, publication.report)
        expected = cache(lambda: expect_lake(publication, milestones))
        rewrite_all(publication, milestones, expected)
    return replace(run, milestones=milestones, expectation=expected())


def rewrite_tables(run: IotaRun) -> IotaRun:
    """Writes the rows of `wanted` again from the lake, with all rows that cannot be read."""
    publication = run.publication
    with publication.report.timed("tables"):
        expected = cache(lambda intervals: expect_lake(publication, list(intervals)))
        milestones, lost = rewrite(publication, run.wanted, lambda milestones: expected(tuple(milestones)))
        count_messages(publication.lake, milestones, publication.report)
    return replace(run, milestones=milestones, lost=lost, expectation=expected(tuple(milestones)))


def check_tables(run: IotaRun) -> IotaRun:
    """Fails if rows are still missing."""
    check_rewritten(run.publication, run.lost)
    return run


def report_rejects(run: IotaRun) -> IotaRun:
    """Counts the rejects that were written, and reports the first ones of the files."""
    report = run.publication.report
    report.rejects = report.rows_by_table.get("rejects", 0)
    if report.rejects and run.files:
        report.rejected = reject_lines(run.publication.lake, run.milestones)
    return run


def advance_ledger(run: IotaRun) -> IotaRun:
    """Applies complete milestones to the ledger state, in order and without gaps. That of a selective store consists
    of the outputs of its addresses. Meanwhile hashes the listings of messages, which do not depend on it.
    """
    if run.coverage is not None:
        with run.publication.report.timed("ledger"):
            advance_selected(run.publication, run.coverage)
        return run
    with ThreadPoolExecutor(1, thread_name_prefix="listings") as pool:
        hashing = pool.submit(_hash_messages, run)
        with run.publication.report.timed("ledger"):
            expected = partial(expect_ledger, run.publication, run.expectation)
            ledger = Ledger(run.publication, LedgerAnalytics(run.publication) if run.analytics else None, expected)
            changes = ledger.advance()
        return replace(run, changes=changes, leaves=hashing.result())


def _hash_messages(run: IotaRun) -> MessageLeaves | None:
    leaves = message_leaves(run.publication)
    if leaves is not None:
        with run.publication.report.timed("listings"):
            leaves.write()
    return leaves


def prove_and_analyse(run: IotaRun) -> IotaRun:
    """Hashes the milestones of the ledger state, and the listings of the intervals that they complete. Meanwhile
    computes the analytics of all milestones and days that have none: hashing uses one core.

    A selective store has neither, because it does not have the rows of other keys.
    """
    if run.coverage is not None:
        return run
    with ThreadPoolExecutor(1, thread_name_prefix="listings") as pool:
        proving = pool.submit(_prove_listings, run)
        if run.analytics:
            analyse.catch_up(run.publication, days=run.days)
        proving.result()
    return run


def _prove_listings(run: IotaRun) -> None:
    if run.leaves is not None:
        with run.publication.report.timed("listings"):
            changes = () if run.changes is None else run.changes.files
            ListingTrees(run.publication, run.leaves, changes).advance(days=run.days)


def append_to_log(run: IotaRun) -> IotaRun:
    """Appends complete milestones to the transparency log and signs its checkpoint."""
    with run.publication.report.timed("log"):
        others = [(each.head, each.tile) for each in run.logs]
        append_log(run.publication, others, again=not run.files and run.genesis is None)
    return run


def restore_kept_proofs(run: IotaRun) -> IotaRun:
    """Writes the proofs of a selective store's listings again (etl/kept_proofs.py)."""
    if run.coverage is not None:
        publication = run.publication
        restore_proofs(publication.lake, publication.store, publication.store_settings.chunk_size)
    return run


def verify_fully(run: IotaRun) -> IotaRun:
    """With the setting `level = full`, verifies the written milestones against the ledger state."""
    if run.publication.settings.level == FULL:
        with run.publication.report.timed("full"):
            promote(run.publication, run.milestones, run.changes)
    return run


def reject_older_lake(lake: Lake, reads: StoreReads) -> None:
    """Raises StoreMismatch when the store has milestones or a ledger state that the lake does not have.

    This happens when one of the two was restored from an older backup.
    """
    stored = reads.held()
    held = add(stored.complete, stored.incomplete)
    missing = subtract(held, lake.held(held))
    if missing or (reads.ledger_index() is not None and not lake.has("genesis")):
        what = f"milestones {in_words(missing)}" if missing else "a ledger state"
        raise StoreMismatch(
            f"the store has {what}, but its lake at {lake.root} does not: the lake is older, or belongs to another "
            "store. Restore the matching lake, or run `permanode rebuild` and load what is missing"
        )
