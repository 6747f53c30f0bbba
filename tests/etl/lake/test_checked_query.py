"""Queries that may run over the lake: what is rejected before Spark sees it, and what Spark gets."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl.lake.checked_query import check_query
from etl.lake.pure_functions import FUNCTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("outputs", "messages", "spends")

ONLY_QUERIES = "only a table, a view or a query (SELECT, WITH, VALUES) is exported, no other SQL"


def not_a_table(shown: str) -> str:
    return f"{shown} is not a table of the lake; expected one of messages, outputs, spends"


def not_a_name(shown: str) -> str:
    return (
        f"{shown} is not a table or view of the lake; expected one of messages, outputs, spends, or a query "
        "(SELECT, WITH, VALUES)"
    )


def not_a_function(shown: str) -> str:
    return f"{shown} is not a function that a query can use"


REJECTED = {
    # Programs, Java, files.
    "SELECT TRANSFORM(amount) USING 'touch /tmp/x' AS a FROM outputs": "TRANSFORM(amount) USING 'touch /tmp/x' is not "
    "allowed in a query",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME')": not_a_function("reflect"),
    "SELECT java_method('java.lang.System', 'exit', 1)": not_a_function("java_method"),
    "SELECT try_reflect('java.lang.System', 'exit', 1)": not_a_function("try_reflect"),
    "SELECT `reflect`('java.lang.System', 'exit', 1)": not_a_function("`REFLECT`('java.lang.System', 'exit', 1)"),
    "SELECT outputs.reflect(1) FROM outputs": not_a_function("outputs.reflect(1)"),
    "SELECT (SELECT max(reflect('a', 'b')) FROM outputs)": not_a_function("reflect"),
    "SELECT * FROM outputs WHERE transform(array(1), x -> reflect('a', 'b')) IS NULL": not_a_function("reflect"),
    "SELECT * FROM csv.`/etc/passwd`": not_a_table("csv.`/etc/passwd`"),
    "SELECT * FROM text.`/etc/passwd` AS outputs": not_a_table("text.`/etc/passwd` AS outputs"),
    "WITH csv AS (SELECT 1) SELECT * FROM csv.`/etc/passwd`": not_a_table("csv.`/etc/passwd`"),
    "SELECT * FROM `/etc/passwd`": not_a_table("`/etc/passwd`"),
    "SELECT * FROM read_files('/etc/passwd')": not_a_table("READ_FILES('/etc/passwd')"),
    "SELECT * FROM IDENTIFIER('csv.`/etc/passwd`')": not_a_table("IDENTIFIER('csv.`/etc/passwd`')"),
    "SELECT * FROM default.outputs": not_a_table("default.outputs"),
    "SELECT * FROM lake.default.outputs": not_a_table("lake.default.outputs"),
    "SELECT * FROM outputs JOIN other USING (a)": not_a_table("other"),
    "SELECT (SELECT count(*) FROM other)": not_a_table("other"),
    "SELECT input_file_name() FROM outputs": not_a_function("input_file_name"),
    "SELECT xpath_string(a, 'b') FROM outputs": not_a_function("xpath_string"),
    # An alias that closes itself.
    "SELECT * FROM outputs LATERAL VIEW explode(array(1)) `t UNION ALL SELECT * FROM text.``/etc/passwd` AS x": None,
    "SELECT * FROM outputs LATERAL VIEW explode(array(1)) `t AS x JOIN csv.f` AS y": None,
    # The session and the time.
    "SELECT current_user()": not_a_function("current_user"),
    "SELECT current_user": not_a_function("current_user"),
    "SELECT current_timestamp": not_a_function("current_timestamp"),
    "SELECT version()": not_a_function("version"),
    "SELECT rand()": not_a_function("rand"),
    # Other statements.
    "SET spark.sql.ansi.enabled = false": ONLY_QUERIES,
    "DROP TABLE outputs": ONLY_QUERIES,
    "CREATE TABLE a AS SELECT 1": ONLY_QUERIES,
    "INSERT INTO outputs SELECT 1": ONLY_QUERIES,
    "FROM outputs INSERT INTO messages SELECT *": ONLY_QUERIES,
    "ADD JAR '/tmp/a.jar'": ONLY_QUERIES,
    "CREATE TEMPORARY FUNCTION f AS 'a.B'": ONLY_QUERIES,
    "SELECT 1; SELECT 2": ONLY_QUERIES,
    "": ONLY_QUERIES,
    # Names with an error.
    "output": not_a_name("output"),
    "archive.outputs": not_a_name("archive.outputs"),
    "native-tokens": not_a_name("native-tokens"),
    "SELECT 1 INTO a": "INTO is not allowed in a query",
    "SELECT /*+ REPARTITION(100000) */ * FROM outputs": "HINT is not allowed in a query",
    "SELECT :a": ":a is not allowed in a query",
    "SELECT * FROM outputs VERSION AS OF 1": "VERSION AS OF 1 is not allowed in a query",
    # What the parser would change.
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM outputs": "PERCENTILE_APPROX(amount, 0.5) is not "
    "allowed in a query",
    "SELECT 'a''b'": r"line 1: two texts side by side; write a quote in a text as \'",
    # Not SQL.
    "SELEC 1": "the query is not valid: line 1, column 7 near '1': Invalid expression / Unexpected token",
    "SELECT '": "the query is not valid: Error tokenizing 'SELECT '",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000: "the query is nested too deeply",
    "SELECT " + "1 + " * 50_000 + "1": "the query has 200008 characters, the maximum is 100000",
}


@pytest.mark.parametrize("query", REJECTED, ids=lambda query: query[:60])
def test_what_is_not_a_query_over_the_lake_is_rejected(query: str) -> None:
    with pytest.raises(ValueError) as failed:  # noqa: PT011 (the message is compared below)
        check_query(query, TABLES)
    if (reason := REJECTED[query]) is not None:
        assert str(failed.value) == reason


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("select Amount from OUTPUTS -- all", "SELECT `Amount` FROM `OUTPUTS`"),
        ("WITH few(a) AS (SELECT 1) SELECT * FROM few", "WITH `few`(`a`) AS (SELECT 1) SELECT * FROM `few`"),
        ("VALUES (2), (1);", "VALUES (2), (1)"),
        (
            "SELECT transform(array(1, 2), x -> x + 1) AS `a``b`",
            "SELECT TRANSFORM(ARRAY(1, 2), `x` -> `x` + 1) AS `a``b`",
        ),
        (
            "SELECT o.stardust.tag FROM outputs o LEFT ANTI JOIN spends s ON o.output_id = s.output_id",
            "SELECT `o`.`stardust`.`tag` FROM `outputs` AS `o` LEFT ANTI JOIN `spends` AS `s` ON `o`.`output_id` = "
            "`s`.`output_id`",
        ),
        (
            "SELECT sum(amount) OVER (PARTITION BY address ORDER BY milestone_index ROWS BETWEEN 1 PRECEDING AND "
            "CURRENT ROW) FROM outputs",
            "SELECT SUM(`amount`) OVER (PARTITION BY `address` ORDER BY `milestone_index` ROWS BETWEEN 1 PRECEDING AND "
            "CURRENT ROW) FROM `outputs`",
        ),
        (
            "SELECT address FROM outputs GROUP BY GROUPING SETS ((address), ())",
            "SELECT `address` FROM `outputs` GROUP BY GROUPING SETS ((`address`), ())",
        ),
    ],
)
def test_a_query_is_written_from_its_tree(query: str, written: str) -> None:
    assert check_query(query, TABLES) == written


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("abcSELECT(`'\"\\/*-;${}\n, ."), max_size=12))
def test_a_name_stays_a_name(name: str) -> None:
    """Whatever is in an alias, the query has that one column."""
    import sqlglot

    quoted = name.replace("`", "``")
    written = check_query(f"SELECT 1 AS `a{quoted}`", TABLES)
    (column,) = sqlglot.parse_one(written, dialect="spark").expressions
    assert column.alias == f"a{name}"


OF_THE_ORDER = {
    *("any_value", "array_agg", "collect_list", "collect_set", "first", "first_value", "last", "last_value"),
    *("listagg", "max_by", "min_by", "string_agg"),
}
"""Functions whose result depends on the order of rows, which Spark calls non-deterministic."""


@pytest.mark.spark
def test_spark_has_every_function_and_none_of_them_reads_anything(spark: "SparkSession") -> None:
    known = {row["function"] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert FUNCTIONS - known == {"timestampadd", "timestampdiff"}
    described = {
        name: "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
        for name in FUNCTIONS & known
    }
    assert {name for name, text in described.items() if "non-deterministic" in text} == OF_THE_ORDER
    assert not [name for name, text in described.items() if "reflect(" in text or "input_file" in text]


@pytest.mark.spark
def test_a_text_is_the_same_in_spark(spark: "SparkSession") -> None:
    texts = [
        "it's",
        'say "a"',
        "back\\slash",
        "\\",
        "tab\tline\nend",
        "nul\x01",
        "Ünïcode 😀",
        "${env:HOME}",
        "%_",
        "a`b",
    ]
    session = spark.newSession()
    session.conf.set("spark.sql.variable.substitute", "false")
    for text in texts:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        (row,) = session.sql(check_query(f"SELECT '{escaped}' AS a", TABLES)).collect()
        assert row["a"] == text
