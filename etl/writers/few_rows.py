"""Writes frames of few rows to a store of this process without files."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame

from db.model import Table
from db.roles import LOOKUP_OF_TABLE
from db.schema.protocols import LOOKUPS
from db.store import Batch, RowBatches, Value
from etl.engine.arrow_frames import arrow_frame, collected
from etl.engine.session import Session
from etl.expectations.comparison import Observed, observe
from etl.tables.frames import EXPIRES_AT, EarlierFrames, FrameMaker, TableFrame
from etl.tables.partition_columns import Placement
from etl.tables.row_frames import RowFrame, arrow_schema, part, together
from etl.tables.run_frames import FrameSource, Source
from etl.writers.few_partitions import FewPartitions


@dataclass
class Collected:
    """Rows of a table in this process. They are not sorted: a store in memory needs no order for them.

    Attributes:
        table: the table of the rows.
        table_rows: the rows, with the written columns.
        session: makes a frame of the rows.
        partitions: records the splits that the rows opened. None: they are in no partitions, or need no splits.
        has_expiry: whether the rows end with the column EXPIRES_AT, in addition to the written columns.
    """

    table: Table
    table_rows: pa.Table
    session: Session
    partitions: FewPartitions | None = None
    has_expiry: bool = False
    observed: Observed = field(init=False)

    def __post_init__(self) -> None:
        self.observed = observe(self.table, self.columns)

    @property
    def columns(self) -> Sequence[str]:
        """The written columns."""
        names: list[str] = self.table_rows.column_names
        return names[:-1] if self.has_expiry else names

    def write(self, batch: Batch) -> int:
        """Writes the splits that the rows opened and the tails, then the rows."""
        if self.partitions is not None:
            self.partitions.record(batch, self.table)
        return batch.upsert(self.table, self.columns, self.rows(), expiring=self.has_expiry)

    def again(self) -> DataFrame:
        """Returns the rows as a frame."""
        return arrow_frame(self.session, self.table_rows)

    def drop(self) -> None:
        """Does nothing."""

    def rows(self) -> RowBatches:
        """All rows in native values."""
        return RowBatches(self._columns())

    def _columns(self) -> Iterator[list[list[Value]]]:
        for batch in self.table_rows.to_batches():
            columns = [_native(column) for column in batch.columns]
            self.observed.add(columns)
            yield [column.to_pylist() for column in columns]


def _native(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if pa.types.is_date(column.type) else column


@dataclass(frozen=True)
class FewRowsWriter:
    """The FrameWriter of a store in this process, for few rows: no files, and one task for each frame.

    Attributes:
        partitions: places the rows of lookups. None: frames contain their partitions.
    """

    partitions: FewPartitions | None = None

    def prepare(self, frame: TableFrame) -> Collected:
        """Computes the rows of a frame."""
        if frame.has_expiry:
            rows = collected(frame.frame.select(*frame.columns, EXPIRES_AT))
            return Collected(frame.table, rows, frame.frame.sparkSession, has_expiry=True)
        rows = collected(frame.frame.select(*frame.columns))
        return self.placed(frame.table, rows, frame.frame.sparkSession)

    def placed(self, table: Table, rows: pa.Table, session: Session) -> Collected:
        """Places rows in this process."""
        if self.partitions is None or table not in LOOKUP_OF_TABLE:
            return Collected(table, rows, session)
        return Collected(table, self.partitions.place(table, rows), session, self.partitions)

    @property
    def holds_few_rows(self) -> bool:
        """Yes."""
        return True


class SharedSource:
    """An etl.tables.run_frames.Source whose frames share one query. All of them are made before one is used."""

    def __init__(self, rows: DataFrame, writer: FewRowsWriter) -> None:
        self._rows = rows
        self._writer = writer
        self._frames: list[RowFrame] = []
        self._collecting = threading.Lock()
        self._collected: list[Collected] = []

    def frame(self) -> DataFrame:
        """Returns the rows."""
        return self._rows

    def maker(self, frame: RowFrame, placement: Callable[[], Placement] | None = None) -> FrameMaker:  # noqa: ARG002
        """Returns the maker of the rows of a frame. They are placed in this process."""
        number = len(self._frames)
        self._frames.append(frame)
        return lambda _: self._all()[number]

    def hints(self, table: Table, lookups: Collection[Table]) -> FrameMaker:
        """Returns the maker of the hints of these lookups."""

        def make(earlier: EarlierFrames) -> Collected:
            own = {each.table: each for each in reversed(self._all())}

            def read(lookup: Table) -> pa.Table:
                return own[lookup].table_rows if lookup in own else earlier.rows(lookup)

            return Collected(table, hint_rows(read, table, lookups), self._rows.sparkSession)

        return make

    def _all(self) -> list[Collected]:
        """The rows of all frames. They are placed in the order of the makers."""
        with self._collecting:
            if not self._collected:
                rows = collected(together(self._rows, self._frames))
                self._collected = [
                    self._writer.placed(frame.table, part(rows, self._frames, number), self._rows.sparkSession)
                    for number, frame in enumerate(self._frames)
                ]
            return self._collected


def source_for(writer: object) -> Callable[[DataFrame], Source]:
    """What makes the sources of a small run: with a query for all frames of a source if the writer holds the rows."""
    if isinstance(writer, FewRowsWriter):
        return lambda rows: SharedSource(rows, writer)
    return lambda rows: FrameSource(lambda: rows)


def hint_rows(read: Callable[[Table], pa.Table], table: Table, lookup_tables: Collection[Table]) -> pa.Table:
    """The hints of lookups that share a hints table. `read` returns the rows of a lookup."""
    found = []
    for lookup in (each for each in LOOKUPS if each.table in lookup_tables and each.hints is table):
        rows = read(lookup.table)
        columns = {hint: rows[name] for hint, name in lookup.hint_columns}
        columns |= {name: pa.repeat(pa.scalar(value), rows.num_rows) for name, value in lookup.hint_constants}
        found.append(pa.table({name: columns[name] for name in table.names}).cast(arrow_schema(table)))
    hints = pa.concat_tables(found)
    return hints.group_by(hints.column_names).aggregate([])
