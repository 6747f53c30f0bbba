"""Arrow tables of this process as frames, and frames of few rows as Arrow tables."""

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from etl.engine.current import on_sail, scratch_folder
from etl.engine.sail.rows import local_frame, rows_of
from etl.engine.session import Session

MANY_ROWS = 50
"""Sail gets tables with more rows as a file. A plan contains a table once for each use, and has at most 128 MiB."""


def arrow_frame(session: Session, table: pa.Table) -> DataFrame:
    """Returns the rows of an Arrow table as a frame with the same columns and types."""
    if not on_sail():
        return session.createDataFrame(table)
    if table.num_rows > MANY_ROWS:
        file = scratch_folder("rows") / "part-0.parquet"
        pq.write_table(table, file, compression="none", use_dictionary=False)
        return session.read.parquet(str(file))
    return local_frame(session, _null_fields(table))


def collected(frame: DataFrame) -> pa.Table:
    """All rows of a frame, which are few: Spark's limit is the setting max_result_size."""
    return rows_of(frame) if on_sail() else frame.toArrow()


def _null_fields(table: pa.Table) -> pa.Table:
    """The table with null in all fields of null structs: Sail 0.7.2 reads the value in memory (lakehq/sail#2060)."""

    def of(array: pa.Array) -> pa.Array:
        if not pa.types.is_struct(array.type):
            return array
        fields = [of(each) for each in array.flatten()]
        return pa.StructArray.from_arrays(fields, fields=list(array.type), mask=array.is_null())

    columns = [of(each.combine_chunks()) if pa.types.is_struct(each.type) else each for each in table.columns]
    return pa.table(columns, schema=table.schema)
