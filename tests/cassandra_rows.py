"""Many rows in one request to the tests' server. The adapter sends every row by itself, so that a load can repeat it;
for tests that fill a store, that takes five times as much CPU time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cassandra.query import BatchStatement, BatchType, PreparedStatement

from db.cassandra.batch import CassandraBatch
from db.cassandra.session import CassandraSession
from db.store import Batch

ROWS = 200
"""Rows of a request."""


@contextmanager
def many_at_a_time(batch: Batch) -> Iterator[None]:
    """Within this block, a cluster's batch sends its rows together. A batch of the embedded store is as always."""
    if not isinstance(batch, CassandraBatch):
        yield
        return
    own = batch._session
    together = _Together(own)
    batch._session = together  # type: ignore[assignment]
    try:
        yield
        together.flush()
    finally:
        batch._session = own


class _Together:
    """Stands for the session of a batch, and for the answer to each row, which comes at once."""

    def __init__(self, session: CassandraSession) -> None:
        self.prepare = session.prepare
        self._session = session._session
        self._rows = BatchStatement(BatchType.UNLOGGED)

    def send(self, statement: PreparedStatement, values: Sequence[Any]) -> "_Together":
        self._rows.add(statement, values)
        if len(self._rows) == ROWS:
            self.flush()
        return self

    def add_callbacks(self, written: Callable[[object], None], *_: object, **_more: object) -> None:
        written(None)

    def flush(self) -> None:
        """Sends the rows that are left, and returns when the server has them."""
        if len(self._rows):
            self._session.execute(self._rows)
            self._rows = BatchStatement(BatchType.UNLOGGED)
