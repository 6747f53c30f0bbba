"""Computes the analytics tables that are not up to date: the last step of `permanode load`, and `permanode analytics`.

Invariants:
1. Steps are independent of each other and run concurrently.
2. Progress is stored in keyspace_info after the rows, so the next run completes one that was killed.
3. Milestones are analysed when they are complete, and again if a run replaces them. Their days are recomputed as a
   whole.
4. The measures of the ledger state are written with it (etl/ledger_state/advance.py), and here if they are missing.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.intervals import Intervals, add, format_intervals, intersect, parse_intervals, size, subtract
from db.model import Table
from db.partitions import ms_range_id, ranges_of
from db.queries.analytics import ANALYSED, ANALYSED_BY, DAYS_DUE, PIECE, SUMMED, format_runs, parse_runs, runs_of
from db.store import Row
from etl.analytics import days
from etl.analytics import milestones as measures
from etl.analytics.addresses import address_analytics
from etl.analytics.calendar import ACTIVE
from etl.analytics.milestones import FLOW_COLUMNS, STATE_COLUMNS, Begun
from etl.engine.session import session_beside
from etl.engine.spans import Planning
from etl.expectations.activity import activity_comparison, days_comparison
from etl.expectations.comparison import Comparison
from etl.lake.delta import either, few_rows
from etl.ledger_state.balances import balances
from etl.ledger_state.changes import far
from etl.ledger_state.state_step import StateStep
from etl.report import Progress
from etl.tables import milestones as tables_milestones
from etl.tables.frames import FrameMaker, TableFrame, ms_timestamp
from etl.writers.few_rows import FewRowsWriter
from etl.writers.few_run import FEW_MESSAGES
from etl.writers.frame_writer import Earlier, Prepared, prepared_by, upsert_frames
from etl.writers.publish import ANALYSED_TO, Publication

DAYS_AT_ONCE = 30
"""Days that are recomputed in one transaction."""


@dataclass(frozen=True)
class Step:
    """A step: the tables that it fills, and its function of milestones."""

    name: str
    meaning: str
    tables: tuple[Table, ...]
    run: Callable[[Publication, Intervals], None]


def lagging(publication: Publication) -> Intervals:
    """Complete milestones that are not analysed."""
    return subtract(publication.reads.complete(), analysed(publication))


def analyse(
    publication: Publication,
    milestones: Intervals,
    *,
    ledger: Intervals,
    days: Intervals | None = None,
    only: str | None = None,
) -> None:
    """Runs every step, or the one named `name`, for the complete ones of `milestones`, and for those of `ledger` that
    the ledger state contains. `days`: the milestones whose days are computed; those of `milestones` that are not among
    them are noted as due. Default: all.

    The report contains rows and seconds of each step. Milestones count as analysed when all steps have ended, and not
    while one runs, because days are emptied before they are filled.
    """
    wanted = {"milestones": intersect(publication.reads.complete(), milestones), "ledger": ledger}
    wanted["days"] = wanted["milestones"] if days is None else intersect(publication.reads.complete(), days)
    before, due = analysed(publication), days_due(publication)
    forget(publication, wanted["milestones"])
    steps = [step for step in STEPS if wanted[step.name] and only in (None, step.name)]

    def run(step: Step) -> None:
        with publication.report.timed(f"analytics_{step.name}"):
            step.run(publication, wanted[step.name])

    begin = Progress("analytics", 0, sum(len(step.tables) for step in steps), "tables")
    with (
        publication.report.counted_writes(publication.notify, begin),
        ThreadPoolExecutor(len(STEPS), thread_name_prefix="analytics") as pool,
    ):
        for ended in as_completed([pool.submit(run, step) for step in steps]):
            ended.result()
    if (wanted["milestones"] or wanted["days"]) and only is None:
        due = subtract(add(due, wanted["milestones"]), wanted["days"])
        _note(publication, add(before, wanted["milestones"]), due)
    elif wanted["milestones"]:
        _note(publication, before)


def catch_up(publication: Publication, *, days: bool = True) -> None:
    """Runs `analyse` for everything that is not up to date, with or without the days."""
    reads, lake = publication.reads, publication.lake
    last, ledger = reads.ledger_index(), Intervals()
    if last is not None:
        first = _lagging_from(publication, lake.genesis_index())
        ledger = [(first, last)] if first <= last else []
    milestones = lagging(publication)
    of_days = add(milestones, days_due(publication)) if days else Intervals()
    analyse(publication, milestones, ledger=ledger, days=of_days)


def analysed(publication: Publication) -> Intervals:
    """The analysed milestones."""
    return parse_intervals(publication.reads.info(ANALYSED) or "[]")


def days_due(publication: Publication) -> Intervals:
    """The analysed milestones that are not yet counted in their days."""
    return parse_intervals(publication.reads.info(DAYS_DUE) or "[]")


def forget(publication: Publication, milestones: Intervals) -> None:
    """Marks milestones as not analysed, before their rows are written again."""
    held = analysed(publication)
    if intersect(held, milestones):
        _note(publication, subtract(held, milestones))


def begun_at(publication: Publication, step: StateStep) -> Begun | None:
    """The state from which the ledger's measures continue with a step. None if they do not reach the frontier."""
    genesis, frontier, found = step.genesis, step.frontier, step.found
    reads, chunk_size = publication.reads, publication.store_settings.chunk_size
    (row,) = reads.many(schema.ms_analytics, [(ms_range_id(frontier, chunk_size), frontier)])
    if row is None or not _is_whole(row, genesis) or _analysed_to(publication, genesis) < frontier:
        return None
    begun = reads.begun_intervals(sorted(step.totals.days), genesis, frontier)
    counted = reads.interval_counts(chunk_size, begun, frontier)
    if found.near is not None:
        owners = sorted(set(found.near.changes["owner"].to_pylist()) - {None})
        active = few_rows(publication.spark, ACTIVE, reads.active(owners, begun, frontier))
    else:
        earlier = (F.col("milestone_index") > genesis) & (F.col("milestone_index") <= frontier)
        active = found.changes.where(earlier).select(ACTIVE.names)
    return Begun(frontier + 1, genesis, {name: row[name] for name in STATE_COLUMNS}, counted, active)


def ledger_makers(
    publication: Publication,
    changes: DataFrame,
    after: DataFrame,
    begun: Begun,
    last: int,
    wanted: Intervals | None = None,
) -> list[FrameMaker]:
    """The measures of the changes of [begun.first, last] and of the balances after them. `wanted` selects
    milestones.
    """
    chunk_size = publication.store_settings.chunk_size

    def chosen(made: TableFrame) -> TableFrame:
        return made if wanted is None else made.mapped(lambda rows: rows.where(either(wanted)))

    def milestones() -> TableFrame:
        times = publication.milestones([(begun.first, last)])
        times = times.select("milestone_index", ms_timestamp().alias("ms_timestamp"))
        return measures.of_changes(changes, after, times, begun, last, chunk_size)

    # Genesis outputs have no sender and no hints.
    later = changes.where(F.col("milestone_index") > begun.genesis)
    return [
        lambda _: chosen(milestones()),
        lambda _: chosen(address_analytics(later, chunk_size)),
    ]


def _milestones(publication: Publication, milestones: Intervals) -> None:
    """ms_analytics without the measures of the ledger, and its sums by range."""
    lake, chunk_size = publication.messages(milestones), publication.store_settings.chunk_size
    is_few = size(milestones) <= FEW_MESSAGES and publication.writer.holds_few_rows
    writer = FewRowsWriter() if is_few else publication.writer
    compared = activity_comparison(publication.lake, milestones)
    _write(replace(publication, writer=writer), [lambda _: measures.of_messages(lake, chunk_size)], compared)
    ranges = {each for first, last in milestones for each in ranges_of(first, last, chunk_size)}
    rows = [(publication.reads.network, each, _sums(publication, each, milestones)) for each in sorted(ranges)]
    with publication.store.batch() as batch:
        publication.report.wrote(
            "analytics_ranges", batch.upsert(schema.analytics_ranges, schema.analytics_ranges.names, rows)
        )


def _sums(publication: Publication, range_id: int, milestones: Intervals) -> str:
    """The sums of a range after the rows of these milestones changed: those before them as they are stored, and those
    of the rows from there on.
    """
    reads, size_of_range = publication.reads, publication.store_settings.chunk_size
    (row,) = reads.many(schema.analytics_ranges, [(reads.network, range_id)])
    first = range_id * size_of_range
    kept = [] if row is None else parse_runs(row["runs"])
    if kept:
        first = max(first, next(low for low, high in milestones if high >= first))
        first = min([first, *(run.first for run in kept if run.last >= first)])
        kept = [run for run in kept if run.last < first]
    changed = reads.partition(schema.ms_analytics, (range_id,), ("milestone_index", *SUMMED), first=first)
    runs = runs_of(reversed(list(changed)), PIECE)
    if kept and runs and kept[-1].last == runs[0].first - 1 and runs[0].first % PIECE:
        runs[0] = kept.pop().before(runs[0])
    return format_runs([*kept, *runs])


def _days(publication: Publication, milestones: Intervals) -> None:
    """metrics_cache and daily_analytics of the days that contain these milestones, from all their complete milestones;
    date_cache if it is missing.
    """
    lake = publication.lake
    touched = lake.milestones(milestones).where("verified IS NOT NULL")
    row = touched.agg(F.sort_array(F.collect_set(F.to_date("timestamp").cast("string")))).first()
    dates = row[0] if row else []
    if None in publication.reads.many(schema.date_cache, [(date,) for date in dates]):
        # Loads write it with the milestones. If it was deleted with the analytics, it is restored here.
        _write(publication, [lambda _: tables_milestones.date_cache(publication.whole_days(touched))])
    for some in (dates[at : at + DAYS_AT_ONCE] for at in range(0, len(dates), DAYS_AT_ONCE)):
        spans = publication.reads.many(schema.date_cache, [(date,) for date in some])
        held = intersect(
            publication.reads.complete(),
            add([(span["start_ms"], span["end_ms"]) for span in spans if span is not None], []),
        )
        of_days = F.to_date("timestamp").cast("string").isin(some)
        counted = days.counts(lake.messages(held).where(of_days))
        folder = publication.staging.write("counts", counted)
        # Few rows are left: sorting and summing them in one task needs no further shuffles or samples.
        counted = publication.spark.read.schema(days.COUNTED_DDL).parquet(str(folder)).coalesce(1)
        of_milestones = lake.milestones(held).where(of_days).coalesce(1)
        with publication.store.batch() as batch:
            last = max(batch.last_fact(schema.metrics_cache, (date,)) for date in some)
            for date in some:
                batch.delete(schema.metrics_cache, (date,), fact=last)
            makers = _day_makers(counted, of_milestones, last + 1)
            compared = partial(days_comparison, lake, held, some)
            upsert_frames(batch, publication.writer, makers, publication.report.wrote, comparison=compared)
        publication.staging.free(folder)


def _day_makers(counted: DataFrame, milestones: DataFrame, fact: int) -> list[FrameMaker]:
    return [
        lambda _: days.metrics_cache(counted, fact),
        lambda _: days.daily_analytics(counted, milestones),
    ]


def _ledger(publication: Publication, milestones: Intervals) -> None:
    """The ledger's measures of these milestones, which end at the ledger index. Computed from genesis, from the
    lake.
    """
    last = publication.reads.ledger_index()
    if last is None:
        return
    genesis = publication.lake.genesis_index()
    milestones = intersect([(genesis, last)], milestones)
    if not milestones:
        return
    # Adaptive planning after each stage costs more than it saves.
    unrevised = replace(publication, spark=session_beside(publication.spark, Planning.UNREVISED))
    changes = far(unrevised, genesis, genesis, last, measures.READ).changes
    after = balances(changes, None, genesis - 1)
    begun = Begun(genesis, genesis)
    _write(publication, ledger_makers(publication, changes, after, begun, last, milestones))
    if not subtract([(_lagging_from(publication, genesis), last)], milestones):
        with publication.store.batch() as batch:
            batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [(ANALYSED_TO, str(last))])


STEPS: tuple[Step, ...] = (
    Step(
        "milestones",
        "what the messages of each milestone say, and its sums by range",
        (schema.ms_analytics, schema.analytics_ranges),
        _milestones,
    ),
    Step(
        "days",
        "what is counted by day, of whole days, and which milestones a day has where that is not known",
        (schema.metrics_cache, schema.daily_analytics, schema.date_cache),
        _days,
    ),
    Step(
        "ledger",
        "what the ledger state says of each milestone and of each address",
        (schema.ms_analytics, schema.address_analytics),
        _ledger,
    ),
)


def _write(publication: Publication, makers: Sequence[FrameMaker], compared: Comparison | None = None) -> None:
    """Writes each frame in its own transaction once it is ready, so that other steps can write. Raises WrongRows."""

    def prepare(make: FrameMaker) -> Prepared:
        return prepared_by(publication.writer, make(Earlier()))

    with ThreadPoolExecutor(len(makers), thread_name_prefix="frame") as pool:
        preparing = [pool.submit(prepare, make) for make in makers]
        for each in as_completed(preparing):
            prepared = each.result()
            with publication.store.batch() as batch:
                publication.report.wrote(prepared.table.name, rows := prepared.write(batch))
                if compared is not None:
                    compared.check(prepared.table, prepared.columns, rows, prepared.observed)
            prepared.drop()


def _note(publication: Publication, milestones: Intervals, due: Intervals | None = None) -> None:
    """Stores progress; `due` replaces the milestones that are not yet counted in their days.

    Readers that cache days compare this value (db.queries.analytics.find_state).
    """
    notes = [(ANALYSED, format_intervals(milestones)), (ANALYSED_BY, publication.report.run)]
    if due is not None and due != days_due(publication):
        notes.append((DAYS_DUE, format_intervals(due)))
    with publication.store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, notes)


def _lagging_from(publication: Publication, genesis: int) -> int:
    """The first milestone (or genesis) without the measures of the ledger."""
    return max(_analysed_to(publication, genesis) + 1, genesis)


def _analysed_to(publication: Publication, genesis: int) -> int:
    """The ledger index up to which the ledger's measures exist, checked at both ends with the current columns; -1 if
    there are none.
    """
    last = int(publication.reads.info(ANALYSED_TO) or -1)
    keys = [(ms_range_id(index, publication.store_settings.chunk_size), index) for index in (genesis, last)]
    rows = publication.reads.many(schema.ms_analytics, keys)
    return last if all(row and _is_whole(row, genesis) for row in rows) else -1


def _is_whole(row: Row, genesis: int) -> bool:
    """Whether a row has a value in every column that the ledger state fills, including columns that were added
    later.
    """
    filled = STATE_COLUMNS if row["milestone_index"] == genesis else (*FLOW_COLUMNS, *STATE_COLUMNS)
    return None not in (row[name] for name in filled)
