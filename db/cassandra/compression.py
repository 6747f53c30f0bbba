"""The compression of a keyspace's tables: Zstd.

Ids are hexadecimal text in CQL, and the servers' default (LZ4) does not shorten digits. Migration files do not contain
the compression, because their text never changes, and because its option has another name in Cassandra (`class`) than
in ScyllaDB (`sstable_compression`). The table of the lease, which is created first, has the server's default and
therefore shows that name. It has one row and keeps that compression.
"""

from collections.abc import Mapping

from db import schema
from db.cassandra.plans import CASSANDRA_OPTION, compression_cql
from db.cassandra.session import CassandraSession


def find_option(session: CassandraSession, keyspace: str) -> str:
    """The name that the server has for the option which names a compressor."""
    named = [name for name, value in _read(session, keyspace)[schema.lease.name].items() if "Compressor" in value]
    return named[0] if named else CASSANDRA_OPTION


def find_uncompressed(session: CassandraSession, keyspace: str) -> list[str]:
    """Names of the tables without Zstd, in ascending order."""
    found = _read(session, keyspace)
    return sorted(
        name
        for name, options in found.items()
        if name != schema.lease.name and not any("Zstd" in value for value in options.values())
    )


def compress_tables(session: CassandraSession, keyspace: str) -> None:
    """Sets the compression of these tables. Nodes write new files with it, and older ones when they compact them."""
    compression = compression_cql(find_option(session, keyspace))
    for name in find_uncompressed(session, keyspace):
        session.define(f"ALTER TABLE {keyspace}.{name} WITH {compression}")


def _read(session: CassandraSession, keyspace: str) -> Mapping[str, Mapping[str, str]]:
    """The options of compression of each table, by its name."""
    rows = session.run_local(
        "SELECT table_name, compression FROM system_schema.tables WHERE keyspace_name = ?", (keyspace,)
    )
    return {str(row["table_name"]): {str(k): str(v) for k, v in (row["compression"] or {}).items()} for row in rows}
