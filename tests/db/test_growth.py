"""Migrating a filled store to a later layout adds the new columns and keeps all rows, wherever it is interrupted."""

import asyncio
import contextlib
import itertools

import pytest

from db import schema
from db.admin import migrate as migrating
from db.admin.migrate import migrate
from db.connect import open_adapter, open_store
from db.schema import migration_files as migrations
from db.store import StoreMismatch
from tests.db.stores import STORES, settings_of

A, B, OUTPUT = b"\x00" * 33, b"\x0b" * 32, b"\x0a" * 34
ADDED = {"ranges": {"logged": "[[3, 4]]"}, "ms_analytics": {"day_addresses": 2**40}}
"""Values for the new columns; the others get those of an indexer's filters."""


def grew(layout):
    """Tables that existed before that layout and got columns since."""
    tables = [table for table in schema.TABLES if table.layout < layout]
    return [table.name for table in tables if any(column.layout >= layout for column in table.columns)]


@pytest.fixture
def unborn(request, tmp_path):
    """Settings of a store that does not exist yet; it is deleted afterwards."""
    if request.param == "sqlite":
        yield settings_of(f"sqlite:///{tmp_path / 'store'}")
        return
    keyspace = request.getfixturevalue("cassandra_keyspace")
    name = f"grown_{abs(hash(request.node.name)) % 10**9}"
    yield settings_of(keyspace.settings.url.replace("/contract", f"/{name}"))
    keyspace.session.execute(f"DROP KEYSPACE IF EXISTS {name}", timeout=60)


def old_row(table):
    """A row of a table that grew, in its original columns, with a value of each type."""
    values = {
        "hex": A,
        "text": "legacy",
        "boolean": True,
        "tinyint": 1,
        "smallint": 2,
        "int": 7,
        "bigint": 2**40,
        "timestamp": 9,
    }
    columns = [column for column in table.columns if column.layout == 0]
    return tuple(column.name for column in columns), [values[column.type] for column in columns]


def make_old(unborn, monkeypatch, layout):
    """A store as before that layout, with a row in each table that grew since."""
    with monkeypatch.context() as past:
        names = {each: name for each, name in migrations.NAMES_OF["iota"].items() if each < layout}
        past.setattr(migrations, "NAMES_OF", {"iota": names})
        # The final check compares it with today's schema.
        with pytest.raises(StoreMismatch, match="differs from the schema"):
            migrate(unborn)
    with contextlib.closing(open_adapter(unborn, writable=True)) as store, store.batch() as batch:
        for name in grew(layout):
            columns, row = old_row(schema.BY_NAME[name])
            batch.upsert(schema.BY_NAME[name], columns, [row])


def check_grown(unborn, layout):
    """Every row is there with null in the new columns; they are writable; migrating again changes nothing."""
    assert migrate(unborn) == []
    with contextlib.closing(open_store(unborn, writable=True)) as store:
        for name in grew(layout):
            table = schema.BY_NAME[name]
            columns, row = old_row(table)
            reported = {
                name: value.hex() if isinstance(value, bytes) else value
                for name, value in zip(columns, row, strict=True)
            }
            assert store.read_all(table) == [{each: reported.get(each) for each in table.names}]
            key = row[: len(table.key)]
            added = ADDED.get(table.name, {"sender": A, "native_tokens": 3})
            with store.batch() as batch:
                batch.upsert(table, (*table.key, *added), [(*key, *added.values())])
            found = asyncio.run(store.get(table, [reported[name] for name in table.key]))
            new = {name: value.hex() if isinstance(value, bytes) else value for name, value in added.items()}
            assert found == {each: reported.get(each) for each in table.names} | new


CUTS = [(5, (2, 1, 0)), (5, ()), (10, (0,))]
"""The layout of a store, and where its migration is interrupted. The first one runs on clusters without `--slow`."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("unborn", "layout", "cuts"),
    [
        pytest.param(
            *store.values, *cut, marks=[*store.marks, *[pytest.mark.slow] * (store in STORES[1:] and cut in CUTS[1:])]
        )
        for store in STORES
        for cut in CUTS
    ],
    indirect=["unborn"],
)
def test_columns_are_added_under_rows_and_cuts_are_healed(unborn, monkeypatch, layout, cuts):
    """Interrupted once or again and again, before a statement's or the migration's own record, as a crash may:
    executed statements cannot be repeated.
    """
    make_old(unborn, monkeypatch, layout)
    missing = [f"{each:04}_{name}" for each, name in migrations.NAMES_OF["iota"].items() if each >= layout]
    with pytest.raises(StoreMismatch, match=f"migration {missing[0]} is missing"):
        open_store(unborn)
    for cut in cuts:
        crash_at_record(unborn, monkeypatch, cut)
    assert migrate(unborn) == missing
    check_grown(unborn, layout)


def crash_at_record(unborn, monkeypatch, cut):
    """A migration that dies before it records the last of its statements but `cut`; 0: before its own record."""
    with contextlib.closing(open_adapter(unborn, writable=True)) as store:
        migration, *_ = migrations.unapplied(store, unborn.network)
        done = migrations.list_recorded(store, unborn.network)
        records = 1 if store.atomic else sum(step.name not in done for step in migration.steps) + 1
    calls, record = itertools.count(1), migrating._record

    def dying(*arguments):
        if next(calls) == max(1, records - cut):
            raise KeyboardInterrupt
        record(*arguments)

    with monkeypatch.context() as dead:
        dead.setattr(migrating, "_record", dying)
        with pytest.raises(KeyboardInterrupt):
            migrate(unborn)
