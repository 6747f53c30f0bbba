"""Parquet files for later steps of a run, of frames and of batches of this process."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from etl.engine.current import on_sail

SPARK_OPTIONS = {"compression": "none", "parquet.column.statistics.enabled": "false"}
"""Such a file is read once, completely. Minimum and maximum statistics would skip nothing."""

SCRATCH_OPTIONS = {"compression": "none", "write_statistics": False}
"""The same for a file that this process writes."""

GROUP_BYTES = 8 << 20
"""Bytes of a row group of such a file."""

BATCH_ROWS = 20_000
"""Rows that a reader gets at once."""


def write_parquet(frame: DataFrame, folder: Path, *partitions: str) -> None:
    """Writes the rows into a new folder. `partitions`: columns whose values are directory names."""
    if not on_sail():
        frame.write.options(**SPARK_OPTIONS).partitionBy(*partitions).parquet(str(folder))
        return
    frame.write.option("compression", "uncompressed").partitionBy(*partitions).parquet(str(folder))
    if not folder.exists():
        # Sail 0.7.2 writes no file without rows; readers need one with the columns.
        folder.mkdir(parents=True)
        pq.write_table(to_arrow_schema(frame.schema).empty_table(), folder / "part-0.parquet")


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


def batches_in(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a file, one row group in memory at a time. A reader of all groups keeps what it has read."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.iter_batches(BATCH_ROWS, row_groups=[group], use_threads=False)
