"""The schema as data, and the same text out of it in every dialect.

Golden files change by an explicit command only: PERMANODE_WRITE_GOLDEN=1 pytest tests/store/test_schema.py
"""

import os
import re
import sqlite3
from pathlib import Path

import pytest

from db import migrations, schema
from db.dialects import cql_type, create_table_cql, create_table_sqlite, spark_ddl, spark_type, sqlite_type
from db.model import Type, primary_key
from db.schema_page import schema_page
from db.store import StoreMismatch

GOLDEN = Path(__file__).parent / "golden"
DIALECTS = {
    "tables.sql": lambda table: f"{create_table_sqlite(table)};\n",
    "tables.cql": lambda table: f"{create_table_cql(table, 'keyspace')};\n",
    "tables.ddl": lambda table: f"{table.name}: {spark_ddl(table)}\n",
}


@pytest.mark.parametrize("name", DIALECTS)
def test_the_text_of_every_table_is_the_golden_one(name):
    text = "\n".join(DIALECTS[name](table) for table in schema.TABLES)
    if os.environ.get("PERMANODE_WRITE_GOLDEN") == "1":
        (GOLDEN / name).write_text(text, "utf-8")
    assert text == (GOLDEN / name).read_text("utf-8")


@pytest.mark.parametrize("dialect", migrations.SUFFIXES)
def test_migration_files_are_what_the_schema_renders(dialect):
    files = sorted(path.name for path in migrations.DIRECTORY.glob(f"*{migrations.SUFFIXES[dialect]}"))
    rendered = migrations.migrations(dialect)
    assert files == [f"{migration.name}{migrations.SUFFIXES[dialect]}" for migration in rendered]
    created = [re.match(r"CREATE TABLE IF NOT EXISTS (?:\$\{keyspace\}\.)?(\w+) \(", statement)[1]
               for migration in rendered for statement in migration.statements]  # fmt: skip
    left_out = {"lease"} if dialect == "sqlite" else set()
    assert sorted(created) == sorted({table.name for table in schema.TABLES} - left_out)


def test_a_changed_or_missing_migration_file_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(migrations, "DIRECTORY", tmp_path)
    with pytest.raises(StoreMismatch, match=r"0001_chrysalis\.cql is missing"):
        migrations.migrations("cql")
    migrations.write_files()
    file = tmp_path / "0001_chrysalis.cql"
    file.write_text(file.read_text().replace("tinyint", "smallint"))
    with pytest.raises(StoreMismatch, match=r"0001_chrysalis\.cql differs"):
        migrations.migrations("cql")
    assert migrations.migrations("sqlite")


def test_sqlite_takes_every_statement_and_finds_slices_by_the_key_alone():
    connection = sqlite3.connect(":memory:")
    for table in schema.TABLES:
        connection.execute(create_table_sqlite(table))
        where = " AND ".join(f"{name} = 1" for name in table.partition)
        order = ", ".join(f"{name} {table.order.value}" for name in table.clustering) or table.partition[0]
        plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table.name} WHERE {where} ORDER BY {order}")
        (detail,) = [row[3] for row in plan]
        assert detail.startswith(f"SEARCH {table.name} USING PRIMARY KEY"), detail
    connection.close()


def test_keys_are_columns_names_are_plain_and_tables_are_unique():
    names = [table.name for table in schema.TABLES]
    assert len(names) == len(set(names))
    for table in schema.TABLES:
        assert set(table.key) <= set(table.names)
        assert len(set(table.names)) == len(table.names)
        assert table.partition
        for name in (table.name, *table.names):
            assert re.fullmatch(r"[a-z][a-z_]{0,47}", name)
            assert name.upper() not in CQL_RESERVED
        for column in table.columns:
            assert column.meaning
            assert "|" not in column.meaning


CQL_RESERVED = re.findall(
    r"\w+",
    """
    ADD ALLOW ALTER AND APPLY ASC AUTHORIZE BATCH BEGIN BY COLUMNFAMILY CREATE DEFAULT DELETE DESC
    DESCRIBE DROP ENTRIES EXECUTE FROM FULL GRANT IF IN INDEX INFINITY INSERT INTO IS KEYSPACE LIMIT
    MATERIALIZED MODIFY NAN NORECURSIVE NOT NULL OF ON OR ORDER PRIMARY RENAME REPLACE REVOKE SCHEMA
    SELECT SET TABLE TO TOKEN TRUNCATE UNLOGGED UPDATE USE USING VIEW WHERE WITH
    """,
)


def test_every_type_is_spelled_in_every_dialect():
    for kind in Type:
        assert sqlite_type(kind)
        assert cql_type(kind)
        assert spark_type(kind)


def test_lookups_and_their_hints_name_the_same_partitions():
    for lookup in (*schema.LOOKUPS, *schema.LEDGER_LOOKUPS):
        assert lookup.table.partition == (*lookup.key, "ms_range_id", "partition_id")
        assert lookup.table.clustering[0] == "milestone_index"
        constants = tuple(name for name, _ in lookup.hint_constants)
        assert sorted(lookup.hints.partition) == sorted((*lookup.key, *constants))
        assert lookup.hints.clustering == ("ms_range_id", "partition_id")


def test_a_row_in_declared_order_gives_its_primary_key():
    assert primary_key(schema.sync, (3, 21, None, 0, None, 5, "ids", 1)) == (3, 21)


def test_the_schema_page_shows_every_column_and_every_plan_table_leads_to_one_of_ours():
    page = schema_page()
    for table in schema.TABLES:
        section = page.split(f"\n### {table.name}\n")[1].split("\n### ")[0]
        for column in table.columns:
            assert f"| {column.name} | {column.type} |" in section
    ours = {name for line in page.split("| plan | here | why |")[1].splitlines()
            if line.startswith("| seeds/") for name in line.split("|")[2].strip().split(", ")}  # fmt: skip
    assert ours <= {table.name for table in schema.TABLES}
