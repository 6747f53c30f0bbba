"""Writes tables from the lake to a store: splits and tails, then rows, hints, sync, ranges, in this order.

Invariants:
1. A batch contains whole milestones with all their rows.
2. Nothing is marked complete before all its rows are durable.
3. Every value depends only on the data, so repeated writes change nothing.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.connect import StoreSettings
from db.intervals import Intervals, in_words, size
from db.model import Lookup
from db.partitions import WINDOW, ranges_of, whole_windows
from db.store import Batch, Value, WritableStore
from etl.engine.current import on_sail
from etl.engine.process_frames import map_in_processes
from etl.engine.session import Session
from etl.engine.settings import EtlSettings
from etl.expectations.comparison import Comparison, Expectation
from etl.lake.batches import batches
from etl.lake.delta import Lake, either, few_rows
from etl.report import Notify, Progress, Report
from etl.store_reads import StoreReads
from etl.tables import address_history as history
from etl.tables import frames as tables
from etl.tables import milestones as tables_milestones
from etl.tables import pending as tables_pending
from etl.tables.frames import FrameMaker
from etl.tables.kept_keys import NOT_KEPT, is_kept
from etl.tables.lookups import KEY_FIELDS, filled_by, listed, role_keys, tables_of
from etl.tables.partition_columns import TAILS, Placement, counted_keys, rows_of_keys
from etl.tables.run_frames import FrameSource, RunRows, run_makers
from etl.tables.splits import SPLITS, Growth
from etl.writers.few_partitions import FewPartitions, tails_after
from etl.writers.few_rows import FewRowsWriter, source_for
from etl.writers.few_run import FEW_MESSAGES, FewRun
from etl.writers.frame_writer import FrameWriter, upsert_frames
from etl.writers.ranges import extend_ranges
from etl.writers.staging import STAGERS, Staging
from ledger.selection import TAG, Selection

FILLED_BY_LAKE = tuple(
    table
    for table in schema.TABLES
    if table.ttl_s is None and table not in (schema.keyspace_info, schema.migrations, schema.lease)
)
"""Tables that the lake can fill, and that a rebuild therefore empties."""

ANALYSED_TO = "analysed_to"
"""keyspace_info key: the ledger index up to which these tables contain the measures of the ledger."""

CLAIMS = (schema.ranges, schema.proofs, schema.ledger_frontier, schema.sync)
"""Tables that say which rows may be read. They are written last and emptied first."""


@dataclass(frozen=True)
class Opened:
    """The splits that a run records before its rows, and the partitions of the rows."""

    splits: list[tuple[Value, ...]]
    tails: list[tuple[str, int, int]]
    placement: Placement


@dataclass(frozen=True)
class Publication:
    """Writes the results of one run to one store."""

    spark: Session
    lake: Lake
    store: WritableStore
    reads: StoreReads
    staging: Staging
    writer: FrameWriter
    store_settings: StoreSettings
    settings: EtlSettings
    report: Report
    notify: Notify
    few: bool = False
    """Whether this process may hold all rows: there are at most FEW_MESSAGES messages."""
    owners: frozenset[bytes] | None = None
    """The addresses whose outputs the ledger state contains. None: all."""
    selection: Selection | None = None
    """Which messages the lake has. None: all."""
    few_runs: dict[str, FewRun] = field(default_factory=dict)
    """The rows of the lake that this process holds, by milestones."""

    def publish(
        self,
        run: Intervals,
        files: Sequence[str],
        opening: Callable[[], Opened],
        committing: Future[Expectation],
        *,
        bulk: bool,
    ) -> None:
        """Writes the milestones of the run: as a new generation, or in transactions of whole milestones.

        `opening` returns the splits of the run; a run of few messages computes them itself. `committing` ends when the
        lake has the milestones, before any row is written, and returns what to write. Raises WrongRows for other rows.
        """
        if not bulk:
            committing.result()
        sized = self if bulk else self.for_messages(self.report.messages)
        for number, intervals in enumerate(
            [run] if bulk else batches(self.lake, run, self.report.messages, self.settings.batch_messages)
        ):
            with self.store.batch(publish=bulk) as batch:
                sized.write(batch, intervals, opening, committing, record=number == 0)
            self.write_ranges(intervals)
        self.write_file_rejects(files)

    def for_messages(self, messages: int) -> "Publication":
        """Returns the publication of milestones with that number of messages."""
        return replace(self, few=True) if messages <= FEW_MESSAGES else self

    def few_run(self, intervals: Intervals) -> FewRun:
        """The rows of milestones with few messages, which the lake has and which do not change any more."""
        return self.few_runs.setdefault(in_words(intervals), FewRun(self.lake, intervals))

    def messages(self, intervals: Intervals) -> DataFrame:
        """The messages of these milestones: those in this process, else those of the lake."""
        held = self.few_runs.get(in_words(intervals))
        return held.messages if held is not None and held.is_few else self.lake.messages(intervals)

    def milestones(self, intervals: Intervals) -> DataFrame:
        """These milestones: those in this process, else those of the lake."""
        held = self.few_runs.get(in_words(intervals))
        return self.lake.milestones(intervals) if held is None else held.milestones

    def for_few_rows(self, run: Intervals, counted: Sequence[Lookup]) -> FrameWriter:
        """Returns the writer of few rows. For `counted` see FewPartitions."""
        if not self.writer.holds_few_rows:
            return self.writer
        first = self.lake.genesis_index() + 1 if self.lake.has("genesis") else 0
        sizes, wrote = (self.store_settings.range_size, self.store_settings.partition_size), self.report.wrote
        return FewRowsWriter(FewPartitions(self.reads, run, counted, *sizes, wrote, first))

    def publish_pending(self) -> None:
        """Writes the pending messages of the lake, with the milestone after the newest one as their position.

        They replace the previous ones, because an earlier load stored them under another milestone.
        """
        newest = self.reads.newest_milestone()
        with self.store.batch() as batch:
            self.write_pending(batch, 1 if newest is None else newest + 1)

    def write_pending(self, batch: Batch, est: int) -> None:
        """Writes the pending messages of the lake at the position of that milestone, each until a day after it was
        received. They are those of one day, so this process holds their rows.
        """
        rows = self.lake.read("pending").where("timestamp IS NOT NULL")
        for table in (schema.pending_messages, schema.pending, schema.pending_hints):
            batch.clear(table)
        replace(self, writer=FewRowsWriter()).upsert(batch, tables_pending.makers(rows, est))

    def open_splits(self, run: Intervals, *, known: bool = True) -> Opened:
        """The additional splits that a load of the run needs. They are not recorded yet."""
        chunk_size = self.store_settings.chunk_size
        lake = self.lake.messages(whole_windows(run, chunk_size))
        tagged, concerned = tables.tagged(lake, "milestone_index"), history.concerned(lake, self.selection)
        if self.selection is not None:
            tagged = tagged.where(is_kept(self.selection, TAG, F.col("tag")))
        rows = {schema.tags: tagged, schema.transactions_by_address: concerned}
        fields = self.output_fields(run)
        owned = tables.owned(lake, [each for each in KEY_FIELDS if each in fields])
        has_stardust, own = "stardust" in fields, self.selection
        rows |= {table: role_keys(owned, table, own, has_stardust=has_stardust) for table in tables_of(fields)}
        filled = filled_by(fields)
        keys = [rows_of_keys(rows[lookup.table], lookup, chunk_size) for lookup in filled]
        return self.grown(filled, keys, run, known=known)

    def grown(
        self,
        lookups: tuple[Lookup, ...],
        keys: Sequence[DataFrame],
        run: Intervals,
        *,
        known: bool = True,
        beside: Iterable[int] = (),
        window: int = WINDOW,
    ) -> Opened:
        """The additional splits of these lookups for a run. They are not recorded yet.

        `keys` are rows_of_keys of each lookup over every milestone of the windows that the run touches. `beside` are
        further ranges with rows of the run. Only hot keys are split, so they are few enough to be collected.
        """
        chunk_size, partition_size = self.store_settings.range_size, self.store_settings.partition_size
        if not run:
            return Opened([], [], Placement(chunk_size, lookups, None))
        ranges = {each for first, last in run for each in ranges_of(first, last, chunk_size)}
        existing = self.reads.splits(lookups, sorted(ranges.union(beside))) if known else []
        tails = self.reads.tails(lookups, sorted(ranges)) if known else []
        growth = Growth(run, chunk_size, partition_size, window)
        before = few_rows(self.spark, SPLITS, existing), few_rows(self.spark, TAILS, tails)
        counted = [counted_keys(each, *before, growth) for each in self.staging.apart(keys)]
        grown = [map_in_processes(each, growth.grow, SPLITS, self.staging.folder("splits")) for each in counted]
        frame = tables.splits(reduce(DataFrame.unionByName, grown).coalesce(1))
        prepared = FewRowsWriter().prepare(frame) if size(run) <= WINDOW else self.staging.stage(frame)
        opened = list(prepared.rows())
        prepared.drop()
        splits: dict[tuple[Any, ...], tuple[Any, ...]] = {row[:3]: row for row in existing}
        splits |= {row[:3]: (*row[:3], json.loads(str(row[3])), *row[4:]) for row in opened}
        hot = few_rows(self.spark, SPLITS, splits.values()) if splits else None
        return Opened(opened, tails_after(lookups, run, tails, chunk_size), Placement(chunk_size, lookups, hot))

    def placement(self, first: int, last: int, lookups: tuple[Lookup, ...]) -> Placement:
        """The partitions of these lookups' rows in the milestones from `first` to `last`, with the splits so far."""
        chunk_size = self.store_settings.chunk_size
        existing = self.reads.splits(lookups, ranges_of(first, last, chunk_size))
        return Placement(chunk_size, lookups, few_rows(self.spark, SPLITS, existing) if existing else None)

    def record(self, batch: Batch, opened: Opened) -> None:
        """Writes the opened splits, before any row that depends on them."""
        self.report.wrote(schema.splits.name, batch.upsert(schema.splits, schema.splits.names, opened.splits))
        batch.upsert(schema.tails, schema.tails.names, opened.tails)

    def write(
        self,
        batch: Batch,
        intervals: Intervals,
        opening: Callable[[], Opened],
        ready: Future[Expectation],
        *,
        record: bool,
    ) -> None:
        """Writes all rows of these milestones. The first are staged while milestones are committed and splits are
        opened. `ready` is `committing` of `publish`.
        """
        store = self.store_settings
        few = self.few_run(intervals) if self.few else None
        writer = self.writer if few is None else self.for_few_rows(intervals, filled_by(few.fields))
        in_process = isinstance(writer, FewRowsWriter)

        def placement() -> Placement:
            return Placement(store.chunk_size, schema.ALL_LOOKUPS, None) if in_process else opening().placement

        def before_lookups() -> None:
            if record and not in_process:
                self.record(batch, opening())

        if few is None:
            rows = self._many_rows(intervals, ready)
        else:
            rows = few.rows(source_for(writer), self._few_days, self.selection)
        makers = run_makers(rows, placement, store.network, store.chunk_size)
        without = () if self.selection is None else NOT_KEPT
        if self.lake.has("rejects"):
            # All previous rows of the milestones, so that a run that ended before `ranges` leaves none behind.
            for first, last in intervals:
                for milestone_index in range(first, last + 1):
                    batch.delete(schema.rejects, (milestone_index,))
            rejects = self.lake.read("rejects").where(either(intervals))
            makers.insert(-1, lambda _: tables.rejects(rejects))
        replace(self, writer=writer).upsert(
            batch, makers, ready.result, before_lookups, lambda: ready.result().compared_with(intervals, without)
        )

    def output_fields(self, intervals: Intervals) -> Sequence[str]:
        """The output fields that these milestones need. Chrysalis milestones do not read Stardust fields."""
        return tables.OUTPUT_FIELDS if self.lake.has_stardust(intervals) else tables.LEGACY_FIELDS

    def _many_rows(self, intervals: Intervals, ready: Future[Expectation]) -> RunRows:
        """Rows that each frame reads from the lake."""
        messages, fields = self.lake.messages(intervals), self.output_fields(intervals)

        def milestones() -> DataFrame:
            ready.result()
            return self.lake.milestones(intervals)

        return RunRows(
            messages=FrameSource(lambda: messages),
            owned=FrameSource(lambda: listed(tables.owned(messages, fields))),
            created=FrameSource(lambda: tables.owned(messages, tables.LEGACY_FIELDS)),
            spent=FrameSource(lambda: tables.spent(messages)),
            milestones=FrameSource(milestones),
            days=lambda: self.whole_days(milestones()),
            fields=fields,
            selection=self.selection,
        )

    def _few_days(self, known: pa.Table, milestones: DataFrame) -> DataFrame:
        return self._known_days(known) or self.whole_days(milestones)

    def whole_days(self, milestones: DataFrame) -> DataFrame:
        """All milestones of the lake on the UTC days of these milestones."""
        touched = milestones.agg(
            F.min(F.to_date("timestamp")).alias("first"), F.max(F.to_date("timestamp")).alias("last")
        )
        return self.lake.read("milestones").join(
            F.broadcast(touched), F.to_date("timestamp").between(F.col("first"), F.col("last"))
        )

    def _known_days(self, few: pa.Table) -> DataFrame | None:
        """The milestones of a small run and, of their UTC days, the first and the last one before the run: as much as
        date_cache needs. None if only the lake has them all.
        """
        if few["verified"].null_count:
            return None
        days = {each.date().isoformat() for each in few["timestamp"].to_pylist()}
        ends = self.reads.many(schema.date_cache, [(day,) for day in sorted(days)])
        return tables_milestones.with_ends(self.spark, few, ends)

    def write_ranges(self, intervals: Intervals) -> None:
        """Writes `ranges` and `proofs` after the rows of these milestones."""
        extend_ranges(self.store, self.reads, intervals, self.store_settings.chunk_size)

    def write_file_rejects(self, files: Sequence[str]) -> None:
        """Replaces the rejects of the files with these names that belong to no milestone."""
        if not self.lake.has("rejects"):
            return
        rejects = self.lake.read("rejects").where((F.col("milestone_index") < 0) & F.col("file").isin(list(files)))
        with self.store.batch() as batch:
            for name in files:
                batch.delete(schema.rejects, (-1, name))
            self.upsert(batch, [lambda _: tables.rejects(rejects)])

    def upsert(
        self,
        batch: Batch,
        makers: Sequence[FrameMaker],
        before_rows: Callable[[], object] = lambda: None,
        before_lookups: Callable[[], None] = lambda: None,
        comparison: Callable[[], Comparison | None] = lambda: None,
    ) -> None:
        """Writes frames in order and reports progress. For the callbacks see
        etl.writers.frame_writer.upsert_frames.
        """
        position = count(1)

        def wrote(table: str, rows: int) -> None:
            self.report.wrote(table, rows)
            self.notify(Progress("tables", next(position), len(makers), f"tables, {rows:,} rows of {table}"))

        # Sail reads the lake with all cores, so the first frames are ready earlier one by one.
        stagers = 1 if on_sail() else STAGERS
        upsert_frames(batch, self.writer, makers, wrote, before_rows, before_lookups, comparison, stagers)
