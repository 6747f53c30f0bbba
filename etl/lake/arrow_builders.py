"""Nested Arrow columns in the making: values are appended flat, by field, and become arrays by offsets and positions.

Rules of this file: a null costs one number, whatever it is a null of, as most messages lack most of what a message may
have; nothing here knows what a column is for.
"""

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class ListColumn:
    """A list column of structs (or of one plain value)."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._offsets = array("i", (0,))
        self._values: list[list[Any]] = [[] for _ in fields]

    def rows(self, columns: Sequence[Sequence[Any]]) -> None:
        """One list, given as a column for each field."""
        for values, column in zip(self._values, columns, strict=True):
            values.extend(column)
        self._offsets.append(len(self._values[0]))

    def empty(self) -> None:
        """One list without items."""
        self._offsets.append(len(self._values[0]))

    def array(self, kind: pa.DataType) -> pa.ListArray:
        """The column, of plain values."""
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), pa.array(self._values[0], kind))

    def struct_array(self, kinds: Sequence[pa.DataType], extra: dict[str, pa.Array] | None = None) -> pa.ListArray:
        """The column, of structs; `extra` are further fields, an item for each struct of all lists."""
        arrays = [pa.array(values, kind) for values, kind in zip(self._values, kinds, strict=True)]
        names = [*self._fields, *(extra or {})]
        struct = pa.StructArray.from_arrays([*arrays, *(extra or {}).values()], names=names)
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), struct)


class StructColumn:
    """A nullable struct column; fields, and whatever stands beside them in `extra`, hold only rows that are there."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._values: list[list[Any]] = [[] for _ in fields]
        self._positions: list[int | None] = []
        self._count = 0

    def row(self, values: Sequence[Any]) -> None:
        """One struct."""
        for column, value in zip(self._values, values, strict=True):
            column.append(value)
        self._positions.append(self._count)
        self._count += 1

    def null(self) -> None:
        """One null."""
        self._positions.append(None)

    def nulls(self, count: int) -> None:
        """As many nulls."""
        self._positions.extend([None] * count)

    def array(self, kinds: Sequence[pa.DataType], extra: dict[str, pa.Array] | None = None) -> pa.StructArray:
        """The column; `extra` are further fields, a value for each struct that is there."""
        arrays = [pa.array(values, kind) for values, kind in zip(self._values, kinds, strict=True)]
        names = [*self._fields, *(extra or {})]
        struct = pa.StructArray.from_arrays([*arrays, *(extra or {}).values()], names=names)
        return pc.take(struct, pa.array(self._positions, pa.int32()))
