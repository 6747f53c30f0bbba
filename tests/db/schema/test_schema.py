"""The schema as data, and the text generated from it in every dialect."""

import os
import re
import sqlite3
from pathlib import Path

import pytest

from db import roles, schema
from db.model import Type
from db.schema import event_columns as families
from db.schema import migration_files as migrations
from db.schema import protocols
from db.schema import selects as schema_selects
from db.schema.dialects import cql_type, create_table_cql, create_table_sqlite, spark_type, sqlite_type
from db.schema.page import schema_page
from db.store import StoreMismatch
from tests.conftest import SHARED, needs_shared

GOLDEN = Path(__file__).parent / "golden"
DIALECTS = {
    "tables.sql": lambda table: f"{create_table_sqlite(table)};\n",
    "tables.cql": lambda table: f"{create_table_cql(table, 'keyspace')};\n",
}


@pytest.mark.parametrize("name", DIALECTS)
def test_the_text_of_every_table_is_the_golden_one(name):
    text = "\n".join(DIALECTS[name](table) for table in protocols.TABLES)
    if os.environ.get("PERMANODE_WRITE_GOLDEN") == "1":
        (GOLDEN / name).write_text(text, "utf-8")
    assert text == (GOLDEN / name).read_text("utf-8")


@pytest.mark.parametrize("dialect", migrations.SUFFIXES)
def test_every_migration_file_is_of_one_protocol(dialect):
    files = sorted(path.name for path in migrations.DIRECTORY.glob(f"*{migrations.SUFFIXES[dialect]}"))
    rendered = [each for protocol in protocols.TABLES_OF for each in migrations.migrations(dialect, protocol)]
    assert files == sorted(f"{migration.name}{migrations.SUFFIXES[dialect]}" for migration in rendered)


@pytest.mark.parametrize("protocol", protocols.TABLES_OF)
@pytest.mark.parametrize("dialect", migrations.SUFFIXES)
def test_migration_files_are_what_the_schema_renders(dialect, protocol):
    rendered = migrations.migrations(dialect, protocol)
    tables = protocols.TABLES_OF[protocol]
    created, added = [], []
    for migration in rendered:
        for statement in migration.statements:
            found = re.match(r"CREATE TABLE IF NOT EXISTS (?:\$\{keyspace\}\.)?(\w+) \(", statement)
            if found:
                created.append(found[1])
            else:
                added += added_columns(statement)
                assert added[-1][0] in created, "a table comes before what is added to it"
    left_out = {"lease"} if dialect == "sqlite" else set()
    assert sorted(created) == sorted({table.name for table in tables} - left_out)
    grown = [(table.name, column.name) for table in tables for column in table.columns if column.layout > 0]
    assert sorted(added) == sorted(grown)


def added_columns(statement):
    """(table, column) of each column that a statement adds."""
    table, columns = re.fullmatch(r"ALTER TABLE (?:\$\{keyspace\}\.)?(\w+) ADD (.*)", statement, re.DOTALL).groups()
    return [
        (table, name) for name in re.findall(r"(\w+) (?:BLOB|INTEGER|TEXT|text|blob|bigint|int|smallint)\b", columns)
    ]


def test_a_changed_or_missing_migration_file_is_rejected_by_name(tmp_path, monkeypatch):
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
    for table in protocols.TABLES:
        connection.execute(create_table_sqlite(table))
        where = " AND ".join(f"{name} = 1" for name in table.partition)
        order = ", ".join(f"{name} {table.order.value}" for name in table.clustering) or table.partition[0]
        plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table.name} WHERE {where} ORDER BY {order}")
        (detail,) = [row[3] for row in plan]
        assert detail.startswith(f"SEARCH {table.name} USING PRIMARY KEY"), detail
    connection.close()


def test_keys_are_columns_names_are_plain_and_tables_are_unique():
    names = [table.name for table in protocols.TABLES]
    assert len(names) == len(set(names))
    for table in protocols.TABLES:
        assert set(table.key) <= set(table.names)
        assert len(set(table.names)) == len(table.names)
        assert table.partition
        for name in (table.name, *table.names):
            assert re.fullmatch(r"[a-z][a-z0-9_]{0,47}", name)
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
    assert {each.table for each in (*protocols.LOOKUPS, schema.MOVEMENTS)} == {
        table for table in protocols.TABLES if table.partition[-1] == "partition_id"
    }
    (by_day,) = protocols.LOOKUPS_OF["wormhole"]
    assert (by_day.range_column, by_day.position_column) == ("day_range", "day")
    assert by_day.table.partition == (*by_day.key, "day_range", "partition_id")
    assert by_day.hints.key == by_day.table.partition
    for lookup in (*schema.ALL_LOOKUPS, schema.MOVEMENTS):
        apart = ("included",) if lookup.table is schema.outputs_by_tag else ()
        assert lookup.table.partition == (*lookup.key, *apart, "ms_range_id", "partition_id")
        assert lookup.table.clustering[0] == "milestone_index"
        names = {name: hint for hint, name in lookup.hint_names}
        constants = tuple(name for name, _ in lookup.hint_constants)
        assert sorted(lookup.hints.partition) == sorted((*(names.get(name, name) for name in lookup.key), *constants))
        assert lookup.hints.clustering == ("ms_range_id", "partition_id")


def test_every_address_view_of_the_plan_is_a_role_and_has_a_column():
    """The views of the Stardust schema plan, and those that it is missing: storage_deposit_return of basic outputs and
    expiration_return.
    """
    found = {}
    for role in roles.ROLES:
        assert role.column in role.table.names
        found.setdefault(role.table.name, {}).setdefault(role.output_kind, set()).add(role.variant)
    assert found == {
        "outputs_by_address": {
            "legacy": {"address"},
            "basic": {"address", "sender", "storage_deposit_return", "expiration_return"},
            "alias": {"sender", "issuer", "state_controller", "governor"},
            "foundry": {"address"},
            "nft": {"address", "storage_deposit_return", "sender", "issuer", "expiration_return"},
        },
        "outputs_by_tag": {"basic": {"tag"}, "nft": {"tag"}},
        "alias_outputs": {"alias": {"chain"}},
        "nft_outputs": {"nft": {"chain"}},
        "foundry_outputs": {"foundry": {"chain"}},
    }
    assert {role.output_kind for role in roles.ROLES} == set(roles.KINDS) == set(roles.KIND_OF_TYPE.values())


def test_the_schema_page_shows_every_column_and_every_plan_table_leads_to_a_table_here():
    page = schema_page()
    for table in protocols.TABLES:
        section = page.split(f"\n### {table.name}\n")[1].split("\n### ")[0]
        for column in table.columns:
            assert f"| {column.name} | {column.type} |" in section
    plans = page.split("| plan | here | difference |\n|---|---|---|\n")[1:]
    rows = [line for plan in plans for line in plan.split("\n\n")[0].splitlines()]
    assert len(plans) == 2
    assert len(rows) == 30
    own = {name for line in rows for name in line.split("|")[2].strip().split(", ")}
    assert own <= {table.name for table in schema.TABLES}


SEED_COLUMN = re.compile(r"^- `(\w+):([\w:{}]+)`", re.MULTILINE)


@needs_shared
@pytest.mark.parametrize("seed", families.REVISIONS)
def test_every_column_of_the_event_tables_has_its_place_in_the_schema_and_its_page(seed):
    (file,) = (SHARED.parent / "seeds").glob(f"{seed}_*.txt")
    documented = SEED_COLUMN.findall(file.read_text())
    assert len(documented) >= 12
    page = schema_page().split("## From the event plans' column families to these tables")[1]
    marks = {"001": 2, "002": 3, "000": 4}
    for family, qualifier in documented:
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {family}:{qualifier} |"))
        cells = line.split("|")
        assert cells[marks[seed]].strip() == "✓"
        table, column = cells[5].strip().split(".")
        assert column in {each.name for each in protocols.TABLES if each.name == table for each in each.columns}
    for cells in (line.split("|") for line in page.splitlines() if re.match(r"\| \w+:", line)):
        if cells[marks[seed]].strip() == "✓":
            assert tuple(cells[1].strip().split(":", 1)) in documented


def test_every_query_of_the_plans_is_answered_by_an_existing_table():
    for requested, answer in (*schema_selects.STARDUST_SELECTS, *schema_selects.CHRYSALIS_SELECTS):
        named = re.findall(r"`([a-z_]+) \(\(([a-z_]+)", answer)
        for table, first in named:
            assert first == schema.BY_NAME[table].partition[0], requested
        assert named or re.search(r"same rows|not kept yet|as alias_outputs", answer), requested
