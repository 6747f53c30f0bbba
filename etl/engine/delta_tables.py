"""Reads and writes Delta tables with the engine of the process: Delta's own connector on Spark, delta-rs on Sail."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from etl.engine.current import on_sail
from etl.engine.new_files import NewFile
from etl.engine.sail import delta
from etl.engine.session import Session

ROWS_PER_FILE = 200_000


def replace_rows(
    path: str,
    frame: DataFrame | pa.RecordBatchReader,
    predicate: str | None,
    *,
    partitions: Sequence[str],
    properties: Mapping[str, str],
) -> None:
    """Replaces the rows of a table that match `predicate` with `frame`. None replaces all rows, or creates the table
    with these properties. Rows that do not match the predicate are an error of the engine. Spark takes frames only.
    """
    if on_sail():
        delta.replace(path, frame, partitions, predicate, properties)
        return
    assert not isinstance(frame, pa.RecordBatchReader)
    writer = frame.write.format("delta").mode("overwrite").option("maxRecordsPerFile", ROWS_PER_FILE)
    if partitions:
        writer = writer.partitionBy(*partitions)
    if predicate is not None:
        # A lake of an earlier version does not have the fields that were added since.
        writer = writer.option("replaceWhere", predicate).option("mergeSchema", "true")
    else:
        writer = writer.options(**properties)
    writer.save(path)


def add_files(
    path: str, files: Sequence[NewFile], schema: pa.Schema, partitions: Sequence[str], properties: Mapping[str, str]
) -> None:
    """Adds Parquet files in the directory of a table to it, or creates it with these properties. Sail only."""
    delta.add_files(path, files, schema, partitions, properties)


def append_rows(path: str, frame: DataFrame, partitions: Sequence[str] = ()) -> None:
    """Appends the rows of a frame to a table, or creates it."""
    if on_sail():
        delta.append(path, frame, partitions)
        return
    writer = frame.write.format("delta").mode("append")
    if partitions:
        writer = writer.partitionBy(*partitions)
    writer.save(path)


def compact_files(session: Session, path: str, retain_hours: int) -> None:
    """Merges small files, and deletes those that no snapshot of the last `retain_hours` uses."""
    if on_sail():
        delta.compact(path, retain_hours)
        return
    name = f"delta.`{path}`"
    session.sql(f"OPTIMIZE {name}")
    session.sql(f"VACUUM {name} RETAIN {retain_hours} HOURS")
