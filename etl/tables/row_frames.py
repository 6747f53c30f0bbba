"""Frames whose rows each follow from one row of a source, and several of them from one query over their source.

A run of few messages costs the planning of its queries, so there the tables of a source share a query (`together`,
`part`). Other runs write a frame for each table (`RowFrame.of`). Both use the same columns.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.model import Table, Type
from db.roles import LOOKUP_OF_TABLE
from db.schema.dialects import spark_type
from etl.engine.columns import inline
from etl.tables.frames import FACT, TableFrame, conform
from etl.tables.partition_columns import Placement

ARROW_TYPES: Mapping[Type, pa.DataType] = {
    Type.HEX: pa.binary(),
    Type.TEXT: pa.string(),
    Type.BLOB: pa.binary(),
    Type.BOOLEAN: pa.bool_(),
    Type.TINYINT: pa.int8(),
    Type.SMALLINT: pa.int16(),
    Type.INT: pa.int32(),
    Type.BIGINT: pa.int64(),
    Type.TIMESTAMP: pa.int64(),
    Type.DATE: pa.date32(),
}
"""db.schema.dialects.spark_type in Arrow."""


@dataclass(frozen=True)
class RowFrame:
    """The rows of a table that follow from single rows of a source.

    Attributes:
        table: the table of the rows.
        where: the rows of the source that lead to rows of the table. None: all.
        computed: columns of the table that the source does not have under their name.
        items: an array, each of whose items leads to a row: values of the one column in `item_columns`, or structs
            with these fields. None: a row leads to one row.
        item_columns: the columns of the items. They precede columns of the source with the same name.
        only: columns that the frame has beside the table's key. Default: all of the table.
        without: columns that the frame does not have.
        distinct: whether several rows of the source may lead to the same row, which is written once.
        fact: the column etl.tables.frames.FACT, where the frame has it.
    """

    table: Table
    where: Column | None = None
    computed: Mapping[str, Column] = field(default_factory=dict)
    items: Column | None = None
    item_columns: Sequence[str] = ()
    only: Collection[str] = ()
    without: Collection[str] = ()
    distinct: bool = False
    fact: Column | None = None

    @property
    def columns(self) -> list[str]:
        """The written columns."""
        present = {*self.table.key, *self.only} if self.only else set(self.table.names).difference(self.without)
        return [name for name in self.table.names if name in present]

    @property
    def own_columns(self) -> list[str]:
        """The written columns without those of the items and those of the partition."""
        placed = _placed_columns(self.table)
        return [name for name in self.columns if name not in placed and name not in self.item_columns]

    def of(self, source: DataFrame, placement: Placement | None = None) -> TableFrame:
        """The frame of a source. `placement`: the partitions, for the table of a lookup."""
        rows = self.rows(source, self.own_columns)
        if placement is not None:
            rows = placement.place(rows, self.table)
        if self.distinct:
            rows = rows.distinct()
        return conform(rows, self.table, only=self.only, without=self.without, has_fact=self.fact is not None)

    def rows(self, source: DataFrame, names: Iterable[str]) -> DataFrame:
        """The rows with these columns, those of the items, and `fact`."""
        rows = source if self.where is None else source.where(self.where)
        own = [self.computed[name].alias(name) if name in self.computed else F.col(name) for name in names]
        if self.fact is not None:
            own.append(self.fact.alias(FACT))
        if self.items is None:
            return rows.select(*own)
        if len(self.item_columns) > 1:
            return inline(rows, own, self.items)
        return rows.select(*own, F.explode(self.items).alias(*self.item_columns))


def together(source: DataFrame, frames: Sequence[RowFrame]) -> DataFrame:
    """A row for each row of the source, with the columns that `part` needs for these frames."""
    selected: dict[str, Column] = {}
    for number, frame in enumerate(frames):
        if frame.where is not None:
            selected[_where(number)] = F.coalesce(frame.where, F.expr("false"))
        for name in frame.own_columns:
            kind, key = spark_type(frame.table.column(name).type), _name(number, name, frame)
            if name in frame.computed:
                selected[key] = frame.computed[name].cast(kind)
            elif key not in selected:
                selected[key] = F.expr(f"CAST(`{name}` AS {kind})")
        if frame.items is not None:
            selected[_items(frames, number)] = frame.items
    return source.select(*(column.alias(name) for name, column in selected.items()))


def part(rows: pa.Table, frames: Sequence[RowFrame], number: int) -> pa.Table:
    """The rows of the frame with that number, without the columns of a partition, from the rows of `together`."""
    frame = frames[number]
    if frame.where is not None:
        rows = rows.filter(rows[_where(number)])
    columns = {name: rows[_name(number, name, frame)] for name in frame.own_columns}
    if frame.items is not None:
        items = rows[_items(frames, number)].combine_chunks()
        sources = pc.list_parent_indices(items)
        values = items.flatten()
        columns = {name: column.take(sources) for name, column in columns.items()}
        if len(frame.item_columns) > 1:
            columns |= {name: pc.struct_field(values, name) for name in frame.item_columns}
        else:
            columns[frame.item_columns[0]] = values
    placed = _placed_columns(frame.table)
    names = [name for name in frame.columns if name not in placed]
    found = pa.table({name: columns[name] for name in names})
    if frame.distinct:
        found = found.group_by(names).aggregate([])
    return found.cast(arrow_schema(frame.table, names))


def arrow_schema(table: Table, names: Iterable[str] = ()) -> pa.Schema:
    """The types of a table's columns. `names`: which. Default: all."""
    return pa.schema([(name, ARROW_TYPES[table.column(name).type]) for name in names or table.names])


def _placed_columns(table: Table) -> Sequence[str]:
    """The range and the partition of a lookup's rows."""
    return table.partition[-2:] if table in LOOKUP_OF_TABLE else ()


def _name(number: int, name: str, frame: RowFrame) -> str:
    """Frames share the columns that are those of the source."""
    kind = spark_type(frame.table.column(name).type)
    return f"{name}_{number}" if name in frame.computed else f"{name}_{kind}"


def _where(number: int) -> str:
    return f"where_{number}"


def _items(frames: Sequence[RowFrame], number: int) -> str:
    """The column with the items of a frame, which frames with the same items share: their planning takes most of the
    time of a query for few rows.
    """
    return f"items_{next(at for at, each in enumerate(frames) if each.items is frames[number].items)}"
