"""Compares what was written with what was expected, and raises WrongRows at the first difference."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import pyarrow as pa

from db import schema
from db.intervals import Intervals, in_words, intersect, of_indices
from db.model import Table
from etl.engine.current import SAIL, SPARK, on_sail
from etl.expectations.expected import Expected
from etl.expectations.fingerprints import FRAMES, LEDGER_FRAMES, NETTED, Fingerprint, Rows, frame_of
from etl.expectations.hints import HintKeys, HintSums, keys_of
from etl.expectations.words import Words, plain_amounts, row_hashes, words

NEXT_STEP = "Run the load again; if the error repeats, set etl.engine to the other engine"


class WrongRows(RuntimeError):
    """The engine returned other rows than the decoded messages lead to."""


@dataclass
class Observed:
    """The fingerprint of the rows of one frame, from the Arrow batches that a writer hands to the store.

    Attributes:
        frame: the entry of ALL_FRAMES. None: no fingerprint is computed.
        hints: the hints that the rows are or lead to.
        columns: the names of the columns.
        sums: the fingerprint of the batches so far.
    """

    frame: Rows | None
    hints: Sequence[HintKeys]
    columns: Sequence[str]
    sums: Fingerprint = field(default_factory=Fingerprint)

    def add(self, batch: Sequence[pa.Array]) -> None:
        """Adds a batch, given as its columns."""
        if self.frame is None and not self.hints:
            return
        # The rows may end with a column that is not written: their time.
        arrays, count = dict(zip(self.columns, batch, strict=False)), len(batch[0])
        found: dict[str, Words] = {}
        if self.frame is not None:
            found = {name: words(arrays[name]) for name in self.frame.columns}
            hashes = row_hashes(found, self.frame.columns, count)
            amount = 0 if self.frame.amount is None else int(plain_amounts(arrays[self.frame.amount]).sum())
            rows = count
            if self.frame.where is not None:
                name, value = self.frame.where
                kept = words(arrays[name]) == words(pa.array([value]))[0]
                rows, hashes = int(kept.sum()), hashes[kept]
            self.sums += Fingerprint(rows, amount, int(hashes.sum()))
        for each in self.hints:
            each.add(arrays, found, count)


def observe(table: Table, columns: Sequence[str]) -> Observed:
    """Returns what is computed of the rows of a frame with these written columns."""
    return Observed(frame_of(table, columns), keys_of(table, columns), columns)


@dataclass
class Comparison:
    """The expectations of one batch of milestones. Frames without an expectation are not compared.

    Attributes:
        milestones: the milestones of the batch.
        expected: their fingerprints by frame.
        found: the fingerprints of the frames that were written. None: only the number of rows was compared.
    """

    milestones: Intervals
    expected: dict[str, Fingerprint]
    found: dict[str, Fingerprint | None] = field(default_factory=dict)

    def check(self, table: Table, columns: Sequence[str], rows: int, observed: Observed | None) -> None:
        """Compares a frame that was written, given by its number of rows and, if known, what was observed of them.

        Raises WrongRows.
        """
        frame = frame_of(table, columns)
        if frame is None or frame.name not in self.expected:
            return
        expected, seen = self.expected[frame.name], None if observed is None else observed.sums
        found = replace(expected, rows=rows) if seen is None else seen
        if frame.name not in NETTED and found != expected:
            self._fail(frame.name, expected, found)
        self.found[frame.name] = seen

    def end(self, *, before_sync: bool = False) -> None:
        """Raises WrongRows if rows of a frame are expected that was not written. `before_sync`: all but `sync`."""
        for name, expected in self.expected.items():
            if name not in self.found and expected.rows and name not in NETTED and not (before_sync and name == "sync"):
                self._fail(name, expected, Fingerprint())
        created, spent = (self.found.get(name) for name in NETTED)
        if created is not None and spent is not None:
            # Outputs that are spent soon are in neither frame.
            expected = self.expected[NETTED[0]] - self.expected[NETTED[1]]
            if created - spent != expected:
                self._fail(NETTED[0], expected, created - spent)

    def _fail(self, name: str, expected: Fingerprint, found: Fingerprint) -> NoReturn:
        raise WrongRows(wrong_rows(name, self.milestones, expected, found))


@dataclass
class LedgerComparison(Comparison):
    """The expectations of the ledger state after some milestones.

    Attributes:
        migrated: the base tokens that receipts took from the treasury.
        surplus: computes what transactions created beyond what they spent, which takes long.
    """

    migrated: int = 0
    surplus: Callable[[], int] = lambda: 0

    def expect(self, frame: Rows, expected: Fingerprint) -> None:
        """Adds the expectation of a frame that follows from the changes of the ledger."""
        self.expected[frame.name] = expected

    def check_supply(self, before: int, after: int) -> None:
        """Raises WrongRows unless the balances add up to those before, the migrated funds and the surplus."""
        expected = before + self.migrated
        if after != expected:
            # No coordinator should include such a transaction, but one may have.
            surplus = self.surplus()
            expected += surplus
            for name in _CHANGES:
                one = self.expected[name]
                self.expected[name] = replace(one, amount=(one.amount - surplus) % 2**64)
        if after != expected:
            raise WrongRows(wrong_rows("distribution", self.milestones, f"{expected:,} base tokens", f"{after:,}"))


@dataclass
class HintComparison:
    """Compares the hints of a batch with its lookup rows. Frames of which this process sees no rows are not compared.

    Attributes:
        sums: the hints so far.
        unseen: whether a frame was written elsewhere.
    """

    sums: HintSums = field(default_factory=HintSums)
    unseen: bool = False

    def add(self, table: Table, observed: Observed | None) -> None:
        """Adds a written frame."""
        if observed is None:
            self.unseen = True
        else:
            self.sums.add(table, observed.hints)

    def end(self) -> None:
        """Raises WrongRows if a partition with rows has no hint, or a hint no partition."""
        if not self.unseen and (found := self.sums.differing()) is not None:
            name, expected, written = found
            raise WrongRows(
                f"{name}: the engine {engine_name()} returned wrong rows: the partitions of the rows need {expected}; "
                f"found {written}. These rows do not count as written. {NEXT_STEP}"
            )


@dataclass(frozen=True)
class Expectation:
    """What a run must write.

    Attributes:
        expected: the sums by milestone.
        unknown: milestones whose rows were not computed outside the engine: those of a lake that this process does not
            read. A batch with one of them is not compared.
    """

    expected: Expected = field(default_factory=Expected)
    unknown: Intervals = field(default_factory=list)

    @property
    def known(self) -> Intervals:
        """The milestones whose sums are known."""
        return of_indices(self.expected.milestones)

    def compared_with(self, milestones: Intervals, without: Collection[Table] = ()) -> Comparison | None:
        """Returns the comparison of a batch of these milestones. `without`: tables that are not written."""
        if intersect(self.unknown, milestones):
            return None
        sums = self.expected.over(milestones)
        return Comparison(milestones, {each.name: sums[each.name] for each in FRAMES if each.table not in without})

    def ledger(self, milestones: Intervals) -> LedgerComparison | None:
        """Returns the comparison of the ledger state after these milestones, which follow each other."""
        if intersect(self.unknown, milestones):
            return None
        sums = self.expected.over(milestones)
        created, changed = sums["outputs (created)"].amount, sums["ledger_updates_by_milestone"].amount
        expected = {each.name: sums[each.name] for each in LEDGER_FRAMES}
        # What transactions created counts twice in the changes, what receipts created once.
        return LedgerComparison(milestones, expected, migrated=(2 * created - changed) % 2**64)


def compare_lake(decoded: Expected, held: Expected, milestones: Intervals) -> None:
    """Raises WrongRows unless the lake's messages of these milestones lead to the same rows as the decoded ones."""
    names = [frame.name for frame in FRAMES if frame.table is not schema.sync]
    for index, expected, found in _differing(decoded, held, milestones):
        for name in names:
            if expected[name] != found[name]:
                raise WrongRows(wrong_rows(f"{_LAKE} {name}", [(index, index)], expected[name], found[name]))


def compare_messages(decoded: Expected, held: Expected, milestones: Intervals) -> None:
    """Raises WrongRows unless these milestones have the same messages, with whatever states and positions."""
    for index, expected, found in _differing(decoded, held, milestones):
        for name in _WITHOUT_STATES:
            if (expected[name].rows, expected[name].amount) != (found[name].rows, found[name].amount):
                raise WrongRows(wrong_rows(f"{_LAKE} {name}", [(index, index)], expected[name], found[name]))


def _differing(
    decoded: Expected, held: Expected, milestones: Intervals
) -> Iterator[tuple[int, Mapping[str, Fingerprint], Mapping[str, Fingerprint]]]:
    """The milestones that differ, with both fingerprints."""
    for first, last in milestones:
        for index in range(first, last + 1):
            if decoded.milestones.get(index) != held.milestones.get(index):
                place = [(index, index)]
                yield index, decoded.over(place), held.over(place)


_CHANGES = ("ledger_updates_by_milestone", "ledger_updates_by_address")
_LAKE = "messages of the lake, as rows of"
_WITHOUT_STATES = ("messages", "parents", "tags", "transactions", "outputs_by_address", "transactions_by_address")
"""Frames that have the same number of rows and the same amounts whatever the states of the messages are."""


def engine_name() -> str:
    """The engine of this process."""
    return SAIL if on_sail() else SPARK


def wrong_rows(name: str, milestones: Intervals, expected: object, found: object) -> str:
    """The text of an error: what differs, and what to do."""
    where = f"{name}, milestones {in_words(milestones)}" if milestones else name
    return (
        f"{where}: the engine {engine_name()} returned wrong rows: expected "
        f"{expected}; found {found}. These rows do not count as written. {NEXT_STEP}"
    )
