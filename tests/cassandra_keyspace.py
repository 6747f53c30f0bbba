"""Stores on the tests' server that many tests share in sequence, empty for each test.

`migrate` creates the tables. Between tests they are truncated through the driver, without the adapter.
"""

from contextlib import ExitStack
from dataclasses import replace

from cassandra.cluster import Cluster

from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings
from db.schema.protocols import TABLES_OF
from tests.cassandra_server import CassandraServer

KEPT = {schema.keyspace_info, schema.migrations}

QUERY_S = 60.0
"""A query takes less also if the server gets no CPU for many seconds."""


class Keyspace:
    """A migrated keyspace and a separate connection to it. Its URL replaces that of `settings`."""

    def __init__(self, server: CassandraServer, name: str, settings: StoreSettings) -> None:
        self.name = name
        url = f"cassandra://{server.contact}/{name}?rf=1"
        self.settings = replace(settings, url=url, query_timeout_s=QUERY_S)
        self._cluster = Cluster(
            [server.address], port=server.ports.native, protocol_version=4, schema_metadata_enabled=False
        )

    def __enter__(self) -> "Keyspace":
        self.session = self._cluster.connect()
        self.session.default_timeout = QUERY_S
        # Nothing here has to survive the server, so durable writes are off: a truncated table is dropped from memory.
        replication = "{'class': 'NetworkTopologyStrategy', 'datacenter1': 1}"
        self.session.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {self.name} WITH replication = {replication} AND durable_writes = false"
        )
        migrate(self.settings)
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.shutdown()

    def empty(self) -> None:
        """Deletes every row except those that describe the store."""
        tables = [table.name for table in TABLES_OF[self.settings.protocol] if table not in KEPT]
        reads = [self.session.execute_async(f"SELECT * FROM {self.name}.{table} LIMIT 1") for table in tables]
        for table, read in zip(tables, reads, strict=True):
            if read.result().one():
                self._truncate(table)

    def describe(self, settings: StoreSettings) -> None:
        """Makes an empty store what `migrate` creates with other settings of its protocol. Their URL is ignored."""
        self.settings = replace(settings, url=self.settings.url, query_timeout_s=QUERY_S)
        applied = list(self.session.execute(f"SELECT name, checksum, applied_at FROM {self.name}.migrations"))
        for table in KEPT:
            self._truncate(table.name)
        info = self.session.prepare(f"INSERT INTO {self.name}.keyspace_info (name, value) VALUES (?, ?)")
        migration = self.session.prepare(
            f"INSERT INTO {self.name}.migrations (network, name, checksum, applied_at) VALUES (?, ?, ?, ?)"
        )
        for row in settings.info().items():
            self.session.execute(info, row)
        for row in applied:
            self.session.execute(migration, (settings.network, *row))

    def _truncate(self, table: str) -> None:
        self.session.execute(f"TRUNCATE {self.name}.{table}")


class Keyspaces:
    """Lends keyspaces of one server, and lends those again that were given back.

    Creating the tables of a keyspace takes 2.3 s of CPU time beside one other keyspace and 4 s beside 13: after each
    change the server computes a digest of the whole schema. Dropping a keyspace takes 2 s.
    """

    def __init__(self, server: CassandraServer) -> None:
        self.server = server
        self._opened = ExitStack()
        self._lent: dict[str, Keyspace] = {}
        self._free: list[Keyspace] = []

    def __enter__(self) -> "Keyspaces":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def lend(self, settings: StoreSettings) -> StoreSettings:
        """Returns these settings with the URL of an empty store, which nothing else uses until it is given back."""
        keyspace = next((each for each in self._free if each.settings.protocol == settings.protocol), None)
        if keyspace is None:
            name = f"lent_{len(self._lent) + len(self._free)}"
            keyspace = self._opened.enter_context(Keyspace(self.server, name, settings))
        else:
            self._free.remove(keyspace)
            keyspace.empty()
            keyspace.describe(settings)
        self._lent[keyspace.settings.url] = keyspace
        return keyspace.settings

    def give_back(self, settings: StoreSettings) -> None:
        """Ends the use of a store: the next test of its protocol may get it."""
        self._free.append(self._lent.pop(settings.url))
