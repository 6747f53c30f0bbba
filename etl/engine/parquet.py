"""Writes frames to Parquet for later steps of a run."""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from etl.engine.current import on_sail

SPARK_OPTIONS = {"compression": "none", "parquet.column.statistics.enabled": "false"}
"""Such a file is read once, completely. Minimum and maximum statistics would skip nothing."""


def write_parquet(frame: DataFrame, folder: Path) -> None:
    """Writes the rows into a new folder."""
    if not on_sail():
        frame.write.options(**SPARK_OPTIONS).parquet(str(folder))
        return
    frame.write.option("compression", "uncompressed").parquet(str(folder))
    if not folder.exists():
        # Sail 0.7.2 writes no file without rows; readers need one with the columns.
        folder.mkdir(parents=True)
        pq.write_table(to_arrow_schema(frame.schema).empty_table(), folder / "part-0.parquet")
