"""Behaviour of the SQLite store only: generations, a crash at every step of a publication, processes that die."""

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from db import schema
from db.admin.migrate import migrate
from db.connect import open_adapter, open_store
from db.listing import turns
from db.schema.migration_files import check
from db.sqlite import building, checksums
from db.sqlite import files as sqlite_files
from db.sqlite import readers as sqlite_readers
from db.sqlite import writer as sqlite_writer
from db.sqlite.store import SqliteStore
from db.sqlite.stored_form import create_statements
from db.store import LeaseHeld, StoreDamaged, StoreError, StoreMismatch, StoreUnavailable
from tests.conftest import ROOT
from tests.db.stores import changing, reopened, settings_of

KEY = ("ms_range_id", "milestone_index")


@pytest.fixture
def settings(sqlite_settings):
    return sqlite_settings


@pytest.fixture
def folder(settings):
    return Path(settings.url.removeprefix("sqlite:///"))


def milestones(store):
    return [row["milestone_index"] for row in asyncio.run(store.slice(schema.sync, (0,), limit=99))]


def put(store, index, *, publish):
    with store.batch(publish=publish) as batch:
        batch.upsert(schema.sync, KEY, [(0, index)])


def test_a_folder_may_be_relative_to_the_current_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    migrate(settings_of("sqlite:///data"))
    store = reopened(settings_of("sqlite:///data"))
    put(store, 1, publish=True)
    assert milestones(store) == [1]
    store.close()
    assert (tmp_path / "data" / "CURRENT").is_file()


def test_a_publication_is_a_new_file_and_the_old_one_goes(settings, folder):
    store = reopened(settings)
    put(store, 1, publish=True)
    put(store, 2, publish=True)
    assert [path.name for path in folder.glob("gen-*.sqlite")] == ["gen-000003.sqlite"]
    assert (folder / "CURRENT").read_text() == "gen-000003.sqlite\n"
    assert milestones(store) == [2, 1]
    store.close()
    with sqlite3.connect(folder / "gen-000003.sqlite") as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (16384,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_the_first_rows_are_prepared_while_pages_are_copied(settings, monkeypatch):
    copy_pages, prepared = building.copy_pages, threading.Event()

    def waiting(*arguments):
        assert prepared.wait(9)
        copy_pages(*arguments)

    monkeypatch.setattr(building, "copy_pages", waiting)
    store = reopened(settings)
    put(store, 1, publish=False)
    with store.batch(publish=True) as batch:
        prepared.set()
        batch.upsert(schema.sync, KEY, [(0, 2)])
    assert milestones(store) == [2, 1]
    store.close()


def test_a_batch_that_raises_ends_the_copy_of_pages(settings, folder, monkeypatch):
    copy_pages, copied = building.copy_pages, []

    def slow(served, target, stopped):
        stopped.wait(9)
        copy_pages(served, target, stopped)
        copied.append(target.execute("SELECT name FROM sqlite_master").fetchall())

    def stop():
        raise RuntimeError("stop")

    monkeypatch.setattr(building, "copy_pages", slow)
    store = reopened(settings)
    put(store, 1, publish=False)
    with pytest.raises(RuntimeError, match="stop"), store.batch(publish=True):
        stop()
    assert copied == [[]]
    monkeypatch.undo()
    put(store, 2, publish=True)
    assert milestones(store) == [2, 1]
    assert len(list(folder.glob("gen-*.sqlite"))) == 1
    store.close()


def test_a_publication_carries_what_small_batches_wrote(settings):
    store = reopened(settings)
    put(store, 1, publish=False)
    put(store, 2, publish=True)
    put(store, 3, publish=False)
    assert milestones(store) == [3, 2, 1]
    store.close()


@pytest.mark.parametrize("publish", [False, True])
def test_nothing_of_a_batch_that_raises_is_visible(store, settings, publish):
    put(store, 1, publish=False)

    def stopped():
        with store.batch(publish=publish) as batch:
            batch.upsert(schema.sync, KEY, [(0, 2)])
            batch.delete(schema.sync, (0, 1))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stopped()
    with pytest.raises(RuntimeError, match="source"), store.batch(publish=publish) as batch:
        batch.upsert(schema.sync, KEY, _failing())
    other = reopened(settings)
    assert milestones(store) == milestones(other) == [1]
    other.close()
    put(store, 3, publish=publish)
    assert milestones(store) == [3, 1]


def _failing():
    yield (0, 4)
    raise RuntimeError("source")


@pytest.mark.parametrize("publish", [False, True])
async def test_reads_go_on_during_a_batch_and_see_it_whole_or_not_at_all(settings, publish):
    writer, reader = reopened(settings), open_store(settings)
    put(writer, 0, publish=False)
    assert await reader.get(schema.sync, (0, 0)) is not None
    started, done = threading.Event(), threading.Event()

    def rows():
        for index in range(1, 1000):
            if index == 500:
                started.set()
                done.wait(10)
            yield (0, index)

    def write():
        with writer.batch(publish=publish) as batch:
            batch.upsert(schema.sync, KEY, rows())

    thread = threading.Thread(target=write)
    thread.start()
    assert started.wait(10)
    seen = len(await reader.slice(schema.sync, (0,), limit=5000))
    done.set()
    counts = {seen}
    while thread.is_alive():
        counts.add(len(await reader.slice(schema.sync, (0,), limit=5000)))
    thread.join()
    time.sleep(0.05)
    assert len(await reader.slice(schema.sync, (0,), limit=5000)) == 1000
    assert seen == 1
    assert counts <= {1, 1000}
    reader.close()
    writer.close()


async def indices(store):
    return [row["milestone_index"] for row in await store.slice(schema.sync, (0,), limit=99)]


def truncated(folder):
    """Whether no process reads from the write-ahead log."""
    (file,) = folder.glob("gen-*.sqlite")
    connection = apsw.Connection(str(file))  # the library that holds the locks, which belong to a process
    (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.close()
    return not busy


async def test_one_turn_of_the_event_loop_reads_one_state_and_the_next_one_what_is_new(settings, folder, monkeypatch):
    monkeypatch.setattr(sqlite_readers, "CHECK_S", 60)
    monkeypatch.setattr(turns, "SLICE_S", 60)
    turns.SLICE.set(None)
    writer, reader = reopened(settings), open_store(settings)
    put(writer, 1, publish=False)
    assert await indices(reader) == [1]
    put(writer, 2, publish=False)
    assert await indices(reader) == [1]
    assert await reader.get(schema.sync, (0, 2)) is None
    assert not truncated(folder)
    await asyncio.sleep(0)
    assert truncated(folder)
    assert await indices(reader) == [2, 1]
    reader.close()
    writer.close()


async def test_a_long_turn_reads_what_is_new_at_each_look_at_the_store(settings, monkeypatch):
    monkeypatch.setattr(sqlite_readers, "CHECK_S", 0)
    writer, reader = reopened(settings), open_store(settings)
    for index in (1, 2, 3):
        put(writer, index, publish=False)
        assert await indices(reader) == [*range(index, 0, -1)]
    reader.close()
    writer.close()


async def test_a_store_reads_what_it_wrote_in_the_same_turn_and_does_not_wait_for_itself(settings, monkeypatch):
    monkeypatch.setattr(sqlite_readers, "CHECK_S", 60)
    store = reopened(settings)
    for index, publish in ((1, False), (2, False), (3, True), (4, False), (5, True)):
        begun = time.monotonic()
        put(store, index, publish=publish)
        assert time.monotonic() - begun < checksums.BUSY_MS / 2000
        assert await indices(store) == [*range(index, 0, -1)]
    store.close()


@pytest.mark.parametrize("publish", [False, True])
def test_a_run_that_lost_its_lease_cannot_commit(store, settings, publish):
    store.acquire("elsewhere:1", "run-1", 0)
    other = reopened(settings)

    def late():
        with store.batch(publish=publish) as batch:
            batch.upsert(schema.sync, KEY, [(0, 1)])
            other.acquire("elsewhere:2", "run-2", 60)

    with pytest.raises(LeaseHeld, match="run-2"):
        late()
    assert milestones(other) == []
    other.close()


def test_describe_counts_the_rows_of_every_table_and_the_bytes_of_their_values(settings):
    store = reopened(settings)
    with store.batch() as batch:
        batch.upsert(schema.messages, ("message_id", "message"), [(b"a" * 32, b"x" * 100), (b"b" * 32, b"")])
    sizes = {size.table: size for size in asyncio.run(store.describe())}
    assert set(sizes) == {table.name for table in schema.TABLES} - {"lease"}
    assert sizes["messages"].rows == 2
    assert 164 <= sizes["messages"].bytes < 1_000
    assert sizes["parents"].rows == 0
    store.close()


@pytest.mark.parametrize("step", range(7))
def test_a_crash_at_any_step_of_a_publication_leaves_the_old_generation(settings, folder, monkeypatch, step):
    """Steps: the generation's check, its fsync, its name, the pointer's fsync, the folder's, the switch itself."""
    store = reopened(settings)
    put(store, 1, publish=False)
    calls = iter(range(100))

    def crashing(real):
        def call(*args):
            if next(calls) == step:
                raise KeyboardInterrupt
            return real(*args)

        return call

    monkeypatch.setattr(sqlite_writer, "check_built", crashing(sqlite_writer.check_built))
    fsync = crashing(sqlite_files.fsync)
    monkeypatch.setattr(sqlite_files, "fsync", fsync)
    monkeypatch.setattr(sqlite_writer, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", crashing(Path.replace))
    with pytest.raises(KeyboardInterrupt):
        put(store, 2, publish=True)
    monkeypatch.undo()
    switched = step == 6
    fresh = reopened(settings)
    assert milestones(fresh) == ([2, 1] if switched else [1])
    put(fresh, 3, publish=True)
    assert milestones(fresh) == ([3, 2, 1] if switched else [3, 1])
    assert len(list(folder.glob("gen-*.sqlite"))) == 1
    assert not (folder / "CURRENT.new").exists()
    store.close()
    fresh.close()


def test_what_a_crash_left_in_the_next_generation_is_not_built_upon(settings, folder):
    (folder / "gen-000002.sqlite").write_bytes(b"half a page of something else" * 99)
    store = reopened(settings)
    put(store, 1, publish=True)
    assert milestones(store) == [1]
    store.close()


UNHINTED = "aa" * 32, 0, 0, 5, "bb" * 32

NOT_WHOLE = {
    "do not list the messages": [
        (schema.sync, ("ms_range_id", "milestone_index", "synced_by", "message_count"), (0, 5, 0, 1))
    ],
    "missing by id": [
        (schema.messages_by_milestone, ("milestone_index", "white_flag_index", "message_id"), (5, 0, "bb" * 32))
    ],
    "of tags have no hint": [
        (schema.tags, schema.tags.key, UNHINTED),
        (schema.tag_hints, schema.tag_hints.key, ("aa" * 32, "basic", 0, 0)),
    ],
    "of outputs_by_address have no hint": [
        (
            schema.outputs_by_address,
            schema.outputs_by_address.key,
            ("cc" * 33, "legacy", "address", True, 0, 0, 5, "dd" * 34, "bb" * 32),
        ),
        (schema.addresses_hints, schema.addresses_hints.key, ("cc" * 33, "legacy", "address", True, 0, 5)),
    ],
    "of transactions_by_address have no hint": [
        (
            schema.transactions_by_address,
            schema.transactions_by_address.key,
            ("cc" * 33, True, 0, 0, 5, "dd" * 32, "bb" * 32),
        ),
        (schema.addresses_hints, schema.addresses_hints.key, ("cc" * 33, "legacy", "address", True, 0, 0)),
    ],
}
"""What is missing in a generation → rows that require it."""


@pytest.mark.parametrize("missing", NOT_WHOLE)
def test_a_generation_that_is_not_whole_is_not_published(settings, folder, missing):
    store = reopened(settings)
    put(store, 1, publish=True)

    def publish():
        with store.batch(publish=True) as batch:
            for table, columns, row in NOT_WHOLE[missing]:
                batch.upsert(table, columns, [row])

    with pytest.raises(StoreError, match=f"inconsistent: 1 .*{missing}"):
        publish()
    assert milestones(store) == [1]
    put(store, 2, publish=True)
    assert milestones(store) == [2, 1]
    assert len(list(folder.glob("gen-*.sqlite"))) == 1
    store.close()


KILLED = """
    import os, signal, sys
    from db import schema
    from db.connect import StoreSettings, open_store
    publish, at = sys.argv[2] == "publish", int(sys.argv[3])
    store = open_store(StoreSettings(sys.argv[1], "permatest-1", chunk_size=7, partition_size=3), writable=True)
    def rows():
        for index in range(1, 20_000):
            if index == at:
                os.kill(os.getpid(), signal.SIGKILL)
            yield 0, index
    with store.batch(publish=publish) as batch:
        batch.upsert(schema.sync, ("ms_range_id", "milestone_index"), rows())
"""


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["publish", "small"])
@pytest.mark.parametrize("at", [1, 19_999])
def test_a_killed_writer_leaves_what_was_there(settings, folder, path, at):
    store = reopened(settings)
    put(store, 0, publish=False)
    store.close()
    command = [sys.executable, "-c", textwrap.dedent(KILLED), settings.url, path, str(at)]
    killed = subprocess.run(command, cwd=ROOT, check=False, timeout=60)
    assert killed.returncode == -9
    fresh = reopened(settings)
    assert milestones(fresh) == [0]
    put(fresh, 1, publish=path == "small")
    assert milestones(fresh) == [1, 0]
    assert len(list(folder.glob("gen-*.sqlite"))) == 1
    fresh.close()


def test_a_reader_in_another_process_follows_publications(settings):
    script = """
        import asyncio, sys
        from db import schema
        from db.connect import StoreSettings, open_store
        store = open_store(StoreSettings(sys.argv[1], "permatest-1", chunk_size=7, partition_size=3))
        for line in sys.stdin:
            rows = asyncio.run(store.slice(schema.sync, (0,), limit=99))
            print([row["milestone_index"] for row in rows], flush=True)
        store.close()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), settings.url]
    store = reopened(settings)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as reader:

        def ask():
            reader.stdin.write("?\n")
            reader.stdin.flush()
            return reader.stdout.readline().strip()

        assert ask() == "[]"
        put(store, 1, publish=True)
        asyncio.run(asyncio.sleep(2 * sqlite_readers.CHECK_S))
        assert ask() == "[1]"
        put(store, 2, publish=False)
        assert ask() == "[2, 1]"
        reader.stdin.close()
        assert reader.wait(10) == 0
    store.close()


def test_a_store_larger_than_memory_is_read_by_threads(settings, monkeypatch):
    monkeypatch.setattr(sqlite_readers, "half_of_memory", lambda: 0)
    store = reopened(settings)
    put(store, 1, publish=True)
    assert milestones(store) == [1]
    assert asyncio.run(store.get(schema.sync, (0, 1)))["milestone_index"] == 1
    assert asyncio.run(store.get_many(schema.sync, [(0, 1), (0, 2)]))[1] is None
    store.close()


def test_a_dead_holder_on_this_machine_is_replaced_at_once(settings):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    store = reopened(settings)
    store.acquire(f"{socket.gethostname()}:{gone.pid}", "run-1", 3600)
    assert store.acquire(f"{socket.gethostname()}:{os.getpid()}", "run-2", 3600).run == "run-2"
    with pytest.raises(LeaseHeld, match="run-2"):
        store.acquire(f"{socket.gethostname()}:{os.getpid()}", "run-3", 3600)
    store.close()


def test_the_wal_is_empty_once_the_writer_is_closed(settings, folder):
    store = reopened(settings)
    reader = open_store(settings)
    asyncio.run(reader.ping())
    put(store, 1, publish=False)
    (wal,) = folder.glob("*-wal")
    assert wal.stat().st_size > 0
    store.close()
    assert wal.stat().st_size == 0
    assert milestones(reader) == [1]
    reader.close()


def test_purge_removes_expired_rows_by_the_clock_given(settings, folder):
    now = [1_000.0]
    store = SqliteStore(folder, clock=lambda: now[0])
    with store.batch() as batch:
        batch.upsert(schema.pending_messages, ("message_id",), [(b"a" * 32,), (b"b" * 32,)])
    now[0] += schema.PENDING_TTL_S - 1
    assert asyncio.run(store.get(schema.pending_messages, ("61" * 32,))) is not None
    assert store.purge() == 0
    now[0] += 1
    assert asyncio.run(store.get(schema.pending_messages, ("61" * 32,))) is None
    assert store.purge() == 2
    store.close()


def test_a_damaged_file_is_not_reported_as_an_unavailable_store(settings, folder):
    (folder / "gen-000001.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="file is not a database") as rejected:
        open_store(settings)
    assert not isinstance(rejected.value, StoreUnavailable)


@pytest.mark.parametrize("size", [0, 20, 99])
def test_a_served_file_without_a_whole_header_is_damaged(settings, folder, size):
    file = folder / "gen-000001.sqlite"
    file.write_bytes(file.read_bytes()[:size])
    for use in (open_store, migrate):
        with pytest.raises(StoreDamaged, match="permanode fsck"):
            use(settings)
    store = open_adapter(settings, writable=False)
    assert [each.rows for each in store.check(7, lambda *_: None)] == ["all rows of all tables"]
    store.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DROP TABLE sync", "table sync is missing"),
        ("ALTER TABLE sync ADD COLUMN more INTEGER", "table sync differs"),
        ("ALTER TABLE sync DROP COLUMN synced_by", "table sync differs"),
        ("ALTER TABLE sync RENAME COLUMN synced_by TO run", "table sync differs"),
        ("DROP VIEW parents", "table parents is missing"),
        ("ALTER TABLE tags_rows ADD COLUMN more INTEGER", "table tags differs"),
        ("DROP TABLE tags_partitions", "table tags is missing"),
        ("DROP VIEW tags; CREATE VIEW tags AS SELECT * FROM tags_partitions JOIN tags_rows", "table tags differs"),
        ("CREATE TABLE mine (a)", "table mine is not in the schema"),
    ],
)
def test_a_store_that_drifted_from_the_schema_is_rejected(settings, folder, change, message):
    with changing(folder / "gen-000001.sqlite") as connection:
        connection.execute(change)
    with pytest.raises(StoreMismatch, match=message):
        open_store(settings)


def test_columns_may_be_in_any_order_but_the_key_may_not(settings, folder):
    """ALTER TABLE appends columns, wherever the schema declares them."""
    for table in (schema.messages_by_milestone, schema.tags):

        def put(changed, table=table):
            with changing(folder / "gen-000001.sqlite") as connection:
                for name in create_statements(table):
                    connection.execute(f"DROP {'VIEW' if name == 'tags' else 'TABLE'} {name}")
                for statement in create_statements(changed).values():
                    connection.execute(statement)

        put(replace(table, columns=table.columns[::-1]))
        open_store(settings).close()
        put(replace(table, clustering=table.clustering[::-1]))
        with pytest.raises(StoreMismatch, match=f"table {table.name} differs"):
            open_store(settings)
        put(table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE migrations SET checksum = 'x'", "0001_chrysalis was changed after"),
        ("INSERT INTO migrations VALUES ('permatest-1', '9999_future', 'x', 0)", "9999_future, which this version"),
        ("DELETE FROM migrations", "migration 0001_chrysalis is missing"),
    ],
)
def test_a_migration_record_that_contradicts_the_files_is_rejected(settings, folder, change, message):
    with changing(folder / "gen-000001.sqlite") as connection:
        connection.execute(change)
    with pytest.raises(StoreMismatch, match=message):
        open_store(settings)


def test_a_missing_store_names_the_command_that_creates_it(tmp_path):
    store = open_adapter(settings_of(f"sqlite:///{tmp_path / 'none'}"), writable=True)
    with pytest.raises(StoreMismatch, match="permanode migrate"):
        check(store, {})
    for query in (store.ping(), store.get(schema.sync, (0, 0))):
        with pytest.raises(StoreMismatch, match="permanode migrate"):
            asyncio.run(query)
    with pytest.raises(StoreMismatch, match="permanode migrate"), store.batch():
        pass
    assert not (tmp_path / "none").exists()
    store.close()


@pytest.mark.parametrize("url", ["cassandra:host/ks", "postgres://x", "sqlite:///", "sqlite:/x", ""])
def test_an_unknown_url_is_answered_with_what_a_url_is(url):
    with pytest.raises(StoreError, match="sqlite:///FOLDER"):
        open_adapter(settings_of(url), writable=False)


def test_a_damaged_file_is_an_error_of_the_port(settings, folder):
    (folder / "gen-000001.sqlite").write_bytes(b"not a database" * 2000)
    fresh = open_adapter(settings, writable=False)
    with pytest.raises(StoreError):
        asyncio.run(fresh.get(schema.sync, (0, 0)))
    (folder / "gen-000001.sqlite").unlink()
    with pytest.raises(StoreUnavailable, match="CURRENT"):
        asyncio.run(open_adapter(settings, writable=False).ping())
    fresh.close()
