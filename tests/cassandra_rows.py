"""Many rows in one request to the tests' server. The adapter sends every row by itself, so that a load can repeat it;
for tests that fill a store, that takes five times as much CPU time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from cassandra.query import BatchStatement, BatchType, PreparedStatement

from db.cassandra.batch import CassandraBatch
from db.cassandra.session import CassandraSession
from db.cassandra.store import CassandraStore
from db.model import Table
from db.store import Batch, Value

ROWS = 200
"""Rows of a request."""

Row = Sequence[Value]


@pytest.fixture(scope="module", autouse=True)
def filled_together() -> Iterator[None]:
    """For folders whose tests compare what stores contain: loads of this process send many rows at a time."""
    own: Callable[..., AbstractContextManager[CassandraBatch]] = CassandraStore.batch

    @contextmanager
    def batch(store: CassandraStore, **options: Any) -> Iterator[CassandraBatch]:
        with own(store, **options) as found, many_at_a_time(found):
            yield found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CassandraStore, "batch", batch)
        yield


@contextmanager
def many_at_a_time(batch: Batch) -> Iterator[None]:
    """Within this block, a cluster's batch sends its rows together. A batch of the embedded store is as always."""
    if not isinstance(batch, CassandraBatch) or "upsert" in vars(batch):
        yield
        return
    own, session = batch.upsert, batch._session
    together = _Together(session)

    def upsert(table: Table, columns: Sequence[str], rows: Iterable[Row], **options: Any) -> int:
        count = 0
        for group in _groups(rows, [columns.index(name) for name in table.key]):
            batch._session = together  # type: ignore[assignment]
            try:
                count += own(table, columns, group, **options)
                together.flush()
            finally:
                batch._session = session
        return count

    batch.upsert = upsert  # type: ignore[method-assign]
    try:
        yield
    finally:
        del batch.upsert


def _groups(rows: Iterable[Row], key: Sequence[int]) -> Iterator[list[Row]]:
    """Rows in groups without two of the same key: all rows of a request have the same time, and none would be later."""
    group: dict[tuple[Value, ...], Row] = {}
    for row in rows:
        of_row = tuple(row[index] for index in key)
        if of_row in group or len(group) == ROWS:
            yield list(group.values())
            group = {}
        group[of_row] = row
    if group:
        yield list(group.values())


class _Together:
    """Stands for the session of a batch, and for the answer to each row, which comes at once."""

    def __init__(self, session: CassandraSession) -> None:
        self.prepare, self.next_timestamp = session.prepare, session.next_timestamp
        self._session = session._session
        self._rows = BatchStatement(BatchType.UNLOGGED)

    def send(self, statement: PreparedStatement, values: Sequence[Any]) -> "_Together":
        self._rows.add(statement, values)
        return self

    def add_callbacks(self, written: Callable[[object], None], *_: object, **_more: object) -> None:
        written(None)

    def flush(self) -> None:
        """Sends the rows, and returns when the server has them."""
        if len(self._rows):
            self._session.execute(self._rows)
            self._rows = BatchStatement(BatchType.UNLOGGED)
