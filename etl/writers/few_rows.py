"""Writes frames of few rows to a store of this process without files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from db.model import Table
from db.store import Batch, Value
from etl.engine.arrow_frames import arrow_frame, collected
from etl.expectations.comparison import Observed
from etl.expectations.fingerprints import frame_of
from etl.tables.frames import TableFrame

FEW_MESSAGES = 2_000
"""A run with at most this number of messages keeps the rows of its tables in this process, so that it needs no files.
They are at most a few per message, and a message has at most 32 KiB.
"""


@dataclass(frozen=True)
class Collected:
    """A frame of few rows in this process. Its rows are not sorted: a store in memory needs no order for them."""

    source: TableFrame
    table_rows: pa.Table
    observed: Observed

    @property
    def columns(self) -> Sequence[str]:
        """The written columns."""
        return self.source.columns

    @property
    def table(self) -> Table:
        """The table of the rows."""
        return self.source.table

    def write(self, batch: Batch) -> int:
        """Writes the rows."""
        return batch.upsert(self.table, self.source.columns, self.rows())

    def again(self) -> DataFrame:
        """Returns the rows as a frame."""
        return arrow_frame(self.source.frame.sparkSession, self.table_rows)

    def drop(self) -> None:
        """Does nothing."""

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """All rows in native values."""
        for batch in self.table_rows.to_batches():
            columns = [_native(column) for column in batch.columns]
            self.observed.add(columns)
            yield from zip(*(column.to_pylist() for column in columns), strict=True)


def _native(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if pa.types.is_date(column.type) else column


@dataclass(frozen=True)
class FewRowsWriter:
    """The FrameWriter of a store in this process, for few rows: no files, and one task for each frame."""

    def prepare(self, frame: TableFrame) -> Collected:
        """Computes the rows of a frame."""
        observed = Observed(frame_of(frame.table, frame.columns), frame.columns)
        return Collected(frame, collected(frame.frame.select(*frame.columns)), observed)

    def for_few_rows(self) -> "FewRowsWriter":
        """Returns itself."""
        return self
