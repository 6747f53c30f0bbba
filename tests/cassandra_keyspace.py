"""A store on the tests' server that many tests share in sequence, empty for each test.

`migrate` creates the tables. The fixture truncates them through the driver, without the adapter.
"""

from collections.abc import Callable

from cassandra.cluster import Cluster

from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings
from tests.cassandra_server import CassandraServer

KEPT = {schema.keyspace_info, schema.migrations}


class Keyspace:
    """A migrated keyspace and a separate connection to it."""

    def __init__(self, server: CassandraServer, name: str, settings_of: Callable[[str], StoreSettings]) -> None:
        self.name = name
        self.settings = settings_of(f"cassandra://{server.contact}/{name}?rf=1")
        self._cluster = Cluster(
            [server.address], port=server.ports.native, protocol_version=4, schema_metadata_enabled=False
        )

    def __enter__(self) -> "Keyspace":
        self.session = self._cluster.connect()
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
        tables = [table.name for table in schema.TABLES if table not in KEPT]
        reads = [self.session.execute_async(f"SELECT * FROM {self.name}.{table} LIMIT 1") for table in tables]
        for table, read in zip(tables, reads, strict=True):
            if read.result().one():
                self.session.execute(f"TRUNCATE {self.name}.{table}", timeout=60)
