"""The rows of a decoding's files (etl/lake/parts.py) as a frame."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.engine.session import Session
from etl.lake.message_rows import LAKE_RANGE, MESSAGE_DDL
from etl.lake.parts import LakePart


def part_frame(session: Session, parts: Sequence[LakePart]) -> DataFrame:
    """MESSAGE_DDL of the rows in these files."""
    if not parts:
        return session.createDataFrame([], MESSAGE_DDL)
    ddl = MESSAGE_DDL.replace("lake_range INT,", "")
    rows = session.read.schema(ddl).parquet(*(str(each.path) for each in parts))
    return rows.withColumn("lake_range", F.floor(F.col("milestone_index") / LAKE_RANGE).cast("int"))
