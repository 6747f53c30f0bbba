"""`permanode export`: rows of the lake as Parquet or CSV, for other programs.

Rules of this file: it reads the lake alone, at one version of each table, and needs no store.
"""

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from etl.lake import Lake, lake_root
from etl.lake_views import ask, statements
from etl.session import EtlSettings, spark_session


def export(settings: EtlSettings, *, lake: str, what: str, into: str, form: str) -> int:
    """Writes a table, a view or a query's rows into files of a new folder, as `parquet` or `csv`; how many rows.

    CSV has a line of names, and bytes as lowercase hex. Raises ValueError for what CSV cannot hold, for a query that
    Spark cannot run, in its words, and for a folder that is there.
    """
    with spark_session(settings) as spark:
        try:
            return _export(spark.newSession(), lake, what, into, form)
        except PySparkException as error:
            # It asks the JVM for its text, which will have ended.
            raise ValueError(str(error)) from None


def _export(apart: SparkSession, lake: str, what: str, into: str, form: str) -> int:
    rows = ask(Lake(apart, lake_root(lake)), what)
    if form == "csv":
        rows = as_text(rows)
    written = rows.write.format(form).mode("errorifexists")
    (written.option("header", value=True) if form == "csv" else written).save(into)
    return apart.read.schema(rows.schema).format(form).option("header", value=True).load(into).count()


def as_text(rows: DataFrame) -> DataFrame:
    """Bytes as hex. ValueError names a column that has parts."""
    for field in rows.schema:
        if field.dataType.typeName() in ("struct", "array"):
            raise ValueError(f"{field.name} has parts, which CSV cannot hold: select them by name, or write Parquet")
    return rows.select(
        *(
            F.lower(F.hex(field.name)).alias(field.name) if isinstance(field.dataType, BinaryType) else field.name
            for field in rows.schema
        )
    )


def view_statements(settings: EtlSettings, *, lake: str, engine: str) -> list[str]:
    """As etl.lake_views.statements, of the lake at that place."""
    with spark_session(settings) as spark:
        return statements(Lake(spark, lake_root(lake)), engine)
