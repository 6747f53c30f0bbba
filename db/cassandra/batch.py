"""Writes to a cluster: many concurrent upserts per step, each step acknowledged before the next begins.

Invariants:
1. The number of unacknowledged writes is bounded.
2. Rows of one step arrive in any order. If two have the same key the later wins, because each carries the time at which
   it was first sent.
3. Unacknowledged writes are sent again with backoff; every write may be repeated. Any other error ends the step, and
   the first such error is raised.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from cassandra.query import UNSET_VALUE

from db.cassandra.plans import STATES, clear_cql, delete_cql, deleted_at, upsert_cql, written_at, written_cql
from db.cassandra.session import CassandraSession
from db.model import Table, Type
from db.retry import Backoff, retry
from db.store import StoreUnavailable, Value

IN_FLIGHT = 256


class CassandraBatch:
    """Writes to one keyspace, in the given order."""

    def __init__(self, session: CassandraSession, keyspace: str, retry_s: float) -> None:
        """`retry_s` is the time in seconds for which writes are retried while the cluster does not respond."""
        self._session, self._keyspace, self._retry_s = session, keyspace, retry_s

    def upsert(
        self,
        table: Table,
        columns: Sequence[str],
        rows: Iterable[Sequence[Value]],
        *,
        timed: bool = False,
        expiring: bool = False,
    ) -> int:
        """Writes the given columns and returns the number of rows once all are acknowledged. Rows that have expired are
        not sent.
        """
        statement = self._session.prepare(upsert_cql(table, self._keyspace, columns, is_timed=True))
        kinds = [table.column(name) for name in columns]
        ids = [index for index, column in enumerate(kinds) if column.type is Type.HEX]
        keeps_nulls = table.name in STATES
        facts = [] if keeps_nulls else [index for index, column in enumerate(kinds) if column.name not in table.key]
        ending = [] if table.ttl_s is None else [table.ttl_s]
        count = 0
        with _InFlight(self._session, self._retry_s) as flight:
            for row in rows:
                values: list[Any] = list(row)
                if expiring:
                    ending = [values.pop() - int(time.time())]
                    if ending[0] <= 0:
                        continue
                for index in ids:
                    if values[index] is not None:
                        values[index] = values[index].hex()
                for index in facts:
                    if values[index] is None:
                        values[index] = UNSET_VALUE
                if timed:
                    values[-1] = written_at(values[-1])
                else:
                    # The driver's own timestamp would be a later one when the row is sent again.
                    values.append(self._session.next_timestamp())
                flight.send(statement, values + ending)
                count += 1
        return count

    def delete(self, table: Table, key: Sequence[Value], *, fact: int | None = None) -> None:
        """Deletes the row with this key, or all rows under a key prefix, with one tombstone; as of `fact` if given."""
        values = [value.hex() if isinstance(value, bytes) else value for value in key]
        cql = delete_cql(table, self._keyspace, len(key), is_timed=fact is not None)
        stamp = [] if fact is None else [deleted_at(fact)]
        retry(lambda: self._session.run(cql, [*stamp, *values]), self._retry_s)

    def last_fact(self, table: Table, key: Sequence[Value]) -> int:
        """A fact that is not before that of the rows under this key prefix, nor before the present."""
        values = [value.hex() if isinstance(value, bytes) else value for value in key]
        cql = written_cql(table, self._keyspace, len(key))
        rows = retry(lambda: self._session.run(cql, values), self._retry_s)
        written: list[int] = [row["written"] for row in rows]
        return max([time.time_ns() // 1_000, *written]) // 4

    def clear(self, table: Table) -> None:
        """Deletes all rows of the table."""
        retry(lambda: self._session.define(clear_cql(table, self._keyspace)), self._retry_s)


class _InFlight:
    """Unacknowledged writes. The block ends when all are acknowledged, or raises the first error that a retry cannot
    fix.
    """

    def __init__(self, session: CassandraSession, retry_s: float) -> None:
        self._session, self._retry_s = session, retry_s
        self._places = threading.Semaphore(IN_FLIGHT)
        self._lost: deque[tuple[Any, Sequence[Any], Exception]] = deque()

    def __enter__(self) -> "_InFlight":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._settle()
        if kind is None:
            self._repeat()

    def send(self, statement: Any, values: Sequence[Any]) -> None:
        """Sends one row as soon as the number of unacknowledged writes permits."""
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
        """Repeats lost writes until none is lost."""
        backoff = Backoff(self._retry_s)
        while self._lost:
            lost, self._lost = self._lost, deque()
            errors = [self._session.translated(error) for _, _, error in lost]
            final = next((error for error in errors if not isinstance(error, StoreUnavailable)), None)
            if final is not None:
                raise final
            backoff.pause(errors[0])
            for statement, values, _ in lost:
                self._send(statement, values)
            self._settle()

    def _settle(self) -> None:
        """Returns when no write is unacknowledged."""
        for _place in range(IN_FLIGHT):
            self._places.acquire()
        self._places.release(IN_FLIGHT)

    def _written(self, _: object) -> None:
        self._places.release()

    def _lose(self, error: Exception, statement: Any, values: Sequence[Any]) -> None:
        self._lost.append((statement, values, error))
        self._places.release()
