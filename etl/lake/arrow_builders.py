"""Builders of nested Arrow columns. Values are appended per field and become arrays with offsets and positions.

A null costs one number, whatever its type, because most messages have few of the possible fields. The builders do not
know the meaning of a column.
"""

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class ListColumn:
    """A list column of structs, or of plain values."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._offsets = array("i", (0,))
        self._values: list[list[Any]] = [[] for _ in fields]

    def rows(self, columns: Sequence[Sequence[Any]]) -> None:
        """Appends a list, given as a column per field."""
        for values, column in zip(self._values, columns, strict=True):
            values.extend(column)
        self._offsets.append(len(self._values[0]))

    def empty(self) -> None:
        """Appends an empty list."""
        self._offsets.append(len(self._values[0]))

    def array(self, kind: pa.DataType) -> pa.ListArray:
        """The column, with plain values."""
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), pa.array(self._values[0], kind))

    def struct_array(self, kinds: Sequence[pa.DataType], extra: dict[str, pa.Array] | None = None) -> pa.ListArray:
        """The column, with structs. `extra` contains further fields with an item per struct."""
        arrays = [pa.array(values, kind) for values, kind in zip(self._values, kinds, strict=True)]
        names = [*self._fields, *(extra or {})]
        struct = pa.StructArray.from_arrays([*arrays, *(extra or {}).values()], names=names)
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), struct)


class StructColumn:
    """A nullable struct column. Its fields and those in `extra` contain only the rows that are not null."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._values: list[list[Any]] = [[] for _ in fields]
        self._positions: list[int | None] = []
        self._count = 0

    def row(self, values: Sequence[Any]) -> None:
        """Appends a struct."""
        for column, value in zip(self._values, values, strict=True):
            column.append(value)
        self._positions.append(self._count)
        self._count += 1

    def null(self) -> None:
        """Appends a null."""
        self._positions.append(None)

    def nulls(self, count: int) -> None:
        """Appends several nulls."""
        self._positions.extend([None] * count)

    def array(self, kinds: Sequence[pa.DataType], extra: dict[str, pa.Array] | None = None) -> pa.StructArray:
        """The column. `extra` contains further fields with a value per struct."""
        arrays = [pa.array(values, kind) for values, kind in zip(self._values, kinds, strict=True)]
        names = [*self._fields, *(extra or {})]
        struct = pa.StructArray.from_arrays([*arrays, *(extra or {}).values()], names=names)
        return pc.take(struct, pa.array(self._positions, pa.int32()))
