"""`permanode export`: exports rows of the lake as Parquet or CSV for other programs.

Reads only the lake, one version of each table. Needs no store.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, StructType

from etl.engine.current import SPARK
from etl.engine.files import delete, exists
from etl.engine.java import require_java
from etl.engine.session import Session, engine_session, session_beside
from etl.engine.settings import EtlSettings
from etl.lake.delta import Lake
from etl.lake.paths import lake_root
from etl.lake.views import run_query

CSV: dict[str, bool | str] = {
    "header": True,
    "escape": '"',
    "multiLine": True,
    "ignoreLeadingWhiteSpace": False,
    "ignoreTrailingWhiteSpace": False,
}
"""Options of CSV as in RFC 4180. Values are written completely, with their white space."""

WITHOUT_JAVA = (
    "`permanode export` runs on Spark, whatever etl.engine is; without Java, query the lake with DuckDB: "
    "`permanode lake views`"
)


def export(settings: EtlSettings, *, lake: str, what: str, into: str, form: str) -> int:
    """Writes the rows of a table, a view or a query to files in a new folder, as `parquet` or `csv`. Returns their
    number.

    CSV has a line of column names, with paths for fields of structs, bytes as lowercase hex, and lists as JSON. Raises
    ValueError with Spark's message for an invalid query, for SQL that is not a query, for duplicate column names, and
    for a folder that exists, and JavaError without a Java for Spark. A failed export leaves no folder.
    """
    require_java(WITHOUT_JAVA)
    with engine_session(replace(settings, engine=SPARK)) as spark:
        try:
            return _export(session_beside(spark), lake, what, into, form)
        except PySparkException as error:
            # The text comes from the JVM, which has ended by the time the error is printed.
            raise ValueError(str(error)) from None


def _export(apart: Session, lake: str, what: str, into: str, form: str) -> int:
    rows = _named_once(run_query(Lake(apart, lake_root(lake)), what))
    if form == "csv":
        rows = _named_once(as_text(rows))
    options = CSV if form == "csv" else {}
    if exists(apart, into):
        raise ValueError(f"{into} exists; --into must be a new folder")
    try:
        rows.write.format(form).options(**options).mode("errorifexists").save(into)
        return apart.read.schema(rows.schema).format(form).options(**options).load(into).count()
    except BaseException:
        # An incomplete folder would make the same command fail later, or look complete.
        delete(apart, into)
        raise


def _named_once(rows: DataFrame) -> DataFrame:
    """Checks the column names. Raises ValueError if two differ only in case, because Spark cannot read them back."""
    counts = Counter(name.lower() for name in rows.columns)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"columns named more than once: {', '.join(twice)}")
    return rows


def as_text(rows: DataFrame) -> DataFrame:
    """Converts rows for CSV: bytes as hex, fields of structs as columns with their path, lists as JSON."""

    def column(name: str) -> Column:
        return F.col("`" + name.replace("`", "``") + "`")

    return rows.select(*(value.alias(path) for path, value in _flat(rows.schema, "", column)))


def _flat(parts: StructType, above: str, part: Callable[[str], Column]) -> Iterator[tuple[str, Column]]:
    """The path and text of every field that is not a struct."""
    for field in parts:
        path, column, kind = f"{above}{field.name}", part(field.name), field.dataType
        if isinstance(kind, StructType):
            yield from _flat(kind, f"{path}.", column.getField)
        elif isinstance(kind, ArrayType):
            yield path, F.to_json(_plain(column, kind), {"ignoreNullFields": "false"})
        else:
            yield path, _plain(column, kind)


def _plain(column: Column, kind: DataType) -> Column:
    """Converts values for JSON: bytes as hex, at any depth."""
    if isinstance(kind, BinaryType):
        return F.lower(F.hex(column))
    if isinstance(kind, ArrayType):
        inner = kind.elementType
        return F.transform(column, lambda item: _plain(item, inner))
    if isinstance(kind, StructType):
        parts = (_plain(column.getField(field.name), field.dataType).alias(field.name) for field in kind)
        return F.when(column.isNotNull(), F.struct(*parts))
    return column
