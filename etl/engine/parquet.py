"""Parquet files of frames, for later steps of a run."""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from etl.engine.current import on_sail

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
    """Writes the rows into a new folder. `partitions`: columns whose values are directory names."""
    if not on_sail():
        frame.write.options(**SPARK_OPTIONS).partitionBy(*partitions).parquet(str(folder))
        return
    frame.write.options(**SAIL_OPTIONS).partitionBy(*partitions).parquet(str(folder))
    if not folder.exists():
        # Sail 0.7.2 writes no file without rows; readers need one with the columns.
        folder.mkdir(parents=True)
        pq.write_table(to_arrow_schema(frame.schema).empty_table(), folder / "part-0.parquet")
