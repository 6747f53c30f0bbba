"""Reads the complete milestones of a lake in order, without an engine.

Memory grows with the rows of STEP milestones, not with the lake.
Files of the lake are sorted by milestone. A milestone may be in several files.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from db.intervals import Intervals, of_indices
from etl.engine.checksums import check_files
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_state import DataFile
from etl.engine.file_systems import file_system
from etl.lake.delta import KEY, TABLES
from etl.lake.genesis_tables import GENESIS

BATCH_ROWS = 20_000

STEP = 100
"""Milestones whose rows are in memory at a time."""


NAMES = ("messages", "milestones", "genesis", "key_ranges")
"""Tables of the lake."""


class LakeReader:
    """Reads one version of the lake at a path or URL."""

    def __init__(self, root: str) -> None:
        self._logs = {name: DeltaLog(f"{root}/{name}", TABLES[name]) for name in NAMES}

    def complete(self) -> Intervals:
        """The complete milestones of the lake."""
        found = [
            table[KEY].filter(table["verified"].is_valid()).to_pylist()
            for table in self._tables("milestones", [KEY, "verified"], None)
        ]
        return of_indices(index for part in found for index in part)

    def milestone_id(self, milestone_index: int) -> bytes:
        """The 32-byte id of a milestone. Raises ValueError if the lake does not have it."""
        for table in self._tables("milestones", [KEY, "milestone_id"], (milestone_index, milestone_index)):
            rows = table.filter(pc.equal(table[KEY], milestone_index))
            if rows.num_rows:
                return bytes(rows["milestone_id"][0].as_py())
        raise ValueError(f"milestone {milestone_index} of the lake expected")

    def genesis(self) -> pa.Table:
        """The outputs of the genesis or snapshot; without rows if the lake has none."""
        names = [name for name in GENESIS.names if name != "stardust"]
        return pa.concat_tables(
            [pa.schema([GENESIS.field(name) for name in names]).empty_table(), *self._whole("genesis", names)],
            promote_options="permissive",
        )

    def coordinator_keys(self, first: int) -> list[bytes]:
        """The keys that the genesis has, which sign milestones from `first` on."""
        parts = self._whole("key_ranges", ["public_key", "first_milestone"])
        return sorted(
            row["public_key"] for part in parts for row in part.to_pylist() if row["first_milestone"] == first
        )

    def _whole(self, table: str, columns: list[str]) -> Iterator[pa.Table]:
        log = self._logs[table]
        system = file_system(log.root)
        for each in log.files():
            with system.open_input_file(each.path) as source:
                yield pq.read_table(source, columns=columns)

    def _tables(self, table: str, columns: list[str], span: tuple[int, int] | None) -> Iterator[pa.Table]:
        log = self._logs[table]
        system = file_system(log.root)
        for each in self._files(table, span):
            with system.open_input_file(each.path) as source:
                yield pq.read_table(source, columns=columns)

    def _files(self, table: str, span: tuple[int, int] | None) -> list[DataFile]:
        """The files that may have rows of a span, compared with their checksums. Raises FileDamaged."""
        log = self._logs[table]
        files = log.files()
        if span is not None:
            files = [each for each in files if _may_have(each, span)]
        check_files(log.root, KEY, files)
        return sorted(files, key=lambda each: (each.least or 0, each.greatest or 0, each.path))

    def rows(self, first: int, last: int, columns: Sequence[str], step: int = STEP) -> Iterator[pa.Table]:
        """Yields the messages of milestones first ≤ m ≤ last in white-flag order, some milestones at a time.

        Args:
            first: milestone.
            last: milestone.
            columns: beside milestone_index and white_flag_index.
            step: milestones at a time, up to a multiple of it. Those of a table without rows are left out.

        Raises:
            ValueError: a file has another order.
        """
        log = self._logs["messages"]
        system = file_system(log.root)
        waiting, opened = self._files("messages", (first, last)), list[_SortedFile]()
        names = [KEY, "white_flag_index", *columns]
        try:
            for number in range(first // step, last // step + 1):
                end = min(number * step + step - 1, last)
                while waiting and (waiting[0].least or 0) <= end:
                    opened.append(_SortedFile(system, waiting.pop(0), names, first))
                parts = [part for file in opened for part in file.through(end)]
                for file in opened:
                    if file.is_finished:
                        file.close()
                opened = [file for file in opened if not file.is_finished]
                if parts:
                    order = [(KEY, "ascending"), ("white_flag_index", "ascending")]
                    yield pa.Table.from_batches(parts).sort_by(order)
        finally:
            for file in opened:
                file.close()


class _SortedFile:
    """A file of the lake as a stream of rows by milestone."""

    def __init__(self, system: pa.fs.FileSystem, file: DataFile, columns: list[str], first: int) -> None:
        self._name, self._first = file.path, first
        self._source = system.open_input_file(file.path)
        self._parquet = pq.ParquetFile(self._source)
        self._batches = self._parquet.iter_batches(BATCH_ROWS, self._groups(), columns=columns)
        self._held: pa.RecordBatch | None = None
        self._newest = -1
        self.is_finished = False

    def _groups(self) -> list[int]:
        """The row groups that may have milestones from the first one on."""
        metadata = self._parquet.metadata
        at = self._parquet.schema_arrow.names.index(KEY)
        wanted = []
        for group in range(metadata.num_row_groups):
            statistics = metadata.row_group(group).column(at).statistics
            if statistics is None or not statistics.has_min_max or statistics.max >= self._first:
                wanted.append(group)
        return wanted

    def through(self, end: int) -> Iterator[pa.RecordBatch]:
        """Yields the next rows with milestones up to `end`."""
        while not self.is_finished:
            if self._held is None:
                self._held = next(self._batches, None)
                if self._held is None:
                    self.is_finished = True
                    return
                self._check_order(self._held.column(KEY))
            indices = self._held.column(KEY)
            chosen = self._held.filter(pc.and_(pc.less_equal(indices, end), pc.greater_equal(indices, self._first)))
            rest = self._held.filter(pc.greater(indices, end))
            if chosen.num_rows:
                yield chosen
            self._held = rest if rest.num_rows else None
            if self._held is not None:
                return

    def _check_order(self, indices: pa.Array) -> None:
        """Raises ValueError if milestones are not in order."""
        found = np.concatenate(([self._newest], indices.to_numpy(zero_copy_only=False)))
        if (found[1:] < found[:-1]).any():
            raise ValueError(f"{self._name}: rows in the order of milestones expected; load them again")
        self._newest = int(found[-1])

    def close(self) -> None:
        self._source.close()


def _may_have(file: DataFile, span: tuple[int, int]) -> bool:
    first, last = span
    return (file.least is None or file.least <= last) and (file.greatest is None or file.greatest >= first)
