"""The writing half of a cluster's store: upserts, many in flight, each step acknowledged before the next begins.

Rules of this file: what is under way is bounded; rows of one step reach the cluster in any order, and where two have
one key the later wins, as each carries the time it was sent; the first failure ends the step and is the one raised.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from cassandra.query import UNSET_VALUE

from db import schema
from db.cassandra_plans import clear_cql, delete_cql, upsert_cql
from db.cassandra_session import CassandraSession
from db.model import Table, Type
from db.store import Value

IN_FLIGHT = 256

STATES = frozenset({schema.sync.name, schema.ranges.name})
"""Tables that say where things stand: what they told may no longer hold, so a null takes a value's place. Every other
row depends on the data only and never loses a value, so its nulls are not written and leave no tombstone.
"""


class CassandraBatch:
    """Writes to one keyspace, in the order given."""

    def __init__(self, session: CassandraSession, keyspace: str) -> None:
        self._session, self._keyspace = session, keyspace

    def upsert(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> int:
        """Writes the columns given; returns the number of rows once all are acknowledged."""
        statement = self._session.prepare(upsert_cql(table, self._keyspace, columns))
        kinds = [table.column(name) for name in columns]
        ids = [index for index, column in enumerate(kinds) if column.type is Type.HEX]
        keeps_nulls = table.name in STATES
        facts = [] if keeps_nulls else [index for index, column in enumerate(kinds) if column.name not in table.key]
        ending = [] if table.ttl_s is None else [table.ttl_s]
        count = 0
        with _InFlight(self._session) as flight:
            for row in rows:
                values: list[Any] = list(row)
                for index in ids:
                    if values[index] is not None:
                        values[index] = values[index].hex()
                for index in facts:
                    if values[index] is None:
                        values[index] = UNSET_VALUE
                flight.send(statement, values + ending)
                count += 1
        return count

    def delete(self, table: Table, key: Sequence[Value]) -> None:
        """The row of that key, or every row under a prefix of it: one tombstone."""
        values = [value.hex() if isinstance(value, bytes) else value for value in key]
        self._session.run(delete_cql(table, self._keyspace, len(key)), values)

    def clear(self, table: Table) -> None:
        """Every row of the table."""
        self._session.define(clear_cql(table, self._keyspace))


class _InFlight:
    """Writes under way; the block ends when all are acknowledged, or with the first that failed."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session
        self._places = threading.Semaphore(IN_FLIGHT)
        self._failed: Exception | None = None

    def __enter__(self) -> "_InFlight":
        return self

    def __exit__(self, *_: object) -> None:
        for _place in range(IN_FLIGHT):
            self._places.acquire()
        self._raise_failure()

    def send(self, statement: Any, values: Sequence[Any]) -> None:
        """Sends one row as soon as there is a place for it."""
        self._places.acquire()
        try:
            self._raise_failure()
            answer = self._session.send(statement, values)
        except BaseException:
            self._places.release()
            raise
        answer.add_callbacks(self._written, self._fail)

    def _written(self, _: object) -> None:
        self._places.release()

    def _fail(self, error: Exception) -> None:
        self._failed = self._failed or error
        self._places.release()

    def _raise_failure(self) -> None:
        if self._failed is not None:
            raise self._session.translated(self._failed) from self._failed
