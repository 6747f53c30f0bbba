"""The scratch space of a run: frames in Parquet files, sorted or not.

With Sail, a large run is staged in shares (etl/writers/sorting.py), and joins and sums are computed one share after the
other, because Sail holds their rows in memory. With Spark there is one share: it sorts and joins in tasks, on disk if
necessary.
"""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from db.model import Table
from db.store import Batch, RowBatches, Value
from etl.engine.current import on_sail
from etl.engine.garbage import collect_rarely
from etl.engine.parquet import write_parquet
from etl.engine.row_files import values_of
from etl.expectations.comparison import Observed, observe
from etl.tables.frames import WHOLE, TableFrame
from etl.writers.sorting import SHARE, rows_as_written, rows_in_order, share_of, with_text_dates, write_sorted

SHARE_BYTES = 256 << 20
"""Bytes of input whose rows this process sorts at once, in memory, with Sail."""

SHARES_JOINED = 2
"""Shares whose rows Sail joins or sums at once, in memory."""

STAGERS = 2
"""Frames that are staged at once by default."""


@dataclass(frozen=True)
class Staged:
    """A frame on disk, in Parquet files."""

    table: Table
    columns: Sequence[str]
    directory: Path
    source: TableFrame
    observed: Observed
    timed: bool = False
    """Whether the rows end with the column FACT."""
    in_order: bool = True
    """Whether `write_sorted` wrote the rows."""

    def write(self, batch: Batch) -> int:
        """Writes the rows in a single pass in this process."""
        if self.timed:
            return batch.upsert(self.table, self.columns, self.rows(), timed=True)
        return batch.upsert(self.table, self.columns, self.rows())

    def again(self) -> DataFrame:
        """Reads the rows from disk."""
        return self.source.frame.sparkSession.read.schema(self.source.ddl).parquet(*map(str, self._files()))

    def drop(self) -> None:
        """Frees the scratch space."""
        shutil.rmtree(self.directory)

    def rows(self) -> RowBatches:
        """All rows in native values."""
        return RowBatches(self._columns(), has_messages=self.source.has_whole)

    def _columns(self) -> Iterator[list[list[Value]]]:
        collect_rarely()
        batches = rows_in_order(self.source, self.directory) if self.in_order else rows_as_written(self.directory)
        for batch in batches:
            self.observed.add(batch.columns)
            yield [values_of(column) for column in batch.columns]

    def _files(self) -> list[Path]:
        return sorted(self.directory.rglob("*.parquet"))

    def count(self) -> int:
        """The number of rows, from the footers of the files."""
        return sum(pq.read_metadata(file).num_rows for file in self._files())


class Staging:
    """Scratch space of a run, which is deleted at its end."""

    def __init__(self, root: Path, size: int = 0) -> None:
        """`root`: the directory. `size`: bytes of the input. With Sail, the rows of SHARE_BYTES of it are a share."""
        self._root = root
        self._shares = max(1, -(-size // SHARE_BYTES))
        self.joined_shares = -(-self._shares // SHARES_JOINED) if on_sail() else 1
        """The number of shares of rows that are joined or summed one after the other."""
        # Of a large run, two frames at once would need too much memory for their joins. A pool writes them in the order
        # in which they come; a semaphore may let the same thread go first again and again.
        at_once = 1 if self._shares > 1 and on_sail() else STAGERS + 1
        self._writing = ThreadPoolExecutor(at_once, thread_name_prefix="write")
        self._numbers = count(1)
        shutil.rmtree(root, ignore_errors=True)

    def stage(self, frame: TableFrame) -> Staged:
        """Writes a frame sorted by the key of its table."""
        directory = self.folder(frame.table.name)
        self._writing.submit(write_sorted, frame, directory, self._shares).result()
        return Staged(frame.table, frame.columns, directory, frame, observe(frame.table, frame.columns))

    def stage_timed(self, frame: TableFrame) -> Staged:
        """Writes a frame unsorted, with the column FACT if it has one, and without WHOLE."""
        frame = replace(frame.mapped(lambda rows: rows.drop(WHOLE)), has_whole=False)
        directory = self.folder(frame.table.name)
        for number, rows in enumerate(with_text_dates(frame).shares):
            self._write(rows, directory / str(number))
        observed = observe(frame.table, frame.columns)
        return Staged(frame.table, frame.columns, directory, frame, observed, frame.has_fact, in_order=False)

    def write(self, name: str, frame: DataFrame) -> Path:
        """Writes a frame unsorted. Returns its path."""
        directory = self.folder(name)
        self._write(frame, directory)
        return directory

    def add(self, folder: Path, name: str, frame: DataFrame) -> None:
        """Writes a frame into a folder with files of the same columns. `name`: that of its own folder meanwhile."""
        written = self.write(name, frame)
        for part in written.glob("*.parquet"):
            part.rename(folder / part.name)
        self.free(written)

    def write_shares(self, name: str, frame: DataFrame, key: str) -> list[Path]:
        """Writes a frame unsorted, in `joined_shares` of a hash. Returns the folder of each."""
        if self.joined_shares == 1:
            return [self.write(name, frame)]
        directory = self.folder(name)
        self._write(frame.withColumn(SHARE, share_of(key, self.joined_shares)), directory, SHARE)
        folders = [directory / f"{SHARE}={number}" for number in range(self.joined_shares)]
        for folder in folders:
            if not folder.exists():
                folder.mkdir()
                pq.write_table(to_arrow_schema(frame.schema).empty_table(), folder / "part-0.parquet")
        return folders

    def shares(self, name: str, frame: DataFrame, key: str) -> Iterator[DataFrame]:
        """Yields the rows in `joined_shares` of a hash. Several are written first, so that the frame is computed once,
        and each is deleted when the next one is requested.
        """
        if self.joined_shares == 1:
            yield frame
            return
        read = frame.sparkSession.read.schema(frame.schema)
        for folder in self.write_shares(name, frame, key):
            yield read.parquet(str(folder))
            self.free(folder)

    def apart(self, frames: Sequence[DataFrame]) -> Sequence[DataFrame]:
        """Frames of which Sail holds what it sums: in a large run each by itself, otherwise all as one."""
        return frames if self.joined_shares > 1 else [reduce(DataFrame.unionByName, frames)]

    def _write(self, frame: DataFrame, directory: Path, *partitions: str) -> None:
        self._writing.submit(write_parquet, frame, directory, *partitions).result()

    def folder(self, name: str) -> Path:
        """The path of a new folder that is deleted with the rest."""
        return self._root / f"{next(self._numbers):04d}-{name}"

    def close(self) -> None:
        """Deletes the scratch space."""
        self._writing.shutdown()
        shutil.rmtree(self._root, ignore_errors=True)

    @staticmethod
    def free(directory: Path) -> None:
        """Deletes one folder."""
        shutil.rmtree(directory)
