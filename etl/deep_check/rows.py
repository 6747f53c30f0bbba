"""Reads the rows of a store as Arrow batches, with bounded memory."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from db.model import Column, Table, Type

BATCH_ROWS = 16_384

_TYPES = {
    Type.TEXT: pa.string(),
    Type.BLOB: pa.binary(),
    Type.TINYINT: pa.int64(),
    Type.SMALLINT: pa.int64(),
    Type.INT: pa.int64(),
    Type.BIGINT: pa.int64(),
    Type.TIMESTAMP: pa.int64(),
    Type.DATE: pa.string(),
}

SQL_TYPES = {
    Type.HEX: "BLOB",
    Type.TEXT: "VARCHAR",
    Type.BLOB: "BLOB",
    Type.BOOLEAN: "BOOLEAN",
    Type.TINYINT: "BIGINT",
    Type.SMALLINT: "BIGINT",
    Type.INT: "BIGINT",
    Type.BIGINT: "BIGINT",
    Type.TIMESTAMP: "BIGINT",
    Type.DATE: "DATE",
}
"""The type of DuckDB for each type of a column. A damaged row of SQLite may have a larger number than its type."""


class StoredRows(Protocol):
    """The part of a store's adapter that this package reads."""

    @property
    def dialect(self) -> str:
        """`sqlite`, or the dialect of a cluster."""

    def native_rows(self, table: Table, names: Sequence[str], at_once: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yields all rows of a table, `at_once` at most, with these columns in the store's own values."""


def read_batches(
    store: StoredRows, table: Table, names: Sequence[str], read: Callable[[int], None] = lambda _: None
) -> pa.RecordBatchReader:
    """The rows of a table as they are read. `read` receives the number of rows read so far. Ids are bytes of a SQLite
    store and hexadecimal text of a cluster, see `sql_value`.
    """
    columns = [table.column(name) for name in names]
    arrow = pa.schema([(column.name, _arrow_type(store, column)) for column in columns])

    def batches() -> Iterator[pa.RecordBatch]:
        total = 0
        for rows in store.native_rows(table, names, BATCH_ROWS):
            values = zip(*rows, strict=True)
            arrays = [pa.array(each, field.type) for each, field in zip(values, arrow, strict=True)]
            total += len(rows)
            read(total)
            yield pa.record_batch(arrays, schema=arrow)

    return pa.RecordBatchReader.from_batches(arrow, batches())


def sql_value(store: StoredRows, column: Column) -> str:
    """The expression of a column of `read_batches` in the type of SQL_TYPES."""
    value = f'"{column.name}"'
    if column.type is Type.HEX and _is_text(store):
        value = f"unhex({value})"
    return f"CAST({value} AS {SQL_TYPES[column.type]})"


def _arrow_type(store: StoredRows, column: Column) -> pa.DataType:
    if column.type is Type.HEX:
        return pa.string() if _is_text(store) else pa.binary()
    if column.type is Type.BOOLEAN:
        return pa.bool_() if _is_text(store) else pa.int64()
    return _TYPES[column.type]


def _is_text(store: StoredRows) -> bool:
    """Whether ids are text and booleans are booleans."""
    return store.dialect != "sqlite"
