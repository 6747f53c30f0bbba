"""The tables of a keyspace, how they differ from the schema, and the creation of the keyspace.

It reads system_schema, which both Cassandra and ScyllaDB have. Columns, keys, their order and the TTL must match the
schema. Operators may change compaction and similar options.
"""

from collections.abc import Sequence

from db import schema
from db.cassandra.session import CassandraSession
from db.model import Table
from db.schema.dialects import cql_type, create_table_cql
from db.store import StoreError


def create_keyspace(session: CassandraSession, keyspace: str) -> None:
    """Creates the keyspace with the replication in the URL, and in it the lease, which the first migration holds.

    Raises:
        StoreError: The keyspace does not exist and the URL does not contain `rf`.
    """
    found = session.run_local("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?", (keyspace,))
    if not found:
        if session.address.rf is None:
            raise StoreError(
                f"{session.address}: the keyspace does not exist; to create it add rf=REPLICAS to the URL, e.g. ?rf=3"
            )
        replication = f"{{'class': 'NetworkTopologyStrategy', '{session.datacenter()}': {session.address.rf}}}"
        session.define(f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}")
    session.define(create_table_cql(schema.lease, keyspace))


def list_tables(session: CassandraSession, keyspace: str) -> frozenset[str]:
    """Names of the tables that exist."""
    rows = session.run_local("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", (keyspace,))
    return frozenset(str(row["table_name"]) for row in rows)


def has_column(session: CassandraSession, keyspace: str, table: str, column: str) -> bool:
    """Whether a table has this column."""
    rows = session.run_local(
        "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = ?", (keyspace,)
    )
    return any((row["table_name"], row["column_name"]) == (table, column) for row in rows)


def find_drift(session: CassandraSession, keyspace: str, tables: Sequence[Table]) -> list[str]:
    """How the keyspace differs from these tables, one sentence each."""
    cql = "SELECT table_name, default_time_to_live FROM system_schema.tables WHERE keyspace_name = ?"
    lives = {row["table_name"]: row["default_time_to_live"] for row in session.run_local(cql, (keyspace,))}
    cql = (
        "SELECT table_name, column_name, type, kind, position, clustering_order FROM system_schema.columns "
        "WHERE keyspace_name = ?"
    )
    found: dict[str, set[tuple[object, ...]]] = {}
    for row in session.run_local(cql, (keyspace,)):
        found.setdefault(row["table_name"], set()).add(tuple(row.values())[1:])
    wanted = {table.name: table for table in tables}
    missing = [f"table {name} is missing" for name in wanted if name not in found]
    changed = [
        f"table {name} differs"
        for name, table in wanted.items()
        if name in found and (found[name] != _columns(table) or lives[name] != (table.ttl_s or 0))
    ]
    unknown = [f"table {name} is not in the schema" for name in sorted(found.keys() - wanted.keys())]
    return missing + changed + unknown


def _columns(table: Table) -> set[tuple[object, ...]]:
    """The table's columns in the form of system_schema.columns."""
    columns: set[tuple[object, ...]] = set()
    for column in table.columns:
        kind, position, order = "regular", -1, "none"
        if column.name in table.partition:
            kind, position = "partition_key", table.partition.index(column.name)
        elif column.name in table.clustering:
            kind, position, order = "clustering", table.clustering.index(column.name), table.order.value.lower()
        columns.add((column.name, cql_type(column.type), kind, position, order))
    return columns
