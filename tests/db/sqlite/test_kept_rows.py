"""Rows of small tables are kept in memory as long as the data do not change."""

import asyncio

import pytest

from db import schema
from db.connect import open_store
from db.listing import turns
from db.sqlite import readers as sqlite_readers
from tests.db.stores import reopened

NETWORK = "a-network"


@pytest.fixture
def settings(sqlite_settings, monkeypatch):
    # A turn of the event loop lasts as long as it likes here.
    monkeypatch.setattr(turns, "SLICE_S", 60)
    turns.SLICE.set(None)
    # Opening a store checks CURRENT. The first read of a test does so again, for as long as the test says.
    monkeypatch.setattr(sqlite_readers, "CHECK_S", 0)
    return sqlite_settings


@pytest.fixture
def stores(settings):
    """A writer and a reader of one store."""
    writer, reader = reopened(settings), open_store(settings)
    yield writer, reader
    reader.close()
    writer.close()


def advance(store, ledger_index, *, publish=False):
    with store.batch(publish=publish) as batch:
        batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [(NETWORK, ledger_index)])


async def newest(store, network=NETWORK):
    return [row["ledger_index"] for row in await store.slice(schema.ledger_frontier, (network,), limit=1)]


async def test_the_next_turn_reads_what_was_written_whether_appended_or_published(stores):
    writer, reader = stores
    assert await newest(reader) == []
    for index in range(1, 9):
        await asyncio.sleep(0)
        advance(writer, index, publish=index % 3 == 0)
        assert await newest(reader) == [index]
        assert await newest(reader) == [index]


async def test_a_turn_that_kept_rows_reads_one_state(stores, monkeypatch):
    monkeypatch.setattr(sqlite_readers, "CHECK_S", 60)
    writer, reader = stores
    advance(writer, 1)
    assert await newest(reader) == [1]
    advance(writer, 2)
    assert await newest(reader) == [1]
    assert await reader.slice(schema.ledger_frontier, (NETWORK,), limit=9) == [{"network": NETWORK, "ledger_index": 1}]
    await asyncio.sleep(0)
    assert await newest(reader) == [2]


async def test_a_statement_runs_once_for_the_same_data(stores, monkeypatch):
    monkeypatch.setattr(sqlite_readers, "CHECK_S", 60)
    writer, reader = stores
    advance(writer, 1)
    assert await newest(reader) == [1]
    statements = []
    reader._readers.connection().exec_trace = lambda _, sql, __: statements.append(sql) or True
    for _ in range(3):
        await asyncio.sleep(0)
        assert await newest(reader) == [1]
    assert not [sql for sql in statements if "ledger_frontier" in sql]
    advance(writer, 2)
    await asyncio.sleep(0)
    assert await newest(reader) == [2]
    assert len([sql for sql in statements if "ledger_frontier" in sql]) == 1


async def test_no_more_reads_are_kept_than_allowed(settings, monkeypatch):
    monkeypatch.setattr(sqlite_readers, "KEPT_AT_MOST", 3)
    reader = open_store(settings)
    for number in range(20):
        await asyncio.sleep(0)
        assert await newest(reader, f"network {number}") == []
        assert len(reader._readers.kept_of_turn()) <= 4
    reader.close()
