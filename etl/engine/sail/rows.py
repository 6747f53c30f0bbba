"""Rows of a frame as Arrow data. Sail runs in this process too, so they reach it without a driver's limits."""

from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema


def rows_of(frame: DataFrame) -> pa.Table:
    """All rows, in the order of the frame's last sort.

    `DataFrame.toArrow` requests the schema before the rows, although the rows come with it. That takes as long as
    planning them.
    """
    table, schema = cast("Any", frame)._to_table()
    return table if schema is None else table.cast(to_arrow_schema(schema))
