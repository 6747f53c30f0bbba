"""The lake in SQL: its tables and three views, the same in Spark and DuckDB.

A definition is a single text for both engines, except for the words in DIALECTS. A table that the lake does not have
yet (e.g. rejects) has no rows. docs/analysts.md describes the columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, StructType

from etl.engine.queries import is_query
from etl.lake.delta import TABLES, Lake


@dataclass(frozen=True)
class Dialect:
    """The expressions that differ between the engines: days in UTC, a row per item of a list, the integers from a to b
    as a list, a number of up to 16 hex digits, and a type of the lake.
    """

    utc: str
    each: str
    series: str
    number: str
    kind: Callable[[DataType], str]


def in_duckdb(kind: DataType) -> str:
    """The name of a type in DuckDB. Spark's names for simple types are valid there."""
    if isinstance(kind, StructType):
        return f"STRUCT({', '.join(f'{field.name} {in_duckdb(field.dataType)}' for field in kind)})"
    if isinstance(kind, ArrayType):
        return f"{in_duckdb(kind.elementType)}[]"
    return kind.simpleString()


DIALECTS = {
    "duckdb": Dialect(
        "SET TimeZone = 'UTC'", "unnest", "generate_series", "CAST('0x' || {digits} AS UBIGINT)", in_duckdb
    ),
    "spark": Dialect(
        "SET TIME ZONE 'UTC'",
        "explode",
        "sequence",
        "CAST(conv({digits}, 16, 10) AS DECIMAL(20, 0))",
        lambda kind: kind.simpleString(),
    ),
}

MADE = "output.output_id, output.kind, output.address, output.amount, output.data, output.stardust"

OUTPUTS = {
    "messages": f"""
SELECT milestone_index, timestamp, white_flag_index, message_id, transaction_id, {MADE}
FROM (
  SELECT milestone_index, timestamp, white_flag_index, message_id, transaction.transaction_id AS transaction_id,
    {{each}}(transaction.outputs) AS output
  FROM messages
  WHERE inclusion_state = 1
) created""",
    "milestones": f"""
SELECT milestone_index, timestamp, NULL AS white_flag_index, message_id, NULL AS transaction_id, {MADE}
FROM (SELECT milestone_index, timestamp, message_id, {{each}}(receipt.funds) AS output FROM milestones) migrated""",
    "genesis": """
SELECT milestone_index, NULL AS timestamp, NULL AS white_flag_index, NULL AS message_id, NULL AS transaction_id,
  output_id, kind, address, amount, data, stardust
FROM genesis
WHERE octet_length(output_id) = 34""",
}
"""The outputs in each table: of included transactions, of migrated funds, and of genesis without the treasury."""

SPENDS = {
    "messages": """
SELECT milestone_index, timestamp, white_flag_index, message_id, transaction_id, input.output_id
FROM (
  SELECT milestone_index, timestamp, white_flag_index, message_id, transaction.transaction_id AS transaction_id,
    {each}(transaction.inputs) AS input
  FROM messages
  WHERE inclusion_state = 1
) spent
WHERE octet_length(input.output_id) = 34"""
}

DIGITS = " || ".join(f"substring(amount_hex, {at}, 2)" for at in range(15, 0, -2))
"""The low 8 bytes of a little-endian amount, most significant byte first."""

NATIVE_TOKENS = {
    "messages": """
SELECT milestone_index, output_id, address, token_id,
  CASE WHEN substring(amount_hex, 17, 48) = repeat('0', 48) THEN {number} END AS amount, amount_hex
FROM (
  SELECT milestone_index, output_id, address, lower(substring(hex(data), 21 + 140 * place, 76)) AS token_id,
    lower(substring(hex(data), 97 + 140 * place, 64)) AS amount_hex
  FROM (
    SELECT milestone_index, output_id, address, data,
      {each}({series}(0, CAST(stardust.native_tokens AS INT) - 1)) AS place
    FROM outputs
    WHERE stardust.native_tokens > 0
  ) holding
) held"""
}
"""Of `outputs`. The bytes of a Stardust output have kind, amount and number of tokens in front of them (TIP-18)."""

VIEWS = {"outputs": OUTPUTS, "spends": SPENDS, "native_tokens": NATIVE_TOKENS}


def views(dialect: Dialect) -> Iterator[tuple[str, str]]:
    """The name and query of each view."""
    number = dialect.number.format(digits=f"({DIGITS})")
    words = {"each": dialect.each, "series": dialect.series, "number": number}
    for name, parts in VIEWS.items():
        yield name, "\nUNION ALL".join(parts.values()).format(**words).strip()


def statements(lake: Lake, engine: str) -> list[str]:
    """SQL statements, without semicolons, that create the tables and views of the lake as it is now in an engine of
    DIALECTS. Tables exist only if there is a lake.

    DuckDB reads the files directly and needs no extension. Print the statements again after a load or a compaction.
    """
    dialect = DIALECTS[engine]
    made = [dialect.utc]
    if any(lake.has(name) for name in TABLES):
        kind = "OR REPLACE VIEW" if engine == "duckdb" else "OR REPLACE TEMPORARY VIEW"
        made += [f"CREATE {kind} {name} AS {_rows(lake, name, engine)}" for name in TABLES]
        made += [f"CREATE {kind} {name} AS\n{text}" for name, text in views(dialect)]
    return made


def _rows(lake: Lake, name: str, engine: str) -> str:
    """A query for the rows of a table; empty if it was never written, or has no file for DuckDB."""
    if engine == "spark" and lake.has(name):
        return f"SELECT * FROM delta.`{lake.path(name)}`"
    if engine == "duckdb" and (files := sorted(lake.read(name).inputFiles())):
        return f"SELECT * FROM read_parquet([{', '.join(map(_literal, files))}], union_by_name = true)"
    fields = lake.spark.createDataFrame([], TABLES[name][0]).schema
    kind = DIALECTS[engine].kind
    return f"SELECT {', '.join(f'CAST(NULL AS {kind(each.dataType)}) AS {each.name}' for each in fields)} WHERE false"


def run_query(lake: Lake, what: str) -> DataFrame:
    """The rows of a table or view, or of a Spark SQL query over them. The session then has the views.

    Raises ValueError for a statement that is not a query, and ParseException for invalid SQL.
    """
    for statement in statements(lake, "spark"):
        lake.spark.sql(statement)
    if what in TABLES or what in VIEWS:
        return lake.spark.table(what)
    if not is_query(lake.spark, what):
        raise ValueError("only a table, a view or a query (SELECT, WITH, VALUES) is exported, no other SQL")
    return lake.spark.sql(what)


def _literal(file: str) -> str:
    """The URL of a file (the path of a local one) as a quoted literal for DuckDB."""
    parts = urlsplit(file)
    path = unquote(parts.path) if parts.scheme == "file" else file
    return "'" + path.replace("'", "''") + "'"
