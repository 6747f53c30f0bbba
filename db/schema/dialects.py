"""Maps tables to each store's dialect: logical type → SQLite, CQL, Spark; DDL text of a table.

Invariants:
1. The functions are pure, and the text for a table never changes, because migrations record it.
2. Names are not quoted: tests ensure that none is a reserved word.
"""

from collections.abc import Sequence

from db.model import Column, Order, Table, Type

SQLITE_TYPES: dict[Type, str] = {
    Type.HEX: "BLOB",
    Type.TEXT: "TEXT",
    Type.BLOB: "BLOB",
    Type.BOOLEAN: "INTEGER",
    Type.TINYINT: "INTEGER",
    Type.SMALLINT: "INTEGER",
    Type.INT: "INTEGER",
    Type.BIGINT: "INTEGER",
    Type.TIMESTAMP: "INTEGER",
    Type.DATE: "TEXT",
}
CQL_TYPES: dict[Type, str] = {
    Type.HEX: "text",
    Type.TEXT: "text",
    Type.BLOB: "blob",
    Type.BOOLEAN: "boolean",
    Type.TINYINT: "tinyint",
    Type.SMALLINT: "smallint",
    Type.INT: "int",
    Type.BIGINT: "bigint",
    Type.TIMESTAMP: "timestamp",
    Type.DATE: "date",
}
SPARK_TYPES: dict[Type, str] = {
    Type.HEX: "BINARY",
    Type.TEXT: "STRING",
    Type.BLOB: "BINARY",
    Type.BOOLEAN: "BOOLEAN",
    Type.TINYINT: "TINYINT",
    Type.SMALLINT: "SMALLINT",
    Type.INT: "INT",
    Type.BIGINT: "BIGINT",
    Type.TIMESTAMP: "BIGINT",
    Type.DATE: "DATE",
}

EXPIRES_AT = "expires_at"
"""An extra column in SQLite for tables with a TTL: seconds since 1970 from which a row no longer exists."""


EXPIRED_GRACE_S = 10_800
"""gc_grace_seconds of tables with a TTL: as long as a node keeps hints for another node."""

CQL_REASONS = """\
-- Tables for good are compacted by level (LCS): a row or a page of a listing lies in few files, and bulk loads and
-- back-fills write old milestones late, which defeats windows of time. UCS would do as well; ScyllaDB has none.
-- Tables whose rows expire are compacted by window of time (TWCS), so that files expire whole. Nothing in them is
-- deleted row by row, so expired rows are remembered no longer than a node keeps hints for another: 3 hours.
-- All others keep the default of 10 days for gc_grace_seconds: repair each table within it, or a delete may be undone.
-- Compression is the server's default, LZ4 in small chunks on both; the two spell that option differently.
"""


def sqlite_type(kind: Type) -> str:
    """The SQLite column type. Ids are bytes, half the size of their text."""
    return SQLITE_TYPES[kind]


def cql_type(kind: Type) -> str:
    """The CQL column type, as in the Stardust schema plan."""
    return CQL_TYPES[kind]


def spark_type(kind: Type) -> str:
    """The Spark column type in a table's frame: ids as bytes, timestamps as milliseconds."""
    return SPARK_TYPES[kind]


def create_table_sqlite(table: Table) -> str:
    """CREATE TABLE for SQLite, without a final semicolon.

    All tables are WITHOUT ROWID: the rows of a partition are adjacent, in listing order, and a point read is one
    descent. With 16 KiB pages this also holds for `messages` with its blobs (docs/decisions has the figures).
    """
    lines = [
        f"  {column.name} {sqlite_type(column.type)}{' NOT NULL' if column.name in table.key else ''}"
        for column in table.columns
    ]
    if table.ttl_s is not None:
        lines.append(f"  {EXPIRES_AT} INTEGER NOT NULL")
    falls = table.order is Order.DESC
    key = [*table.partition, *(f"{name} DESC" if falls else name for name in table.clustering)]
    lines.append(f"  PRIMARY KEY ({', '.join(key)})")
    return f"CREATE TABLE {table.name} (\n" + ",\n".join(lines) + "\n) WITHOUT ROWID"


def create_table_cql(table: Table, keyspace: str) -> str:
    """CREATE TABLE for Cassandra and ScyllaDB, without a final semicolon.

    CQL_REASONS explains the options.
    """
    lines = [f"  {column.name} {cql_type(column.type)}" for column in table.columns]
    key = ", ".join([f"({', '.join(table.partition)})", *table.clustering])
    lines.append(f"  PRIMARY KEY ({key})")
    options: list[str] = []
    if table.clustering:
        options.append(f"CLUSTERING ORDER BY ({', '.join(f'{name} {table.order.value}' for name in table.clustering)})")
    if table.ttl_s is None:
        options.append("compaction = {'class': 'LeveledCompactionStrategy'}")
    else:
        window = "'compaction_window_unit': 'HOURS', 'compaction_window_size': '2'"
        options.append(f"compaction = {{'class': 'TimeWindowCompactionStrategy', {window}}}")
        options.append(f"default_time_to_live = {table.ttl_s}")
        options.append(f"gc_grace_seconds = {EXPIRED_GRACE_S}")
    body = ",\n".join(lines)
    return f"CREATE TABLE IF NOT EXISTS {keyspace}.{table.name} (\n{body}\n) WITH " + "\n  AND ".join(options)


def add_columns_sqlite(table: Table, added: Sequence[Column]) -> list[str]:
    """ALTER TABLE for SQLite, which adds one column per statement."""
    return [f"ALTER TABLE {table.name} ADD COLUMN {each.name} {sqlite_type(each.type)}" for each in added]


def add_columns_cql(table: Table, added: Sequence[Column], keyspace: str) -> str:
    """ALTER TABLE for Cassandra and ScyllaDB, which adds all columns or none."""
    listed = ",\n".join(f"  {each.name} {cql_type(each.type)}" for each in added)
    return f"ALTER TABLE {keyspace}.{table.name} ADD (\n{listed}\n)"
