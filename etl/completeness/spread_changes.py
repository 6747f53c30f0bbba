"""Changes of the ledger in files by milestones: each step reads its own, not all since genesis.

CHANGES are staged in the order of a join. Finding the milestones of one step among them takes as long as the ledger is
long, and a load has many steps.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.completeness.updates import CHANGE

MOST_PARTS = 256
"""The maximum of files, all of which are open while they are written."""

LEAST_MILESTONES = 1_000
"""The minimum of milestones of a file."""

BATCH_ROWS = 131_072


@dataclass(frozen=True)
class SpreadChanges:
    """CHANGE of the milestones first ≤ m ≤ last. File `n` has those with (m − first) // span = n."""

    folder: Path
    first: int
    last: int

    @property
    def span(self) -> int:
        """Milestones of a file."""
        return max(LEAST_MILESTONES, -(-(self.last - self.first + 1) // MOST_PARTS))

    def write(self, changes: Sequence[Path]) -> None:
        """Reads the files of all CHANGES since genesis (etl/ledger_state/changes.py), a batch at a time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        parts = self._part(self.last) + 1
        with ExitStack() as files:
            sinks = [files.enter_context(pa.OSFile(str(self._file(part)), "wb")) for part in range(parts)]
            writers = [files.enter_context(pa.ipc.new_file(sink, CHANGE)) for sink in sinks]
            for batch in _batches(changes):
                milestones = batch["milestone_index"]
                inside = pc.and_(pc.greater_equal(milestones, self.first), pc.less_equal(milestones, self.last))
                rows = batch.filter(inside).sort_by("milestone_index")
                number = pc.divide(pc.subtract(rows["milestone_index"], self.first), self.span)
                start = 0
                for counted in pc.value_counts(number).to_pylist():
                    writers[counted["values"]].write_table(rows.slice(start, counted["counts"]))
                    start += counted["counts"]

    def between(self, start: int, to: int) -> pa.Table:
        """CHANGE of the milestones start ≤ m ≤ to, in any order; first ≤ start, to ≤ last."""
        return pa.concat_tables(self._read(part, start, to) for part in range(self._part(start), self._part(to) + 1))

    def _read(self, part: int, start: int, to: int) -> pa.Table:
        with pa.memory_map(str(self._file(part))) as source:
            rows = pa.ipc.open_file(source).read_all()
        milestones = rows["milestone_index"]
        return rows.filter(pc.and_(pc.greater_equal(milestones, start), pc.less_equal(milestones, to)))

    def _part(self, milestone: int) -> int:
        return (milestone - self.first) // self.span

    def _file(self, part: int) -> Path:
        return self.folder / f"{part}.arrow"


def _batches(changes: Sequence[Path]) -> Iterator[pa.Table]:
    """CHANGE of all rows. Changes of a ledger in which nothing expires are without `owner`, which is `address`."""
    for part in changes:
        with pq.ParquetFile(part) as file:
            names: Sequence[str] = file.schema_arrow.names
            read = [name if name in names else "address" for name in CHANGE.names]
            for batch in file.iter_batches(BATCH_ROWS, columns=read, use_threads=False):
                yield pa.table([batch.column(name) for name in read], CHANGE.names).cast(CHANGE)
