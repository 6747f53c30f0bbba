"""Advances what proves listings complete: roots of milestones, and trees of the intervals that they complete.

Invariants:
1. Everything follows from the ledger: milestones after the genesis, in order and without gaps, up to the ledger index.
2. Nothing that was hashed changes. Rows are written before `proved_to`, and readers ignore everything beyond it.
3. Leaves are never changed in place. If those of a smaller interval are missing, they are computed again.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as F

from db import schema
from db.model import Table
from db.partitions import ms_range_id
from db.queries.log_records import PROVED_FROM, PROVED_TO
from db.store import Batch, Value
from etl.completeness.leaves import LEAVES, Shared, leaves_of, merged, with_between
from etl.completeness.message_leaves import MessageLeaves
from etl.completeness.milestones import milestone_rows
from etl.completeness.spread_changes import SpreadChanges
from etl.completeness.trees import STEP, WrittenTree, write_tree
from etl.completeness.updates import update_rows, updates_of
from etl.engine.arrow_frames import collected
from etl.report import Progress
from etl.run_lease import AT_HEAD
from etl.store_reads import StoreReads
from etl.writers.publish import Publication
from ledger.completeness.intervals import FACTOR, LEVELS, Interval, closing, complete_to, cover, lowest, size_of
from ledger.completeness.tiles import WIDTH, decode_tile

MESSAGES_AT_ONCE = 50_000
"""Messages of a step, about. Their ids and changes are read while the leaves of the step before are hashed."""

HEAD_LEVEL = 2
"""The highest level that every load of a follower completes. The others take seconds to hours of merging, so they wait
for a load that computes the analytics of days.
"""


@dataclass(frozen=True)
class TreeStep:
    """The milestones (done, to].

    Attributes:
        done: the last milestone of the step before.
        to: the last one.
        closed: the intervals that they complete, smaller ones first.
        smallest: those of level 0.
        milestones: the rows of milestone_roots.
        updates: UPDATES of the milestones, and of all others in `smallest`.
    """

    done: int
    to: int
    closed: Sequence[Interval]
    smallest: Sequence[Interval]
    milestones: Future[list[tuple[Value, ...]]]
    updates: Future[pa.Table]


def message_leaves(publication: Publication) -> MessageLeaves | None:
    """Those of the intervals that the milestones of the store complete, not yet computed. None without a genesis."""
    lake, reads = publication.lake, publication.reads
    if not lake.has("genesis"):
        return None
    first = lake.genesis_index() + 1
    end = next((end for start, end in reads.complete() if start <= first <= end), first - 1)
    smallest = [each for each in closing(first, proved_to(reads, first), end) if each.level == 0]
    return MessageLeaves(lake.root, first, smallest, publication.staging.folder("message-leaves"))


def proved_to(reads: StoreReads, first: int) -> int:
    """The last milestone with a root; `first` − 1 before the first one. `first`: the first milestone of the ledger."""
    begun, done = (reads.info(name) for name in (PROVED_FROM, PROVED_TO))
    return int(done) if done is not None and begun == str(first) else first - 1


@dataclass
class ListingTrees:
    """The trees of one store.

    Attributes:
        publication: the store, and the lake that the trees follow from.
        leaves: of messages.
        changes: the files of all CHANGES since genesis, if this run has them. Reading the store takes longer.
    """

    publication: Publication
    leaves: MessageLeaves
    changes: Sequence[Path] = ()
    _spread: SpreadChanges | None = None
    """The changes of the milestones that this run hashes, from `changes`."""
    _trees: dict[Interval, WrittenTree] = field(default_factory=dict)
    """Those of this run that a larger interval needs."""

    def advance(self, *, days: bool) -> None:
        """Writes the roots of all milestones of the ledger state, and the trees of the intervals that they complete.

        A load of a follower stops before a large interval unless `days`, or if proofs would be missing there. Without a
        ledger state nothing is written.
        """
        reads, report = self.publication.reads, self.publication.report
        frontier = reads.ledger_index()
        if frontier is None:
            return
        first = self.leaves.first
        done = proved_to(reads, first)
        if report.run.startswith(AT_HEAD) and not days:
            frontier = self._before_large(first, done, frontier)
        if self.changes and frontier > done:
            begun = Interval(0, (done + 1) // size_of(0)).start
            folder = self.publication.staging.folder("changes-by-milestone")
            self._spread = SpreadChanges(folder, max(first, begun), frontier)
            self._spread.write(self.changes)
        for step in self._steps(first, done, frontier):
            self.publication.notify(Progress("listings", step.done - done, frontier - done, "milestones"))
            self._write_step(first, done, step, frontier)

    def _before_large(self, first: int, done: int, frontier: int) -> int:
        """The milestone before the end of the first large interval. `frontier` if none ends up to it, and if an earlier
        run ended before it had merged intervals whose leaves it did not write.
        """
        large = (each for each in closing(first, done, frontier) if each.level > HEAD_LEVEL)
        before = next((each.end - 1 for each in large), frontier)
        end = complete_to(first, before)
        for each in [] if end is None else cover(first, end):
            # No run had a larger frontier, so all others are stored.
            if each.end <= done and not _is_kept(first, each, frontier) and not self._is_stored(each):
                return frontier
        return before

    def _steps(self, first: int, done: int, frontier: int) -> Iterator[TreeStep]:
        """Yields steps, which end with intervals of level 0. What the next one hashes is read meanwhile."""
        with ThreadPoolExecutor(1, thread_name_prefix="milestones") as pool:
            waiting: TreeStep | None = None
            for to in self._ends(done, frontier):
                closed = list(closing(first, done, to))
                smallest = [each for each in closed if each.level == 0]
                start = min(done + 1, smallest[0].start) if smallest else done + 1
                updates = pool.submit(self._updates, max(first, start), to)
                milestones = pool.submit(self._milestones, done + 1, to, updates)
                following = TreeStep(done, to, closed, smallest, milestones, updates)
                if waiting is not None:
                    yield waiting
                waiting, done = following, to
            if waiting is not None:
                yield waiting

    def _ends(self, done: int, frontier: int) -> Iterator[int]:
        """The last milestones of steps with about MESSAGES_AT_ONCE messages."""
        if frontier <= done:
            return
        if frontier - done > size_of(0):
            number = F.expr(f"milestone_index DIV {size_of(0)}").alias("number")
            milestones = self.publication.lake.milestones([(done + 1, frontier)])
            counts = collected(milestones.groupBy(number).agg(F.sum("message_count").alias("messages")))
            waiting = 0
            for row in counts.sort_by("number").to_pylist():
                waiting += row["messages"]
                end = Interval(0, row["number"]).end
                if waiting >= MESSAGES_AT_ONCE and end < frontier:
                    yield end
                    waiting = 0
        yield frontier

    def _write_step(self, first: int, before: int, step: TreeStep, frontier: int) -> None:
        """Writes the milestones of a step and what they complete. `before`: where the run began, `frontier`: where it
        will end.
        """
        publication, chunk_size = self.publication, self.publication.store_settings.chunk_size
        closed, smallest, done, to = step.closed, step.smallest, step.done, step.to
        leaves = self._smallest(smallest, step.updates.result())
        shared: dict[Interval, list[Shared]] = {}
        for interval in closed:
            if interval.level == 0:
                self._write(interval, iter([next(leaves)]))
            else:
                shared[interval] = []
                self._write(interval, self._merged(first, interval, shared[interval]))
        old = self._superseded(first, before, done, to)
        with publication.store.batch() as batch:
            self._upsert(batch, schema.milestone_roots, step.milestones.result())
            for interval in closed:
                tree = self._trees[interval]
                if _is_kept(first, interval, frontier):
                    self._upsert(batch, schema.listing_tiles, tree.tiles())
            self._upsert(batch, schema.listing_parts, _part_rows(shared))
            roots = [_interval_row(self._trees[each], chunk_size) for each in closed]
            self._upsert(batch, schema.interval_roots, roots)
            for interval, parts in old:
                for part in range(parts):
                    batch.delete(schema.listing_tiles, (*interval, part))
            self._upsert(batch, schema.keyspace_info, [(PROVED_FROM, str(first)), (PROVED_TO, str(to))])
        for interval in closed:
            if interval.level:
                for child in interval.children():
                    if child in self._trees:
                        self._trees.pop(child).file.unlink()

    def _updates(self, start: int, to: int) -> pa.Table:
        """UPDATES of the milestones [start, to]."""
        if self._spread is not None and start >= self._spread.first:
            return updates_of(self._spread.between(start, to))
        return updates_of(self.publication.reads.changes(start, to))

    def _milestones(self, start: int, to: int, updates: Future[pa.Table]) -> list[tuple[Value, ...]]:
        """The rows of milestone_roots of the milestones [start, to]. `updates`: theirs, and perhaps of earlier ones."""
        publication, run = self.publication, [(start, to)]
        found = [
            *milestone_rows(
                publication.messages(run),
                publication.milestones(run),
                updates.result(),
                publication.store_settings.chunk_size,
            )
        ]
        assert len(found) == to - start + 1, "the ledger state has milestones that the lake does not have"
        return found

    def _smallest(self, intervals: Sequence[Interval], updates: pa.Table) -> Iterator[pa.Table]:
        """Yields LEAVES of intervals of level 0. `updates`: UPDATES of these, and perhaps of others."""
        for interval in intervals:
            changed = update_rows(updates, interval.start, interval.end)
            yield with_between(self.leaves.of(interval), leaves_of(changed))

    def _merged(self, first: int, interval: Interval, shared: list[Shared]) -> Iterator[pa.Table]:
        children = [(each.number, self._leaves(first, each)) for each in interval.children()]
        return merged(interval.level - 1, children, shared)

    def _leaves(self, first: int, interval: Interval) -> Iterator[pa.Table]:
        """LEAVES of an interval: of this run, of the store, or computed again."""
        if interval in self._trees:
            return self._trees[interval].leaves()
        if self._is_stored(interval):
            return self._stored(interval)
        if interval.level == 0:
            updates = self._updates(max(first, interval.start), interval.end)
            return self._smallest([interval], updates)
        return self._merged(first, interval, [])

    def _is_stored(self, interval: Interval) -> bool:
        """Whether the store has all leaves of an interval."""
        key = (ms_range_id(interval.end, self.publication.store_settings.chunk_size), interval.end, interval.level)
        (row,) = self.publication.reads.many(schema.interval_roots, [key])
        if row is None:
            return False
        tiles = -(-row["key_count"] // WIDTH)
        stored = self.publication.reads.tiles(*interval, columns=("place", "tile"))
        return sum(1 for _ in stored) == int(tiles)

    def _stored(self, interval: Interval) -> Iterator[pa.Table]:
        """LEAVES of an interval of the store, STEP at a time, because each table that is merged takes a while."""
        rows = self.publication.reads.tiles(*interval)
        while some := [*islice(rows, STEP // WIDTH)]:
            tiles = [decode_tile(row["tile"], row["leaves"], b"") for row in some]
            columns = (
                chain.from_iterable(tile.places for tile in tiles),
                chain.from_iterable(tile.encoded for tile in tiles),
                chain.from_iterable(tile.hashes for tile in tiles),
            )
            yield pa.table([pa.array(each, kind.type) for each, kind in zip(columns, LEAVES, strict=True)], LEAVES)

    def _write(self, interval: Interval, leaves: Iterator[pa.Table]) -> None:
        file: Path = self.publication.staging.folder(f"tree-{interval.level}-{interval.number}")
        self._trees[interval] = write_tree(interval, leaves, file)

    def _superseded(self, first: int, before: int, done: int, to: int) -> list[tuple[Interval, int]]:
        """The intervals of earlier runs whose leaves need not stay, and their numbers of partitions."""
        old = [
            child
            for parent in closing(first, max(first - 1, done - schema.TREES_KEPT), to - schema.TREES_KEPT)
            if parent.level
            for child in parent.children()
            if child.end <= before and child.number >= lowest(first, child.level)
        ]
        chunk_size = self.publication.store_settings.chunk_size
        keys = [(ms_range_id(each.end, chunk_size), each.end, each.level) for each in old]
        rows = self.publication.reads.many(schema.interval_roots, keys)
        return [
            (interval, -(-row["key_count"] // (WIDTH * schema.PART_TILES)))
            for interval, row in zip(old, rows, strict=True)
            if row is not None
        ]

    def _upsert(self, batch: Batch, table: Table, rows: Sequence[Sequence[Value]] | Iterator[Sequence[Value]]) -> None:
        self.publication.report.wrote(table.name, batch.upsert(table, table.names, rows))


def _is_kept(first: int, interval: Interval, frontier: int) -> bool:
    """Whether the store has the leaves of an interval when the frontier is reached."""
    if interval.level == LEVELS - 1:
        # No larger interval contains it.
        return True
    parent = Interval(interval.level + 1, interval.number // FACTOR)
    is_inside = parent.number >= lowest(first, parent.level)
    return not is_inside or parent.end + schema.TREES_KEPT > frontier


def _part_rows(shared: dict[Interval, list[Shared]]) -> Iterator[tuple[Value, ...]]:
    for interval, keys in shared.items():
        for each in keys:
            if each.count >= schema.DIVIDED_FROM:
                children = b"".join(
                    child.number.to_bytes(4, "big") + child.count.to_bytes(4, "big") + child.root
                    for child in each.children
                )
                yield each.place, *interval, children


def _interval_row(tree: WrittenTree, chunk_size: int) -> tuple[Value, ...]:
    interval, record = tree.record.interval, tree.record
    return (
        ms_range_id(interval.end, chunk_size),
        interval.end,
        interval.level,
        record.key_count,
        record.root,
        tree.encoded_parts,
    )
