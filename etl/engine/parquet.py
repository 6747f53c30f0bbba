"""Parquet files of frames, for later steps of a run."""

import logging
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from etl.engine.current import on_sail
from etl.engine.faults import ConnectionLost

log = logging.getLogger("permanode.engine")

SPARK_OPTIONS = {"compression": "none", "parquet.column.statistics.enabled": "false"}
"""The options of etl.engine.row_files.SCRATCH_OPTIONS for Spark."""

SAIL_OPTIONS = {
    "compression": "uncompressed",
    "dictionary_enabled": "false",
    "statistics_enabled": "none",
    "max_row_group_size": "8000",
}
"""Those of files that Sail writes. It holds a row group of each open file in memory, by default a million rows."""


def write_parquet(frame: DataFrame, folder: Path, *partitions: str) -> None:
    """Writes the rows into a new folder. `partitions`: columns whose values are directory names.

    Writes them again if the connection to Sail is lost meanwhile.
    """
    if not on_sail():
        frame.write.options(**SPARK_OPTIONS).partitionBy(*partitions).parquet(str(folder))
        return
    writer = frame.write.options(**SAIL_OPTIONS).partitionBy(*partitions)
    written = folder.with_name(f"{folder.name}.part")
    try:
        writer.parquet(str(written))
    except ConnectionLost as error:
        log.warning("%s: %s; written again", folder.name, error)
        # The server may still write into the first folder.
        written = folder.with_name(f"{folder.name}.again")
        writer.parquet(str(written))
    if written.exists():
        written.rename(folder)
    else:
        # Sail 0.7.2 writes no file without rows; readers need one with the columns.
        folder.mkdir(parents=True)
        pq.write_table(to_arrow_schema(frame.schema).empty_table(), folder / "part-0.parquet")
