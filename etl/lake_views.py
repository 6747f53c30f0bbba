"""The lake as SQL sees it: its tables and three views over them, the same in Spark and in DuckDB.

Rules of this file: a definition is one text for both engines, but for the words in DIALECTS; a view is made of the
tables that a lake has, as one without genesis has no such table. What analysts read of it is docs/analysts.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession

from etl.lake import TABLES, Lake


@dataclass(frozen=True)
class Dialect:
    """How an engine says what the two say differently: that days are UTC's, a row for each item of a list, the whole
    numbers from a to b as a list, and a number of up to 16 hex digits.
    """

    utc: str
    each: str
    series: str
    number: str


DIALECTS = {
    "duckdb": Dialect("SET TimeZone = 'UTC'", "unnest", "generate_series", "CAST('0x' || {digits} AS UBIGINT)"),
    "spark": Dialect("SET TIME ZONE 'UTC'", "explode", "sequence", "CAST(conv({digits}, 16, 10) AS DECIMAL(20, 0))"),
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
"""Table → the outputs that it tells of: included transactions', migrated funds', genesis' but for the treasury."""

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
"""The lower 8 bytes of a little-endian amount, the highest first."""

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


def views(tables: set[str], dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Name and query of each view over a lake that has those tables."""
    for name, parts in VIEWS.items():
        texts = [text for table, text in parts.items() if table in tables]
        if texts:
            number = dialect.number.format(digits=f"({DIGITS})")
            words = {"each": dialect.each, "series": dialect.series, "number": number}
            yield name, "\nUNION ALL".join(texts).format(**words).strip()


def statements(lake: Lake, engine: str) -> list[str]:
    """What makes an engine of DIALECTS see the lake as it is now, without the semicolons.

    DuckDB reads the files themselves and needs no extension: a load or a compaction later, they are to be made anew.
    """
    dialect, tables = DIALECTS[engine], [name for name in TABLES if lake.has(name)]
    made = [dialect.utc]
    kind = "OR REPLACE VIEW" if engine == "duckdb" else "OR REPLACE TEMPORARY VIEW"
    for name in tables:
        if engine == "spark":
            made.append(f"CREATE {kind} {name} AS SELECT * FROM delta.`{lake.path(name)}`")
        elif files := [_literal(file) for file in sorted(lake.read(name).inputFiles())]:
            source = f"read_parquet([{', '.join(files)}], union_by_name = true)"
            made.append(f"CREATE {kind} {name} AS SELECT * FROM {source}")
    made += [f"CREATE {kind} {name} AS\n{text}" for name, text in views(set(tables), dialect)]
    return made


def ask(lake: Lake, what: str) -> DataFrame:
    """The rows of a table or view by its name, or of a query in Spark SQL over them; its session has the views then.

    Raises ValueError for a statement that is no query, as one that writes, and ParseException for what is none at all.
    """
    for statement in statements(lake, "spark"):
        lake.spark.sql(statement)
    if what in TABLES or what in VIEWS:
        return lake.spark.table(what)
    _only_reads(lake.spark, what)
    return lake.spark.sql(what)


def _only_reads(spark: SparkSession, text: str) -> None:
    """Raises ValueError and ParseException as `ask` does."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    parser.parsePlan(text)
    try:
        # Between brackets nothing but a query is one, and it is the whole text: alone, `FROM a INSERT …` begins as one.
        parser.parseQuery(f"(\n{text.rstrip().rstrip(';')}\n)")
    except ParseException:
        raise ValueError("only a table, a view or a query (SELECT, WITH, VALUES) is exported, no other SQL") from None


def _literal(file: str) -> str:
    """A file's URL as DuckDB takes it, of a local one its path, between quotes."""
    parts = urlsplit(file)
    path = unquote(parts.path) if parts.scheme == "file" else file
    return "'" + path.replace("'", "''") + "'"
