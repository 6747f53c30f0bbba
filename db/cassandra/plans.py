"""CQL text for one table, rendered once, prepared once and reused.

Names come from db/schema only; values are always bound. The CQL is common to Cassandra and ScyllaDB, and no statement
reads more than one partition.
"""

from collections.abc import Callable, Sequence

from db import schema
from db.model import Table, Type
from db.statements import Shape, check_deleted, check_written, conditions, ordering
from db.store import Bound, Row, Value

COMPRESSOR = "ZstdCompressor"

CASSANDRA_OPTION = "class"
"""The option of Cassandra that names a compressor (db/cassandra/compression.py)."""


class ReadPlan:
    """Read statements of one table, for all columns or some."""

    def __init__(self, table: Table, keyspace: str, columns: Sequence[str] | None = None) -> None:
        names = table.names if columns is None else tuple(table.column(name).name for name in columns)
        self._table = table
        self._select = f"SELECT {', '.join(names)} FROM {keyspace}.{table.name} WHERE "
        self.get = self._select + _equal(table.key)
        self._slices: dict[Shape, str] = {}

    def slice(self, shape: Shape) -> str:
        """CQL of a slice. It binds the partition, the bounds and the limit."""
        cql = self._slices.get(shape)
        if cql is None:
            where = [_equal(self._table.partition), *conditions(self._table, shape)]
            cql = self._select + " AND ".join(where) + ordering(self._table, shape) + " LIMIT ?"
            self._slices[shape] = cql
        return cql


BITS = {Type.TINYINT: 7, Type.SMALLINT: 15, Type.INT: 31, Type.BIGINT: 63, Type.TIMESTAMP: 63}


def out_of_range(table: Table, names: Sequence[str], values: Sequence[Value]) -> int | None:
    """The index of the first number that is out of its column's range; None if all fit."""
    for at, (name, value) in enumerate(zip(names, values, strict=False)):
        bits = BITS.get(table.column(name).type)
        if bits is not None and isinstance(value, int) and not -1 << bits <= value < 1 << bits:
            return at
    return None


def in_range(table: Table, bound: Bound | None, *, is_upper: bool) -> Bound | None:
    """A bound of the same rows without out-of-range values. If exclusive and empty, it contains no rows."""
    at = out_of_range(table, table.clustering, bound.values) if bound else None
    if bound is None or at is None:
        return bound
    value = bound.values[at]
    assert isinstance(value, int)
    return Bound(bound.values[:at], inclusive=(value > 0) == is_upper)


def upsert_cql(table: Table, keyspace: str, columns: Sequence[str], *, is_timed: bool = False) -> str:
    """INSERT of these columns. After their values it binds the write time with `is_timed`, then the TTL if the table
    has one. Raises KeyError for an unknown or missing key column.
    """
    check_written(table, columns)
    options = (["TIMESTAMP ?"] if is_timed else []) + ([] if table.ttl_s is None else ["TTL ?"])
    using = f" USING {' AND '.join(options)}" if options else ""
    places = ", ".join("?" * len(columns))
    return f"INSERT INTO {keyspace}.{table.name} ({', '.join(columns)}) VALUES ({places}){using}"


def delete_cql(table: Table, keyspace: str, count: int, *, is_timed: bool = False) -> str:
    """DELETE under the first `count` key columns. With `is_timed` it binds the write time first.

    Raises:
        ValueError: The columns do not cover the partition key.
    """
    check_deleted(table, count)
    timed = " USING TIMESTAMP ?" if is_timed else ""
    return f"DELETE FROM {keyspace}.{table.name}{timed} WHERE {_equal(table.key[:count])}"


def written_cql(table: Table, keyspace: str, count: int) -> str:
    """SELECT of the write time of the first row under the first `count` key columns."""
    check_deleted(table, count)
    fact = next(name for name in table.names if name not in table.key)
    where = _equal(table.key[:count])
    return f"SELECT writetime({fact}) AS written FROM {keyspace}.{table.name} WHERE {where} LIMIT 1"


def written_at(fact: int) -> int:
    """The write time of cells of a fact. etl/writers/connector.py computes the same."""
    return 4 * fact + 4


def deleted_at(milestone_index: int) -> int:
    """The write time of a delete of everything up to a milestone: after `written_at` of that milestone and before that
    of the next, so clocks do not decide between a write and a delete.
    """
    return 4 * milestone_index + 5


def clear_cql(table: Table, keyspace: str) -> str:
    """TRUNCATE, which leaves no tombstones per row. All nodes must be up."""
    return f"TRUNCATE {keyspace}.{table.name}"


def sizes_cql() -> str:
    """SELECT of one node's size estimates for the tables of a keyspace."""
    return "SELECT table_name, partitions_count, mean_partition_size FROM system.size_estimates WHERE keyspace_name = ?"


STATES = frozenset({schema.sync.name, schema.ranges.name})
"""Tables of current state, in which an older value may be outdated, so null replaces a value. In all other tables rows
depend only on the data and never lose a value; their nulls are not written and leave no tombstones.
"""


def _is_settled(message: Row) -> bool:
    """Whether a row of `messages` can no longer change: its cone is complete, and a conflict has its reason."""
    known = message["white_flag_index"] is not None
    return known and (message["inclusion_state"] != CONFLICTING or message["conflict_reason"] is not None)


CONFLICTING = 2

IMMUTABLE: dict[str, Callable[[Row], bool]] = {
    schema.messages.name: _is_settled,
    schema.milestones.name: lambda _: True,
    schema.milestone_ids.name: lambda _: True,
}
"""Tables whose settled rows one replica may return → whether a row is settled."""


def _equal(names: Sequence[str]) -> str:
    return " AND ".join(f"{name} = ?" for name in names)


def compressed_cql(statement: str, option: str) -> str:
    """A CREATE TABLE statement with the compression. Other statements stay unchanged."""
    return f"{statement}\n  AND {compression_cql(option)}" if statement.startswith("CREATE TABLE ") else statement


def compression_cql(option: str) -> str:
    """The property of a table that sets the compression."""
    return f"compression = {{'{option}': '{COMPRESSOR}'}}"
