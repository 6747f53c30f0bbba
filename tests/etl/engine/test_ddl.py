"""The parser of DDL strings, compared with Spark's."""

import pytest
from pyspark.sql.types import StructType

from etl.engine.ddl import parse_ddl
from etl.lake.delta import TABLES
from etl.lake.message_rows import DECODED_DDL


@pytest.mark.spark
def test_the_columns_are_those_that_spark_parses(spark: object) -> None:
    for ddl in (DECODED_DDL, *(layout.ddl for layout in TABLES.values())):
        assert parse_ddl(ddl) == StructType.fromDDL(ddl)


@pytest.mark.parametrize(
    "ddl", ["", "a", "a INT,", "a INT b INT", "a STRUCT<b INT", "a ARRAY<INT>>", "a TEXT", "a INT;"]
)
def test_other_text_is_an_error(ddl: str) -> None:
    with pytest.raises(ValueError, match="DDL"):
        parse_ddl(ddl)
