"""Leaves of the smallest intervals as far as they follow from messages, in a file.

They do not depend on the ledger's changes, so they are computed while the ledger state advances, which does not use
all cores all the time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from etl.completeness.leaves import LEAVES, leaves_of
from etl.completeness.rows import ORDER, ROWS, listing_rows
from etl.lake.reader import LakeReader
from ledger.completeness.intervals import Interval

NOTHING = (-1, ROWS.empty_table())
"""The number of no interval, and no rows."""


@dataclass(frozen=True)
class MessageLeaves:
    """LEAVES of intervals of level 0 without the ledger's changes.

    Attributes:
        root: of the lake.
        first: the first milestone after the genesis.
        intervals: those in the file, adjacent and in order.
        file: a record batch for each of them.
    """

    root: str
    first: int
    intervals: Sequence[Interval]
    file: Path

    def write(self) -> None:
        """Computes the leaves and writes the file. Memory grows with the rows of an interval."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(self.file), "wb") as sink, pa.ipc.new_file(sink, LEAVES) as writer:
            for leaves in self._computed(self.intervals):
                writer.write_batch(pa.RecordBatch.from_struct_array(leaves.to_struct_array().combine_chunks()))

    def of(self, interval: Interval) -> pa.Table:
        """Those of an interval: of the file, which must be written, or computed if the file is not to have them."""
        if not self.intervals or not self.intervals[0] <= interval <= self.intervals[-1]:
            return next(self._computed([interval]))
        with pa.memory_map(str(self.file)) as source:
            batch = pa.ipc.open_file(source).get_batch(interval.number - self.intervals[0].number)
        return pa.Table.from_batches([batch])

    def _computed(self, intervals: Sequence[Interval]) -> Iterator[pa.Table]:
        if not intervals:
            return
        found = listing_rows(LakeReader(self.root), max(self.first, intervals[0].start), intervals[-1].end)
        number, rows = next(found, NOTHING)
        for interval in intervals:
            if number == interval.number:
                yield leaves_of(rows.sort_by(ORDER))
                number, rows = next(found, NOTHING)
            else:
                yield LEAVES.empty_table()
