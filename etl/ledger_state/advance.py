"""Advances the ledger state: applies the included transactions and receipts of complete milestones.

Invariants:
1. The state after a milestone is a function of the milestones before it. Nothing is incremented in place or deleted.
2. Milestones are applied in order and without gaps, from genesis.
3. The frontier is written last, and readers ignore everything beyond it.
4. All rows follow from the changes (etl/ledger_state/changes.py).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import functions as F

from db import schema
from db.intervals import Intervals, in_words, intersect
from db.model import Table
from db.queries.ledger import RICHEST
from db.queries.milestones import GENESIS_TIME
from db.queries.reconciliation import RECONCILED, Reconciliation
from db.store import Batch, Value
from etl.expectations.balances import supply
from etl.expectations.comparison import LedgerComparison
from etl.lake.summary import Totals, totals_of, totals_of_rows
from etl.ledger_state import compaction, day_wealth, reconciliation, rich_list
from etl.ledger_state.changes import Found, far, near
from etl.ledger_state.expected_changes import expect_changes
from etl.ledger_state.genesis import begin_state, genesis_time
from etl.ledger_state.rich_list import NO_WEALTH, Wealth
from etl.ledger_state.state_frames import StateMeasures, frames_of
from etl.ledger_state.state_step import StateStep
from etl.ledger_state.state_wealth import wealth_after, wealth_of_days
from etl.report import Progress
from etl.tables.frames import FrameMaker
from etl.writers.frame_writer import upsert_frames
from etl.writers.publish import ANALYSED_TO, Publication

MILESTONES_AT_ONCE = 1_000
"""Milestones per transaction near the frontier. Limits the memory of this process."""

FIRST_NEAR = 1_000
"""Maximum of milestones for which a first ledger state uses single steps, because joins would read just as much."""

NEAR_PART = 2
"""The part of a ledger's milestones that are applied from the store: about as quickly as by joins over all of them
(measured: decisions/0056), whose memory grows with the ledger.
"""

STEPS_KEPT = 10
"""Number of frontiers whose rich list and distribution are kept for readers that read the frontier before. Those of the
last milestones of UTC days are kept forever.
"""

DAYS_RANKED = "days_ranked"
"""keyspace_info key: the milestone from which every day has its rich list and distribution: the genesis."""


def most_near(ledger_near: int, genesis: int, frontier: int) -> int:
    """The maximum of milestones after the frontier that are applied from the store. `ledger_near`: the setting."""
    if frontier == genesis:
        return min(ledger_near, FIRST_NEAR)
    return max(ledger_near, (frontier - genesis) // NEAR_PART) if ledger_near else 0


@dataclass(frozen=True)
class Ledger:
    """The ledger state of one store.

    Attributes:
        publication: the store, and the lake that the state follows from.
        measures: further frames to write with the state. Default: none.
        expected: returns what the state after some milestones must be. Default: nothing is compared.
        within: the milestones that may be applied. Default: all complete ones.
    """

    publication: Publication
    measures: StateMeasures | None = None
    expected: Callable[[Intervals], LedgerComparison | None] = lambda _: None
    within: Intervals | None = None

    def advance(self) -> Found | None:
        """Applies genesis if necessary, then every complete milestone that follows without a gap. Returns the changes
        from genesis to the new frontier or later, if it read them: the store was not near.

        If an included transaction spends an unknown output, the frontier stays before its milestone, and the report
        contains the reason. Without a genesis in the lake there is no ledger state.
        """
        lake, reads, report = self.publication.lake, self.publication.reads, self.publication.report
        if not lake.has("genesis"):
            return None
        genesis = lake.genesis_index()
        frontier, whole = reads.ledger_index(), None
        if frontier is None:
            self._begin(genesis)
            frontier = genesis
        else:
            self._complete(genesis, frontier)
        rich_list.remove_after(self.publication, frontier)
        complete = reads.complete() if self.within is None else intersect(reads.complete(), self.within)
        last = next((end for first, end in complete if first <= frontier + 1 <= end), frontier)
        while frontier < last and not report.held:
            is_near = last - frontier <= most_near(self.publication.settings.ledger_near, genesis, frontier)
            to = min(last, frontier + MILESTONES_AT_ONCE) if is_near else last
            begin = Progress("ledger", frontier - genesis, last - genesis, "milestones")
            with report.counted_writes(self.publication.notify, begin, to - genesis):
                totals = self._totals([(frontier + 1, to)])
                sized = self.publication.for_messages(totals.messages) if is_near else self.publication
                found = (near if is_near else far)(sized, genesis, frontier, to)
                frontier = replace(self, publication=sized)._apply(StateStep(found, totals, genesis, frontier, to))
                whole = None if is_near else found
        compaction.compact_behind(self.publication, genesis, frontier)
        report.ledger_index = frontier
        return whole

    def _totals(self, run: Intervals) -> Totals:
        held = self.publication.few_runs.get(in_words(run))
        return totals_of(self.publication.lake, run) if held is None else totals_of_rows(held.known)

    def _begin(self, genesis: int) -> None:
        """Writes the outputs and balances of genesis."""
        begun = begin_state(self.publication, genesis)
        makers = begun.makers
        if self.measures is not None:
            makers += self.measures.at_genesis(begun.changes, genesis)
        is_whole = self.publication.owners is None
        wealth = rich_list.whole(self.publication.staging, begun.changes) if is_whole else NO_WEALTH
        held = self.publication.lake.genesis()
        sums = reconciliation.at_genesis(held, genesis, supply(wealth.powers)) if is_whole else None
        with self.publication.store.batch(publish=begun.is_large) as batch:
            compaction.forget(batch, self.publication.reads)
            self._upsert(batch, schema.keyspace_info, [(DAYS_RANKED, str(genesis)), genesis_time(held, genesis)])
            written = replace(self, publication=begun.publication)
            written._write(batch, makers, wealth, genesis, sums, analysed=self.measures is not None)

    def _apply(self, step: StateStep) -> int:
        """Writes the state after a step, or only up to the last milestone whose inputs are all known. Returns the new
        frontier.
        """
        step = replace(step, to=self._known_to(step))
        if step.to == step.frontier:
            return step.to
        publication, dead_to = self.publication, step.dead_to(self.publication.settings.ledger_margin)
        with ExitStack() as ending, ThreadPoolExecutor(1, thread_name_prefix="copy") as pool:
            # A new generation begins as a copy of the served one, which takes long and uses one core.
            opens = partial(ending.enter_context, publication.store.batch(publish=not step.is_near))
            opening = None if step.is_near else pool.submit(opens)
            frames = frames_of(publication, step, self.measures)
            held = Wealth(*publication.reads.wealth(step.frontier))
            wealth = wealth_after(publication, step, held)
            days = wealth_of_days(publication, step, held, wealth)
            comparison = partial(self._comparison, step, supply(held.powers), supply(wealth.powers))
            sums = None
            if publication.owners is None:
                sums = reconciliation.after(publication.reads, publication.lake.genesis(), step, supply(held.powers))
            batch = opens() if opening is None else opening.result()
            if frames.opened is not None:
                publication.record(batch, frames.opened)
            if dead_to > step.frontier:
                compaction.forgo(batch, publication.reads, dead_to)
            written = replace(self, publication=replace(publication, writer=frames.writer))
            for end, of_day in days:
                self._write_wealth(batch, end, of_day, most=RICHEST)
            written._write(
                batch, frames.makers, wealth, step.to, sums, analysed=frames.has_measures, comparison=comparison
            )
        compaction.clean_behind(publication, step, dead_to)
        return step.to

    def _comparison(self, step: StateStep, before: int, after: int) -> LedgerComparison | None:
        """What a step must write. `before`, `after`: the supply at the frontier and after the step. Raises WrongRows if
        they contradict the messages.
        """
        if (compared := self.expected(step.run)) is not None:
            compared.check_supply(before, after)
            expect_changes(compared, step, self.publication.staging.joined_shares)
        return compared

    def _complete(self, genesis: int, frontier: int) -> None:
        """Adds what the state of an older version does not have."""
        if self.publication.reads.info(DAYS_RANKED) is None:
            self._rank_days(genesis, frontier)
        if self.publication.reads.info(GENESIS_TIME) is None:
            time = genesis_time(self.publication.lake.genesis(), genesis)
            with self.publication.store.batch() as batch:
                self._upsert(batch, schema.keyspace_info, [time])

    def _rank_days(self, genesis: int, frontier: int) -> None:
        """Writes the wealth distribution at the end of each day up to the frontier, for a state of an older version."""
        found = far(self.publication, genesis, frontier, frontier)
        days = self._totals([(genesis + 1, frontier)]).days
        ends = [each for each in day_wealth.find_ends(self.publication.reads, days) if each < frontier]
        with self.publication.store.batch() as batch:
            for end, of_day in day_wealth.after(found.of_files(), ends) if ends else ():
                self._write_wealth(batch, end, of_day, most=RICHEST)
            self._upsert(batch, schema.keyspace_info, [(DAYS_RANKED, str(genesis))])

    def _write(
        self,
        batch: Batch,
        makers: list[FrameMaker],
        wealth: Wealth,
        ledger_index: int,
        sums: Reconciliation | None,
        *,
        analysed: bool,
        comparison: Callable[[], LedgerComparison | None] = lambda: None,
    ) -> None:
        """Writes all rows, then the frontier. Raises WrongRows for other rows than those expected, which `comparison`
        computes while the engine prepares the first ones.
        """
        network = self.publication.store_settings.network
        upsert_frames(batch, self.publication.writer, makers, self.publication.report.wrote, comparison=comparison)
        self._write_wealth(batch, ledger_index, wealth)
        for old in self.publication.reads.ledger_steps(STEPS_KEPT)[STEPS_KEPT - 1 :]:
            if day_wealth.ends_day(self.publication.reads, old):
                for rank in range(RICHEST + 1, rich_list.KEPT + 1):
                    batch.delete(schema.rich_list, (network, old, rank))
            else:
                batch.delete(schema.distribution, (network, old))
                batch.delete(schema.rich_list, (network, old))
        if sums is not None:
            reconciliation.report_wrong_sum(self.publication.report, sums)
            self._upsert(batch, schema.keyspace_info, [(RECONCILED, sums.text())])
        if analysed:
            self._upsert(batch, schema.keyspace_info, [(ANALYSED_TO, str(ledger_index))])
        self._upsert(batch, schema.ledger_frontier, [(network, ledger_index)])

    def _write_wealth(self, batch: Batch, ledger_index: int, wealth: Wealth, *, most: int = rich_list.KEPT) -> None:
        """Writes the distribution, then at most that many of the richest addresses, the first of them last: readers
        require it.
        """
        network = self.publication.store_settings.network
        spread = [(network, ledger_index, power, *sums) for power, sums in sorted(wealth.powers.items())]
        self._upsert(batch, schema.distribution, spread)
        ranked = [(network, ledger_index, rank, *each) for rank, each in enumerate(wealth.richest[:most], start=1)]
        for some in (ranked[1:], ranked[:1]):
            self._upsert(batch, schema.rich_list, some)

    def _upsert(self, batch: Batch, table: Table, rows: Sequence[Sequence[Value]]) -> None:
        self.publication.report.wrote(table.name, batch.upsert(table, table.names, rows))

    def _known_to(self, step: StateStep) -> int:
        """The milestone before the first one that spends an unknown output, else the end of the step."""
        near = step.found.near
        if near is not None and not near.changes["address"].null_count:
            return step.to
        unknown = step.found.changes.where("address IS NULL")
        row = unknown.agg(F.min(F.struct("milestone_index", "white_flag_index", "idx", "output_id"))).first()
        if row is None or (first := row[0]) is None:
            return step.to
        self.publication.report.held = (
            f"milestone {first['milestone_index']}: input {first['idx']} of the message at white-flag index "
            f"{first['white_flag_index']} spends {bytes(first['output_id']).hex()}, which nothing here created"
        )
        return int(first["milestone_index"]) - 1
