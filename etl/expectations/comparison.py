"""Compares what was written with what was expected, and raises WrongRows at the first difference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from db import schema
from db.intervals import Intervals, in_words, intersect
from db.model import Table
from etl.engine.current import SAIL, SPARK, on_sail
from etl.expectations.expected import Expected
from etl.expectations.fingerprints import FRAMES, Fingerprint, Rows, frame_of
from etl.expectations.words import amounts, row_hashes, words

NEXT_STEP = "Run the load again; if the error repeats, set etl.engine to the other engine"


class WrongRows(RuntimeError):
    """The engine returned other rows than the decoded messages lead to."""


@dataclass
class Observed:
    """The fingerprint of the rows of one frame, from the Arrow batches that a writer hands to the store.

    Attributes:
        frame: the entry of FRAMES. None: nothing is computed.
        columns: the names of the columns.
        sums: the fingerprint of the batches so far.
    """

    frame: Rows | None
    columns: Sequence[str]
    sums: Fingerprint = field(default_factory=Fingerprint)

    def add(self, batch: Sequence[pa.Array]) -> None:
        """Adds a batch, given as its columns."""
        if self.frame is None:
            return
        # The rows may end with a column that is not written: their time.
        arrays = dict(zip(self.columns, batch, strict=False))
        found = {name: words(arrays[name]) for name in self.frame.columns}
        hashes = row_hashes(found, self.frame.columns, len(batch[0]))
        amount = 0 if self.frame.amount is None else int(amounts(arrays[self.frame.amount]).sum())
        self.sums += Fingerprint(len(batch[0]), amount, int(hashes.sum()))


@dataclass
class Comparison:
    """The expectations of one batch of milestones. Frames that do not follow from messages alone are not compared.

    Attributes:
        milestones: the milestones of the batch.
        expected: their fingerprints by frame.
        seen: the frames that were compared.
    """

    milestones: Intervals
    expected: Mapping[str, Fingerprint]
    seen: set[str] = field(default_factory=set)

    def check(self, table: Table, columns: Sequence[str], found: Fingerprint | int) -> None:
        """Compares a frame that was written. `found`: its fingerprint, or only its number of rows.

        Raises WrongRows.
        """
        frame = frame_of(table, columns)
        if frame is None:
            return
        expected = self.expected[frame.name]
        if isinstance(found, int):
            found = Fingerprint(found, expected.amount, expected.hashes)
        if found != expected:
            raise WrongRows(_difference(frame.name, self.milestones, expected, found))
        self.seen.add(frame.name)

    def end(self, *, before_sync: bool = False) -> None:
        """Raises WrongRows if rows of a frame are expected that was not written. `before_sync`: all but `sync`."""
        for name, expected in self.expected.items():
            if name not in self.seen and expected.rows and not (before_sync and name == "sync"):
                raise WrongRows(_difference(name, self.milestones, expected, Fingerprint()))


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

    def compared_with(self, milestones: Intervals) -> Comparison | None:
        """Returns the comparison of a batch of these milestones."""
        if intersect(self.unknown, milestones):
            return None
        return Comparison(milestones, self.expected.over(milestones))


def compare_lake(decoded: Expected, held: Expected, milestones: Intervals) -> None:
    """Raises WrongRows unless the lake's messages of these milestones lead to the same rows as the decoded ones."""
    names = [frame.name for frame in FRAMES if frame.table is not schema.sync]
    for index, expected, found in _differing(decoded, held, milestones):
        for name in names:
            if expected[name] != found[name]:
                raise WrongRows(_difference(f"{_LAKE} {name}", [(index, index)], expected[name], found[name]))


def compare_messages(decoded: Expected, held: Expected, milestones: Intervals) -> None:
    """Raises WrongRows unless these milestones have the same messages, with whatever states and positions."""
    for index, expected, found in _differing(decoded, held, milestones):
        for name in _WITHOUT_STATES:
            if (expected[name].rows, expected[name].amount) != (found[name].rows, found[name].amount):
                raise WrongRows(_difference(f"{_LAKE} {name}", [(index, index)], expected[name], found[name]))


def _differing(
    decoded: Expected, held: Expected, milestones: Intervals
) -> Iterator[tuple[int, Mapping[str, Fingerprint], Mapping[str, Fingerprint]]]:
    """The milestones that differ, with both fingerprints."""
    for first, last in milestones:
        for index in range(first, last + 1):
            if decoded.milestones.get(index) != held.milestones.get(index):
                place = [(index, index)]
                yield index, decoded.over(place), held.over(place)


_LAKE = "messages of the lake, as rows of"
_WITHOUT_STATES = ("messages", "parents", "tags", "transactions", "outputs_by_address", "transactions_by_address")
"""Frames that have the same number of rows and the same amounts whatever the states of the messages are."""


def engine_name() -> str:
    """The engine of this process."""
    return SAIL if on_sail() else SPARK


def _difference(name: str, milestones: Intervals, expected: Fingerprint, found: Fingerprint) -> str:
    return (
        f"{name}, milestones {in_words(milestones)}: the engine {engine_name()} returned wrong rows: expected "
        f"{expected}; found {found}. None of these milestones is marked complete. {NEXT_STEP}"
    )
