"""The writing half of a cluster's store: upserts, many in flight, each step acknowledged before the next begins.

Rules of this file: what is under way is bounded; rows of one step reach the cluster in any order, and where two have
one key the later wins, as each carries the time it was sent. What the cluster did not acknowledge is sent again, after
pauses that grow, as every write may be repeated; any other failure ends the step, and the first is the one raised.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from cassandra.query import UNSET_VALUE

from db.cassandra.plans import STATES, clear_cql, delete_cql, deleted_at, upsert_cql, written_cql
from db.cassandra.session import CassandraSession
from db.model import Table, Type
from db.retry import Patience, patiently
from db.store import StoreUnavailable, Value

IN_FLIGHT = 256


class CassandraBatch:
    """Writes to one keyspace, in the order given."""

    def __init__(self, session: CassandraSession, keyspace: str, patience_s: float) -> None:
        """`patience_s`: how long a write waits for a cluster that does not answer."""
        self._session, self._keyspace, self._patience_s = session, keyspace, patience_s

    def upsert(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> int:
        """Writes the columns given; returns the number of rows once all are acknowledged."""
        statement = self._session.prepare(upsert_cql(table, self._keyspace, columns))
        kinds = [table.column(name) for name in columns]
        ids = [index for index, column in enumerate(kinds) if column.type is Type.HEX]
        keeps_nulls = table.name in STATES
        facts = [] if keeps_nulls else [index for index, column in enumerate(kinds) if column.name not in table.key]
        ending = [] if table.ttl_s is None else [table.ttl_s]
        count = 0
        with _InFlight(self._session, self._patience_s) as flight:
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

    def delete(self, table: Table, key: Sequence[Value], *, fact: int | None = None) -> None:
        """The row of that key, or every row under a prefix of it: one tombstone, as of `fact` if there is one."""
        values = [value.hex() if isinstance(value, bytes) else value for value in key]
        cql = delete_cql(table, self._keyspace, len(key), is_timed=fact is not None)
        stamp = [] if fact is None else [deleted_at(fact)]
        patiently(lambda: self._session.run(cql, [*stamp, *values]), self._patience_s)

    def last_fact(self, table: Table, key: Sequence[Value]) -> int:
        """A fact that is no earlier than what stands under that prefix of a key, nor than now."""
        values = [value.hex() if isinstance(value, bytes) else value for value in key]
        cql = written_cql(table, self._keyspace, len(key))
        rows = patiently(lambda: self._session.run(cql, values), self._patience_s)
        written: list[int] = [row["written"] for row in rows]
        return max([time.time_ns() // 1_000, *written]) // 4

    def clear(self, table: Table) -> None:
        """Every row of the table."""
        patiently(lambda: self._session.define(clear_cql(table, self._keyspace)), self._patience_s)


class _InFlight:
    """Writes under way; the block ends when all are acknowledged, or with the first that failed for good."""

    def __init__(self, session: CassandraSession, patience_s: float) -> None:
        self._session, self._patience_s = session, patience_s
        self._places = threading.Semaphore(IN_FLIGHT)
        self._lost: deque[tuple[Any, Sequence[Any], Exception]] = deque()

    def __enter__(self) -> "_InFlight":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._settle()
        if kind is None:
            self._repeat()

    def send(self, statement: Any, values: Sequence[Any]) -> None:
        """Sends one row as soon as there is a place for it."""
        if self._lost:
            self._settle()
            self._repeat()
        self._send(statement, values)

    def _send(self, statement: Any, values: Sequence[Any]) -> None:
        self._places.acquire()
        try:
            answer = self._session.send(statement, values)
        except BaseException:
            self._places.release()
            raise
        answer.add_callbacks(self._written, self._lose, errback_args=(statement, values))

    def _repeat(self) -> None:
        """Sends what was lost until nothing is."""
        patience = Patience(self._patience_s)
        while self._lost:
            lost, self._lost = self._lost, deque()
            errors = [self._session.translated(error) for _, _, error in lost]
            final = next((error for error in errors if not isinstance(error, StoreUnavailable)), None)
            if final is not None:
                raise final
            patience.pause(errors[0])
            for statement, values, _ in lost:
                self._send(statement, values)
            self._settle()

    def _settle(self) -> None:
        """Returns when nothing is under way."""
        for _place in range(IN_FLIGHT):
            self._places.acquire()
        self._places.release(IN_FLIGHT)

    def _written(self, _: object) -> None:
        self._places.release()

    def _lose(self, error: Exception, statement: Any, values: Sequence[Any]) -> None:
        self._lost.append((statement, values, error))
        self._places.release()
