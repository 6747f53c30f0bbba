"""Parquet files of rows in the scratch space of a run, read and written without the engine."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

SCRATCH_OPTIONS = {"compression": "none", "write_statistics": False}
"""Such a file is read once, completely. Minimum and maximum statistics would skip nothing."""

GROUP_BYTES = 8 << 20
"""Bytes of a row group of such a file."""

BATCH_ROWS = 20_000
"""Rows that a reader gets at once."""

FUNCTION_ROWS = 1_000
"""Rows that a function in Python gets at once. They become Python objects."""

RowFunction: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Takes all rows of a task in batches."""


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A task of a function: the file with its rows, and the file that gets the result."""

    source: Path
    target: Path


def map_file(function: RowFunction, schema: pa.Schema, task: MappedFile) -> None:
    """Writes the rows of a function, of this schema, that takes the rows of a file."""
    write_groups(function(batches_in(task.source, FUNCTION_ROWS)), schema, task.target, GROUP_BYTES, **SCRATCH_OPTIONS)


def write_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, sink: Path | pa.NativeFile, group_bytes: int, **options: Any
) -> int:
    """Writes batches to a new file in row groups of that many bytes, which a reader holds as a whole. Returns the rows.

    `options`: those of pyarrow.parquet.ParquetWriter.
    """
    rows, waiting, size = 0, list[pa.RecordBatch](), 0
    with pq.ParquetWriter(sink, schema, use_dictionary=False, **options) as writer:
        for batch in batches:
            rows += batch.num_rows
            waiting.append(batch.cast(schema))
            size += batch.nbytes
            if size >= group_bytes:
                writer.write_table(pa.Table.from_batches(waiting, schema))
                waiting, size = [], 0
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))
    return rows


def values_of(column: pa.Array) -> list[Any]:
    """The values of a column. Many tables have columns without any value, whose values need not be converted."""
    return [None] * len(column) if column.null_count == len(column) else column.to_pylist()


def batches_in(path: Path, at_once: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """The rows of a file, `at_once` in a batch and one row group in memory at a time. A reader of all groups keeps what
    it has read.
    """
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.iter_batches(at_once, row_groups=[group], use_threads=False)
