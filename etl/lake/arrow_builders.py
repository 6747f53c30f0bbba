"""Builders of nested Arrow columns. Values are appended as tuples and become arrays with offsets and positions.

A null costs one number, whatever its type, because most messages have few of the possible fields. The builders do not
know the meaning of a column.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Fields: TypeAlias = Mapping[str, pa.DataType]
"""The fields of a struct, in the order of the values of its tuples."""


class ListColumn:
    """A list column of structs, or of plain values."""

    def __init__(self) -> None:
        self._offsets = array("i", (0,))
        self._items: list[Any] = []

    def add(self, items: Iterable[Any]) -> None:
        """Appends a list: a tuple for each struct, or plain values."""
        self._items.extend(items)
        self._offsets.append(len(self._items))

    def add_all(self, lists: Sequence[Sequence[Any]]) -> None:
        """Appends several lists."""
        self._offsets.extend([*accumulate(map(len, lists), initial=len(self._items))][1:])
        self._items.extend(chain.from_iterable(lists))

    def array(self, kind: pa.DataType) -> pa.ListArray:
        """The column, with plain values."""
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), pa.array(self._items, kind))

    def struct_array(self, fields: Fields, extra: Mapping[str, pa.Array] | None = None) -> pa.ListArray:
        """The column, with structs. `extra` contains further fields with an item per struct."""
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), _structs(self._items, fields, extra))


class StructColumn:
    """A nullable struct column."""

    def __init__(self) -> None:
        self._rows: list[Sequence[Any]] = []
        self._positions: list[int | None] = []

    def row(self, values: Sequence[Any]) -> None:
        """Appends a struct."""
        self._positions.append(len(self._rows))
        self._rows.append(values)

    def null(self) -> None:
        """Appends a null."""
        self._positions.append(None)

    def nulls(self, count: int) -> None:
        """Appends several nulls."""
        self._positions.extend([None] * count)

    def array(self, fields: Fields, extra: Mapping[str, pa.Array] | None = None) -> pa.StructArray:
        """The column. `extra` contains further fields with a value per struct that is not null."""
        return pc.take(_structs(self._rows, fields, extra), pa.array(self._positions, pa.int32()))


def _structs(rows: Sequence[Sequence[Any]], fields: Fields, extra: Mapping[str, pa.Array] | None) -> pa.StructArray:
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else [()] * len(fields)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, fields.values(), strict=True)]
    further = extra or {}
    return pa.StructArray.from_arrays([*arrays, *further.values()], names=[*fields, *further])
