"""Behaviour of cluster stores only: CQL that Cassandra and ScyllaDB accept, stepwise migrations,
consistency, errors.
"""

import asyncio
import dataclasses
import itertools
import math
import re
import time
from contextlib import closing
from hashlib import blake2b
from types import SimpleNamespace

import pytest
from cassandra import ConsistencyLevel, InvalidRequest, OperationTimedOut

from db import schema
from db.admin.migrate import REWRITTEN, migrate
from db.cassandra import batch as cassandra_batch
from db.cassandra.batch import IN_FLIGHT
from db.cassandra.plans import ReadPlan, clear_cql, delete_cql, upsert_cql
from db.cassandra.session import CassandraSession
from db.connect import open_adapter, open_store
from db.listing.deadline import DEADLINE
from db.schema import migration_files as migrations
from db.statements import Shape
from db.store import Bound, LeaseHeld, StoreError, StoreMismatch, StoreUnavailable
from tests.cassandra_relay import Relay
from tests.db.stores import reopened, settings_of

WRITTEN = re.compile(
    r"INSERT INTO ks\.\w+ \([\w, ]+\) VALUES \([?, ]+\)( USING (TIMESTAMP \?|TTL \?|TIMESTAMP \? AND TTL \?))?"
    r"|DELETE FROM ks\.\w+( USING TIMESTAMP \?)? WHERE \w+ = \?( AND \w+ = \?)*"
    r"|TRUNCATE ks\.\w+"
)
SELECT = re.compile(
    r"SELECT (?P<columns>[\w, ]+) FROM ks\.(?P<table>\w+) WHERE (?P<partition>\w+ = \?(?: AND \w+ = \?)*)"
    r"(?: AND \([\w, ]+\) (?:>=|>) \([?, ]+\))?(?: AND \([\w, ]+\) (?:<=|<) \([?, ]+\))?"
    r"(?: ORDER BY \w+ (?:ASC|DESC)(?:, \w+ (?:ASC|DESC))*)?(?: LIMIT \?)?"
)
CREATE = re.compile(
    r"CREATE TABLE IF NOT EXISTS \$\{keyspace\}\.\w+ \(\n"
    r"(?:  \w+ (?:text|blob|boolean|tinyint|smallint|int|bigint|timestamp|date),\n)+"
    r"  PRIMARY KEY \(\(\w+(?:, \w+)*\)(?:, \w+)*\)\n\)"
    r" WITH (?:CLUSTERING ORDER BY \((?:\w+ ASC(?:, \w+ ASC)*|\w+ DESC(?:, \w+ DESC)*)\)\n  AND )?"
    r"compaction = \{'class': '(?:LeveledCompactionStrategy|TimeWindowCompactionStrategy)'"
    r"(?:, 'compaction_window_unit': 'HOURS', 'compaction_window_size': '\d+')?\}"
    r"(?:\n  AND default_time_to_live = \d+\n  AND gc_grace_seconds = \d+)?"
    r"(?:\n  AND compression = \{'(?:class|sstable_compression)': 'ZstdCompressor'\})?"
)
ADD = re.compile(
    r"ALTER TABLE \$\{keyspace\}\.\w+ ADD \(\n  \w+ (?:text|blob|bigint|smallint)"
    r"(?:,\n  \w+ (?:text|blob|bigint|smallint))*\n\)"
)
"""The grammar of all statements: no view, no index, no filtering, no type or option that only one of the two has. They
have different names for the option of compression (db/cassandra/compression.py).
"""

BESIDE = (
    re.compile(
        r"CREATE KEYSPACE IF NOT EXISTS ks WITH replication = \{'class': 'NetworkTopologyStrategy', '\w+': \d+\}"
    ),
    re.compile(r"ALTER TABLE ks\.\w+ WITH compression = \{'(?:class|sstable_compression)': 'ZstdCompressor'\}"),
    re.compile(r"INSERT INTO ks\.lease \([\w, ]+\) VALUES \([?, ]+\) IF NOT EXISTS USING TTL \?"),
    re.compile(r"UPDATE ks\.lease USING TTL \? SET \w+ = \?(, \w+ = \?)* WHERE name = \? IF owner = \? AND run = \?"),
    re.compile(r"DELETE FROM ks\.lease WHERE name = \? IF owner = \? AND run = \?"),
    re.compile(r"SELECT [\w, ]+ FROM ks\.(keyspace_info|migrations)"),
    re.compile(r"SELECT [\w, ]+ FROM system_schema\.(keyspaces|tables|columns) WHERE keyspace_name = \?"),
    re.compile(r"SELECT [\w, ]+ FROM system\.size_estimates WHERE keyspace_name = \?"),
    re.compile(r"SELECT [\w, ]+ FROM system\.local"),
)
"""Statements beside those on the tables' rows: a keyspace, the compression of earlier tables, the lease's lightweight
transactions, two small tables that are read whole, and the system tables of both databases.
"""


def test_tables_are_made_of_what_both_kinds_of_cluster_document():
    statements = [each for migration in migrations.migrations("cql") for each in migration.statements]
    assert len([statement for statement in statements if CREATE.fullmatch(statement)]) == len(schema.TABLES)
    for statement in statements:
        assert CREATE.fullmatch(statement) or ADD.fullmatch(statement), statement


def test_every_query_names_its_whole_partition_and_nothing_else_is_queried():
    for table in schema.TABLES:
        sizes = range(len(table.clustering) + 1)
        shapes = itertools.product(sizes, (True, False), sizes, (True, False), (True, False))
        plan = ReadPlan(table, "ks")
        for cql in [plan.get, *(plan.slice(Shape(*shape)) for shape in shapes)]:
            found = SELECT.fullmatch(cql)
            assert found, cql
            requested = [each.partition(" ")[0] for each in found["partition"].split(" AND ")]
            assert requested in ([*table.partition], [*table.key])
        written = [clear_cql(table, "ks")]
        for is_timed in (True, False):
            written += [upsert_cql(table, "ks", columns, is_timed=is_timed) for columns in (table.names, table.key)]
            covering = range(len(table.partition), len(table.key) + 1)
            written += [delete_cql(table, "ks", count, is_timed=is_timed) for count in covering]
        for cql in written:
            assert WRITTEN.fullmatch(cql), cql


@pytest.mark.parametrize(
    "forbidden",
    [
        "CREATE MATERIALIZED VIEW ${keyspace}.v AS SELECT * FROM ${keyspace}.messages",
        "CREATE INDEX ON ${keyspace}.messages (milestone_index)",
        "ALTER TABLE ${keyspace}.messages ADD IF NOT EXISTS (\n  more text\n)",
        "CREATE CUSTOM INDEX ON ${keyspace}.messages (milestone_index) USING 'StorageAttachedIndex'",
        "CREATE TABLE IF NOT EXISTS ${keyspace}.t (\n  a vector<float, 3>,\n  PRIMARY KEY ((a))\n)",
    ],
)
def test_the_test_of_statements_rejects_what_it_is_there_for(forbidden):
    assert not CREATE.fullmatch(forbidden)
    assert not ADD.fullmatch(forbidden)
    assert not SELECT.fullmatch("SELECT a FROM ks.t WHERE a = ? ALLOW FILTERING")


@pytest.mark.parametrize(
    "url",
    [
        "cassandra://",
        "cassandra:///ks",
        "cassandra://host:99999/ks",
        "cassandra://a:1,b:2/ks",
        "cassandra://@host/ks",
        "cassandra://host/Ks",
        f"cassandra://host/{'k' * 49}",
        "cassandra://host/ks?rf=0",
        "cassandra://host/ks?dc=a'b",
        "scylla://host/ks?password=secret",
    ],
)
def test_an_invalid_url_is_answered_with_a_valid_example(url):
    with pytest.raises(StoreError, match=r"cassandra://\[USER@\]HOST") as rejected:
        open_adapter(settings_of(url), writable=False)
    assert "secret" not in str(rejected.value)


def test_a_password_in_a_url_is_rejected_and_not_shown():
    with pytest.raises(StoreError, match="setting `password`") as rejected:
        open_adapter(settings_of("cassandra://me:secret@host/ks"), writable=False)
    assert "secret" not in str(rejected.value)


def test_a_password_is_in_no_text_of_its_settings():
    assert "secret" not in repr(dataclasses.replace(settings_of("cassandra://me@host/ks"), password="secret"))


@pytest.mark.parametrize(("name", "value"), [("consistency", "MOST"), ("consistency_immutable", "x")])
def test_an_unknown_consistency_is_rejected_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be one of .*LOCAL_QUORUM"):
        dataclasses.replace(settings_of("cassandra://host/ks"), **{name: value})


def test_where_nobody_listens_the_store_is_away():
    with pytest.raises(StoreUnavailable, match=r"cassandra://127\.0\.0\.1:9/ks: no node responds"):
        open_adapter(settings_of("cassandra://127.0.0.1:9/ks"), writable=False)


LAST = sum(len(migration.statements) for migration in migrations.migrations("cql"))
"""The number of statements that create the tables of a keyspace. The first one creates the lease's."""


@pytest.fixture
def fresh(cassandra_keyspace, request):
    """Settings of a keyspace that does not exist yet; it is dropped afterwards."""
    name = f"fresh_{abs(hash(request.node.name)) % 10**9}"
    url = cassandra_keyspace.settings.url.replace("/contract", f"/{name}")
    yield settings_of(url)
    cassandra_keyspace.session.execute(f"DROP KEYSPACE IF EXISTS {name}", timeout=60)


def test_without_a_number_of_replicas_no_keyspace_is_created(fresh):
    with pytest.raises(StoreMismatch, match="permanode migrate"):
        open_store(fresh)
    with pytest.raises(StoreError, match="rf=REPLICAS"):
        migrate(dataclasses.replace(fresh, url=fresh.url.removesuffix("?rf=1")))


CUTS = (1, 2, 20, 25, 26, LAST - 1, LAST)


def test_a_migration_that_is_cut_short_again_and_again_is_completed_by_the_last_run(fresh, monkeypatch):
    """Interrupted when it first ran each of the statements CUTS, before their records, as a crash may."""
    ran = []
    define = CassandraSession.define

    def crashing(session, cql):
        define(session, cql)
        # The lease is created without compression, before the first migration names it again.
        statement = cql.partition("\n  AND compression")[0]
        if statement.startswith(("CREATE TABLE", "ALTER TABLE")) and statement not in ran:
            ran.append(statement)
            if len(ran) in CUTS:
                raise KeyboardInterrupt

    monkeypatch.setattr(CassandraSession, "define", crashing)
    for _ in CUTS:
        with pytest.raises(KeyboardInterrupt):
            migrate(fresh)
        with pytest.raises(StoreMismatch, match="permanode migrate"):
            open_store(fresh)
    assert migrate(fresh)[-1] == list(migrations.migrations("cql"))[-1].name
    store = open_store(fresh)
    names = [row["name"] for row in asyncio.run(store.slice(schema.migrations, (fresh.network,), limit=99))]
    assert names == [migration.name for migration in migrations.migrations("cql")]
    store.close()
    assert len(ran) == LAST
    assert migrate(fresh) == []


def test_a_step_that_was_changed_since_is_rejected(fresh, monkeypatch):
    define, calls = CassandraSession.define, itertools.count(1)

    def crashing(session, cql):
        define(session, cql)
        if cql.startswith("CREATE TABLE") and next(calls) == 9:
            raise KeyboardInterrupt

    monkeypatch.setattr(CassandraSession, "define", crashing)
    with pytest.raises(KeyboardInterrupt):
        migrate(fresh)
    monkeypatch.undo()
    store = open_adapter(fresh, writable=True)
    with store.batch() as batch:
        row = (fresh.network, "0001_chrysalis.03", "another")
        batch.upsert(schema.migrations, ("network", "name", "checksum"), [row])
    store.close()
    with pytest.raises(StoreMismatch, match=r"0001_chrysalis\.03 was changed"):
        migrate(fresh)


DRIFTS = (
    ("ALTER TABLE {}.tags ADD more int", "table tags differs", "ALTER TABLE {}.tags DROP more"),
    (
        f"ALTER TABLE {{}}.pending WITH default_time_to_live = {schema.pending.ttl_s + 9}",
        "table pending differs",
        f"ALTER TABLE {{}}.pending WITH default_time_to_live = {schema.pending.ttl_s}",
    ),
    ("CREATE TABLE {}.mine (a int PRIMARY KEY)", "table mine is not in the schema", "DROP TABLE {}.mine"),
    ("DROP TABLE {}.parents", "table parents is missing", ""),
)
"""A change of a keyspace, how it is rejected, and the statement that reverts it."""


def test_a_keyspace_that_drifted_from_the_schema_is_rejected(fresh, cassandra_keyspace):
    migrate(fresh)
    name = re.search(r"/(fresh_\w+)", fresh.url)[1]
    for change, message, reverted in DRIFTS:
        open_store(fresh).close()
        cassandra_keyspace.session.execute(change.format(name), timeout=60)
        with pytest.raises(StoreMismatch, match=message):
            open_store(fresh)
        if reverted:
            cassandra_keyspace.session.execute(reverted.format(name), timeout=60)


def test_a_store_s_whole_life_uses_what_both_kinds_of_cluster_document(fresh, cassandra_keyspace, monkeypatch):
    printed = []

    def noting(method):
        def note(session, cql):
            printed.append(cql)
            return method(session, cql)

        return note

    for name in ("prepare", "define"):
        monkeypatch.setattr(CassandraSession, name, noting(getattr(CassandraSession, name)))
    migrate(fresh)
    store = reopened(fresh)
    lease = store.acquire("elsewhere:1", "run-1", 60)
    with store.batch() as batch:
        for table in schema.TABLES:
            batch.upsert(table, table.names, [])
        batch.delete(schema.parents, (b"\1" * 32,))
        batch.clear(schema.pending)
    asyncio.run(store.get(schema.messages, ("00" * 32,)))
    asyncio.run(store.slice(schema.tags, ("00", 0, 0), limit=1, reverse=True))
    asyncio.run(store.ping())
    asyncio.run(store.describe())
    store.release(store.renew(lease, 60))
    store.close()
    keyspace = re.search(r"/(fresh_\w+)", fresh.url)[1]
    # Earlier versions created tables with the default compression.
    for option in ("'class': 'LZ4Compressor'", "'enabled': false"):
        change = f"ALTER TABLE {keyspace}.tags WITH compression = {{{option}}}"
        cassandra_keyspace.session.execute(change, timeout=60)
        assert migrate(fresh) == [REWRITTEN]
        assert migrate(fresh) == []
    query = "SELECT table_name, compression FROM system_schema.tables WHERE keyspace_name = %s"
    rows = cassandra_keyspace.session.execute(query, (keyspace,))
    compressors = {row.table_name: row.compression["class"].rpartition(".")[2] for row in rows}
    assert compressors == {each.name: "ZstdCompressor" for each in schema.TABLES} | {"lease": "LZ4Compressor"}
    seen = set()
    for cql in printed:
        whole = re.sub(rf"\b{keyspace}\b", "ks", cql)
        kinds = [pattern for pattern in (WRITTEN, SELECT, *BESIDE) if pattern.fullmatch(whole)]
        kinds += [each for each in (CREATE, ADD) if each.fullmatch(whole.replace("ks.", "${keyspace}.", 1))]
        assert kinds, whole
        seen.update(kinds)
    assert seen == {WRITTEN, SELECT, CREATE, ADD, *BESIDE}


def test_another_network_that_folds_to_the_same_keyspace_is_rejected(cassandra_settings):
    other = dataclasses.replace(cassandra_settings, network="permatest_1")
    with pytest.raises(StoreMismatch, match="network permatest-1, but the settings have permatest_1"):
        open_store(other)


async def test_a_row_that_may_change_is_read_from_a_quorum_and_so_is_every_404(cassandra_settings, monkeypatch):
    store = reopened(cassandra_settings)
    known, lone, conflicting, unknown = (bytes([each]) * 32 for each in range(4))
    columns = ("message_id", "white_flag_index", "inclusion_state", "conflict_reason")
    with store.batch() as batch:
        rows = [(known, 3, 1, None), (lone, None, 1, None), (conflicting, 3, 2, None)]
        batch.upsert(schema.messages, columns, rows)
    requested = []
    bind = CassandraSession._bound

    def noting(statement, values, consistency):
        bound = bind(statement, values, consistency)
        requested.append(ConsistencyLevel.value_to_name[bound.consistency_level])
        return bound

    monkeypatch.setattr(CassandraSession, "_bound", staticmethod(noting))

    async def levels(query):
        requested.clear()
        await query
        return list(requested)

    one, both = ["LOCAL_ONE"], ["LOCAL_ONE", "LOCAL_QUORUM"]
    assert await levels(store.get(schema.messages, (known.hex(),))) == one
    for message_id in (lone, conflicting, unknown):
        assert await levels(store.get(schema.messages, (message_id.hex(),))) == both
    assert await levels(store.get(schema.outputs, ("00" * 34,))) == ["LOCAL_QUORUM"]
    assert await levels(store.slice(schema.ranges, ("n",), limit=1, lower=Bound((1,)))) == ["LOCAL_QUORUM"]
    store.close()


def test_the_configured_consistency_also_applies_to_what_a_load_writes_and_what_a_check_reads(cassandra_settings):
    """One node cannot give two acknowledgements."""
    settings = dataclasses.replace(cassandra_settings, consistency="TWO", write_patience_s=0.0)
    with pytest.raises(StoreUnavailable, match="Unavailable"):
        open_store(settings)
    with closing(open_adapter(settings, writable=True)) as store:
        assert schema.messages.name in store.tables()
        for write in (
            lambda batch: batch.upsert(schema.messages, ("message_id",), [(b"a" * 32,)]),
            lambda batch: batch.delete(schema.messages, (b"a" * 32,)),
        ):
            with pytest.raises(StoreUnavailable, match="Unavailable"), store.batch() as batch:
                write(batch)
        with pytest.raises(StoreUnavailable, match="Unavailable"):
            next(store.check(100, lambda *_: None))
        with pytest.raises(StoreUnavailable, match="Unavailable"):
            next(store.native_rows(schema.messages, schema.messages.names, 10))


async def test_a_fact_that_is_not_written_again_stays(cassandra_settings):
    store = reopened(cassandra_settings)
    with store.batch() as batch:
        batch.upsert(schema.messages, ("message_id", "white_flag_index", "conflict_reason"), [(b"a" * 32, 0, 7)])
        batch.upsert(schema.messages, ("message_id", "white_flag_index", "conflict_reason"), [(b"a" * 32, 0, None)])
    assert (await store.get(schema.messages, ("61" * 32,)))["conflict_reason"] == 7
    store.close()


class Rejecting:
    """A session's `send` that loses the first rows, all of them concurrently."""

    def __init__(self, error, times):
        self.error, self.times, self.sent, self.lost = error, times, 0, []

    def __call__(self, session, statement, values):
        self.sent += 1
        return self if self.sent <= self.times else SEND(session, statement, values)

    def add_callbacks(self, _, lose, errback_args):
        self.lost.append((lose, errback_args))
        if len(self.lost) == self.times:
            for each, row in self.lost:
                each(self.error, *row)
            self.lost = []


class Losing(Rejecting):
    """A session's `send` that loses every row, one by one."""

    def __call__(self, *_):
        return self


SEND = CassandraSession.send


@pytest.mark.parametrize("lost", [1, 40, IN_FLIGHT])
def test_rows_that_were_not_acknowledged_are_sent_again(cassandra_settings, monkeypatch, lost):
    store, rejecting = reopened(cassandra_settings), Rejecting(OperationTimedOut(), lost)
    monkeypatch.setattr(CassandraSession, "send", lambda *given: rejecting(*given))
    rows = [(0, index) for index in range(300)]
    with store.batch() as batch:
        assert batch.upsert(schema.sync, ("ms_range_id", "milestone_index"), rows) == 300
    assert rejecting.sent == 300 + lost
    found = asyncio.run(store.slice(schema.sync, (0,), limit=999))
    assert [row["milestone_index"] for row in found] == [*range(299, -1, -1)]
    store.close()


@pytest.fixture
def relay(cassandra):
    """A relay to the server, on which a test loses responses."""
    found = Relay((cassandra.address, cassandra.ports.native))
    yield found
    found.close()


def through(relay, settings):
    """Settings of the same store through a relay."""
    url = re.sub(r"//[^/]+", f"//{relay.contact}", settings.url)
    return dataclasses.replace(settings, url=url, query_timeout_s=2.0, speculative_delay_s=0.0)


def test_a_row_that_is_sent_again_replaces_no_later_one(relay, cassandra_settings):
    """The first of two rows with the same key is lost, and sent again after the other one was acknowledged."""
    table, columns, rows = schema.pending_messages, ("message_id", "version"), [(b"a" * 32, 1), (b"a" * 32, 2)]
    with closing(reopened(through(relay, cassandra_settings))) as store:
        with store.batch() as batch, relay.failing("silent", at=0):
            assert batch.upsert(table, columns, rows) == 2
        assert relay.failed == 1
        assert asyncio.run(store.get(table, ("61" * 32,)))["version"] == 2


AWAY = ("unavailable", "overloaded", "read timeout", "silent")


@pytest.mark.parametrize(("answer", "at"), [*((answer, 0) for answer in AWAY), ("unavailable", 1)])
def test_a_check_waits_for_a_cluster_that_is_unavailable_and_reports_no_damage(relay, cassandra_settings, answer, at):
    """The first query of a table finds out whether it has few rows; the second one reads them."""
    with closing(reopened(through(relay, cassandra_settings))) as store, relay.failing(answer, at=at):
        assert list(store.check(100, lambda *_: None)) == []
        assert relay.failed == 1
        assert store.damage() is None


QUARTER = 2**62


@pytest.mark.parametrize(
    ("few", "at", "place"),
    [
        (10, 1, f"tokens {-2 * QUARTER} to {2 * QUARTER - 1}"),
        (1, 1, f"tokens {-2 * QUARTER} to {-QUARTER - 1}"),
        (1, 4, f"tokens {QUARTER} to {2 * QUARTER - 1}"),
    ],
)
def test_a_check_names_what_replicas_cannot_read(relay, cassandra_settings, monkeypatch, few, at, place):
    """The query at 0 finds out whether there are few rows. Then they are read at once, or in four parts."""
    monkeypatch.setattr("db.cassandra.fsck.RANGES", 4)
    monkeypatch.setattr("db.cassandra.fsck.FEW_ROWS", few)
    with closing(reopened(through(relay, cassandra_settings))) as store:
        with store.batch() as batch:
            batch.upsert(schema.messages, ("message_id", "message"), [(blake2b(b"a", digest_size=32).digest(), b"a")])
        with relay.failing("read failure", at=at):
            (found,) = store.check(100, lambda *_: None)
    assert (found.table, found.place) == ("messages", place)
    assert "ReadFailure" in found.cause


@pytest.fixture
def sent(monkeypatch):
    """Statements of queries whose rows come in pages, with their values."""
    found = []
    pages = CassandraSession.pages
    monkeypatch.setattr(CassandraSession, "pages", lambda self, *given: found.append(given) or pages(self, *given))
    return found


def test_a_table_that_cannot_be_read_at_once_is_read_in_parts(relay, cassandra_settings, monkeypatch, sent):
    monkeypatch.setattr("db.cassandra.fsck.RANGES", 4)
    with closing(reopened(through(relay, cassandra_settings))) as store, relay.failing("read failure", at=0):
        assert list(store.check(100, lambda *_: None)) == []
    assert [len(values) for _, values in sent[:7]] == [0, 2, 2, 2, 2, 0, 2]


@pytest.mark.parametrize(("few", "queries"), [(301, 2), (300, 257)])
def test_few_rows_are_read_at_once_and_others_in_parts(cassandra_settings, monkeypatch, sent, few, queries):
    monkeypatch.setattr("db.cassandra.fsck.FEW_ROWS", few)
    columns, rows = ("ms_range_id", "milestone_index"), [(index // 3, index) for index in range(300)]
    with closing(reopened(cassandra_settings)) as store:
        with store.batch() as batch:
            batch.upsert(schema.sync, columns, rows)
        found = [row for some in store.native_rows(schema.sync, columns, 50) for row in some]
    assert (sorted(found), len(sent)) == (rows, queries)


def test_a_check_of_a_cluster_that_stays_away_ends_with_an_error(relay, cassandra_settings, monkeypatch):
    settings = dataclasses.replace(through(relay, cassandra_settings), write_patience_s=0.0)
    with (
        closing(reopened(settings)) as store,
        relay.failing("unavailable", at=0),
        pytest.raises(StoreUnavailable, match="no node responds"),
    ):
        list(store.check(100, lambda *_: None))


@pytest.mark.parametrize("answer", AWAY)
def test_reads_of_a_load_wait_as_its_writes_do(relay, cassandra_settings, answer):
    settings = through(relay, cassandra_settings)
    with closing(reopened(settings)) as store, relay.failing(answer, at=0):
        row = asyncio.run(store.get(schema.keyspace_info, ("network",)))
        assert (row["value"], relay.failed) == (settings.network, 1)


def test_reads_that_answer_a_request_and_failures_of_replicas_do_not_wait(relay, cassandra_settings):
    async def read(store, *, until=math.inf):
        DEADLINE.set(until)
        with pytest.raises(StoreUnavailable):
            await store.get(schema.keyspace_info, ("network",))

    settings = through(relay, cassandra_settings)
    with closing(reopened(settings)) as store, closing(open_store(settings)) as reader:
        for answer, read_one in (
            ("unavailable", read(store, until=time.monotonic() + 60)),
            ("unavailable", read(reader)),
            ("read failure", read(store)),
        ):
            with relay.failing(answer, at=0):
                asyncio.run(read_one)


@pytest.mark.parametrize(
    ("error", "patience_s", "raised"),
    [(OperationTimedOut(), 0.3, StoreUnavailable), (InvalidRequest("no such thing"), 60, StoreError)],
)
def test_what_stays_away_or_is_wrong_ends_the_step(cassandra_settings, monkeypatch, error, patience_s, raised):
    store = reopened(dataclasses.replace(cassandra_settings, write_patience_s=patience_s))
    monkeypatch.setattr(CassandraSession, "send", lambda *given: rejecting(*given))
    rejecting = Losing(error, 1)
    started = time.monotonic()
    with pytest.raises(raised) as rejected, store.batch() as batch:
        batch.upsert(schema.sync, ("ms_range_id", "milestone_index"), [(0, 1), (0, 2)])
    assert type(rejected.value) is raised
    assert time.monotonic() - started < 10
    store.close()


def test_a_delete_and_a_lease_wait_for_a_server_that_is_away(cassandra_settings, monkeypatch):
    run, left = CassandraSession.run, itertools.count()

    def failing(session, *given):
        if next(left) % 3:
            raise StoreUnavailable("away")
        return run(session, *given)

    store = reopened(cassandra_settings)
    monkeypatch.setattr(CassandraSession, "run", failing)
    with store.batch() as batch:
        batch.upsert(schema.rejects, schema.rejects.key, [(1, "a", 1, ""), (1, "a", 2, "")])
        batch.delete(schema.rejects, (1, "a", 1))
    monkeypatch.undo()
    rows = asyncio.run(store.slice(schema.rejects, (1,), limit=9))
    assert [row["line"] for row in rows] == [2]
    store.close()


def test_a_delete_as_of_a_milestone_leaves_what_is_written_later(cassandra_settings, cassandra_keyspace):
    store = reopened(cassandra_settings)
    for milestone_index in (6, 7, 8):
        cassandra_keyspace.session.execute(
            "INSERT INTO contract.tails (lookup, ms_range_id, milestone_index) VALUES ('t', %s, 0) USING TIMESTAMP %s",
            (milestone_index, 4 * milestone_index + 4),
        )
    with store.batch() as batch:
        batch.delete(schema.tails, ("t",), fact=7)
    assert [row["ms_range_id"] for row in asyncio.run(store.slice(schema.tails, ("t",), limit=9))] == [8]
    store.close()


@pytest.mark.parametrize("seconds_ahead", [-10_000, 0, 10_000])
def test_what_is_written_again_takes_the_place_of_all_before_whatever_clocks_say(
    cassandra_settings, cassandra_keyspace, monkeypatch, seconds_ahead
):
    """Writes with a frozen clock, over rows written with a clock that is behind or ahead."""
    now = time.time_ns()
    monkeypatch.setattr(cassandra_batch, "time", SimpleNamespace(time_ns=lambda: now))
    store = reopened(cassandra_settings)

    def level_of(date, value, number, written):
        cassandra_keyspace.session.execute(
            "INSERT INTO contract.metrics_cache (date, variant, metric, value, metric_value) "
            "VALUES (%s, 'index', 'used', %s, %s) USING TIMESTAMP %s",
            (date, value, number, written),
        )

    def held(date):
        rows = asyncio.run(store.slice(schema.metrics_cache, (date,), limit=9))
        return {row["value"]: row["metric_value"] for row in rows}

    then = now // 1_000 + seconds_ahead * 1_000_000
    for value in ("00", "01"):
        level_of("2022-01-01", value, 9, then)
        level_of("2022-01-02", value, 9, then)
    for number in (1, 2, 3):
        with store.batch() as batch:
            last = batch.last_fact(schema.metrics_cache, ("2022-01-01",))
            batch.delete(schema.metrics_cache, ("2022-01-01",), fact=last)
        assert held("2022-01-01") == {}
        # The executors write the next fact in this way (etl/writers/connector.py).
        for value in ("00", f"0{number}"):
            level_of("2022-01-01", value, 9 - number, 4 * (last + 1) + 4)
        assert held("2022-01-01") == {"00": 9 - number, f"0{number}": 9 - number}
    assert held("2022-01-02") == {"00": 9, "01": 9}
    store.close()


def test_a_lease_of_a_dead_holder_elsewhere_ends_by_the_clusters_clock(cassandra_settings, cassandra_keyspace):
    store = reopened(cassandra_settings)
    store.acquire("elsewhere:1", "run-1", 600)
    (left,) = cassandra_keyspace.session.execute("SELECT ttl(run) FROM contract.lease WHERE name = 'writer'").one()
    assert 590 < left <= 600
    other = reopened(cassandra_settings)
    with pytest.raises(LeaseHeld, match="run-1"), other.batch():
        pass
    store.close()
    other.close()
