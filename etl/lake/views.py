"""The lake in SQL: its tables and three views, the same in Spark and DuckDB.

A definition is a single text for both engines, except for the words in DIALECTS. A table that the lake does not have
yet (e.g. rejects) has no rows. docs/analysts.md describes the columns.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, StructType, TimestampType

from etl.engine.columns import schema_of
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_state import paths_of
from etl.lake.checked_query import check_query
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

UP_TO_GENESIS = "milestone_index <= (SELECT min(milestone_index) FROM genesis)"
"""Engines skip the row groups of later milestones, which are all in most lakes."""

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
    "genesis": f"""
SELECT milestone_index, NULL AS timestamp, NULL AS white_flag_index, NULL AS message_id, NULL AS transaction_id,
  output_id, kind, address, amount, data, stardust
FROM genesis
WHERE octet_length(output_id) = 34 AND NOT EXISTS (
  SELECT 1
  FROM (
    SELECT {{each}}(transaction.outputs) AS output FROM messages WHERE inclusion_state = 1 AND {UP_TO_GENESIS}
    UNION ALL
    SELECT {{each}}(receipt.funds) AS output FROM milestones WHERE {UP_TO_GENESIS}
  ) earlier
  WHERE earlier.output.output_id = genesis.output_id
)""",
}
"""The outputs in each table: of included transactions, of migrated funds, and of genesis without the treasury. Outputs
of the genesis that a loaded milestone created have the row of that milestone, as in the store.
"""

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


USED = {"outputs": {*OUTPUTS}, "spends": {*SPENDS}, "native_tokens": {*OUTPUTS, "outputs"}}
"""The tables and views that each view reads."""


def views(dialect: Dialect) -> Iterator[tuple[str, str]]:
    """The name and query of each view."""
    number = dialect.number.format(digits=f"({DIGITS})")
    words = {"each": dialect.each, "series": dialect.series, "number": number}
    for name, parts in VIEWS.items():
        yield name, "\nUNION ALL".join(parts.values()).format(**words).strip()


def statements(root: str, engine: str) -> list[str]:
    """SQL statements, without semicolons, that create the tables and views of the lake at this path as it is now in an
    engine of DIALECTS. Tables exist only if there is a lake. Needs no session.

    DuckDB reads the files directly and needs no extension. Print the statements again after a load or a compaction.
    Spark needs a session with Delta Lake, and reads the newest version in each query.
    """
    made = [DIALECTS[engine].utc]
    logs = {name: DeltaLog(f"{root}/{name}", layout) for name, layout in TABLES.items()}
    if any(log.exists() for log in logs.values()):
        made += [f"CREATE {_KIND[engine]} {name} AS {_rows(log, engine)}" for name, log in logs.items()]
        made += _view_statements(engine)
    return made


_KIND = {"duckdb": "OR REPLACE VIEW", "spark": "OR REPLACE TEMPORARY VIEW"}


def _view_statements(engine: str) -> list[str]:
    return [f"CREATE {_KIND[engine]} {name} AS\n{text}" for name, text in views(DIALECTS[engine])]


def _rows(log: DeltaLog, engine: str) -> str:
    """A query for the rows of a table; empty if it was never written, or has no file for DuckDB."""
    if engine == "spark" and log.exists():
        return f"SELECT * FROM delta.`{log.root}`"
    fields = schema_of(log.layout.ddl)
    if engine == "duckdb" and (files := sorted(paths_of(log.root, log.files()))):
        # Files of earlier versions have timestamps without a zone, all others with one. The session's zone is UTC.
        times = [each.name for each in fields if isinstance(each.dataType, TimestampType)]
        casts = ", ".join(f"CAST({each} AS TIMESTAMP) AS {each}" for each in times)
        columns = f"* REPLACE ({casts})" if casts else "*"
        return f"SELECT {columns} FROM read_parquet([{', '.join(map(_literal, files))}], union_by_name = true)"
    kind = DIALECTS[engine].kind
    return f"SELECT {', '.join(f'CAST(NULL AS {kind(each.dataType)}) AS {each.name}' for each in fields)} WHERE false"


def create_views(lake: Lake, names: Collection[str] = (*TABLES, *VIEWS)) -> None:
    """Creates tables and views in the lake's session, as `statements` does in another one: those with these names, and
    what they are made from.

    The tables are the files of the lake's current version, so the session needs no connector. Raises FileDamaged.
    """
    lake.spark.sql(DIALECTS["spark"].utc)
    if any(lake.has(name) for name in TABLES):
        for name in TABLES:
            if name in names or any(name in USED[view] for view in VIEWS if view in names):
                lake.read(name).createOrReplaceTempView(name)
        for view, statement in zip(VIEWS, _view_statements("spark"), strict=True):
            if view in names or any(view in USED[each] for each in VIEWS if each in names):
                lake.spark.sql(statement)


def run_query(lake: Lake, what: str) -> DataFrame:
    """The rows of a table or view, or of a Spark SQL query over them (etl.lake.checked_query). The session then has the
    views, and reads `${…}` as text.

    Raises ValueError for anything that is not such a query.
    """
    create_views(lake, {*re.findall(r"\w+", what.lower())})
    name = what.strip().lower()
    if name in TABLES or name in VIEWS:
        return lake.spark.table(name)
    query = check_query(what.strip(), (*TABLES, *VIEWS))
    # Otherwise Spark replaces ${env:NAME} in a query, also within texts.
    lake.spark.conf.set("spark.sql.variable.substitute", "false")
    lake.spark.conf.set("spark.sql.runSQLOnFiles", "false")
    return lake.spark.sql(query)


def _literal(file: str) -> str:
    """The path or URL of a file as a quoted literal for DuckDB."""
    return "'" + file.replace("'", "''") + "'"
