"""Rows of a frame as Arrow data, and the reverse. Sail runs in this process too, so there are no driver's limits."""

from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema


def rows_of(frame: DataFrame) -> pa.Table:
    """All rows, in the order of the frame's last sort.

    `DataFrame.toArrow` requests the schema before the rows, although the rows come with it. That takes as long as
    planning them.
    """
    table, schema = cast("Any", frame)._to_table()
    return table if schema is None else table.cast(to_arrow_schema(schema))


def local_frame(session: SparkSession, table: pa.Table) -> DataFrame:
    """The rows of a table as part of the plan.

    `createDataFrame` requests six options of the session first, which have their defaults.
    """
    from pyspark.sql.connect.dataframe import DataFrame as Connected
    from pyspark.sql.connect.plan import LocalRelation

    schema = from_arrow_schema(table.schema)
    rows = table.cast(to_arrow_schema(schema)) if table.num_rows else None
    return cast("DataFrame", Connected(LocalRelation(rows, schema=schema.json()), cast("Any", session)))


def batches_of(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """All rows as `rows_of` returns them, one batch in memory at a time. Their types are the engine's."""
    connected = cast("Any", frame)
    plan = connected._plan.to_proto(connected._session.client)
    for each in connected._session.client.to_table_as_iterator(plan, connected._plan.observations):
        if isinstance(each, pa.Table):
            yield from each.to_batches()
