"""Reads every row of a keyspace, so that the nodes compare the checksums of their files, and compares hashes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from db.cassandra.errors import ReplicasFailed
from db.cassandra.session import CassandraSession
from db.damage import HASHED, Checked, Damage, damage_of, key_text, milestones_of, wrong_hash
from db.model import Table
from db.retry import retry
from db.store import Row, Unreadable

RANGES = 256
"""Parts of the token ring that are read one after another, so that an unreadable file hides only some rows."""

FEW_ROWS = 10_000
"""A table with fewer rows is read at once: a query for each part would take longer than its rows."""

FIRST_TOKEN, TOKENS = -(2**63), 2**64
ROWS_BETWEEN_REPORTS = 10_000


def find_damage(
    session: CassandraSession,
    keyspace: str,
    tables: Sequence[Table],
    chunk_size: int,
    checked: Checked,
    retry_s: float,
) -> Iterator[Damage]:
    """Yields rows that replicas could not read, and rows whose bytes have another hash.

    `chunk_size`: milestones per range. Raises StoreUnavailable if the cluster is unavailable for `retry_s`.
    """
    for table in tables:
        number = 0
        is_small = retry(partial(_has_few_rows, session, keyspace, table), retry_s)
        for bounds in _token_ranges(at_once=is_small):
            part = _Part(session, keyspace, table, bounds, chunk_size)
            rows, found = retry(partial(part.read, partial(checked, table.name), number), retry_s)
            number += rows
            yield from found


@dataclass(frozen=True)
class _Part:
    """The rows of a table in a part of the token ring."""

    session: CassandraSession
    keyspace: str
    table: Table
    bounds: tuple[int, int]
    chunk_size: int

    def read(self, checked: Callable[[int, int | None], None], before: int) -> tuple[int, list[Damage]]:
        """The number of rows, and the damage. `before`: the number of rows in earlier parts."""
        number, found = 0, list[Damage]()
        try:
            for row in self.session.pages(_select(self.table, self.keyspace, self.table.names), self.bounds):
                if (before + number) % ROWS_BETWEEN_REPORTS == 0:
                    checked(before + number, None)
                number += 1
                found += _of_row(self.table, self.keyspace, row, self.chunk_size)
        except ReplicasFailed as error:
            low, high = self.bounds
            rows = Unreadable(self.table, [], complete=False)
            found.append(damage_of(rows, f"tokens {low} to {high}", str(error), self.chunk_size))
        return number, found


def read_rows(
    session: CassandraSession, keyspace: str, table: Table, names: Sequence[str], at_once: int
) -> Iterator[list[tuple[Any, ...]]]:
    """Yields all rows of a table with these columns, up to `at_once` each time.

    Raises StoreUnavailable if no quorum returns some of them.
    """
    for bounds in _token_ranges(at_once=_has_few_rows(session, keyspace, table)):
        rows = session.pages(_select(table, keyspace, names), bounds)
        while some := [tuple(row[name] for name in names) for row in islice(rows, at_once)]:
            yield some


def _has_few_rows(session: CassandraSession, keyspace: str, table: Table) -> bool:
    """Whether a table has few rows, and all of them can be read."""
    cql = f"SELECT {', '.join(table.names)} FROM {keyspace}.{table.name} LIMIT {FEW_ROWS}"
    try:
        return sum(1 for _ in session.pages(cql, ())) < FEW_ROWS
    except ReplicasFailed:
        return False


def _token_ranges(*, at_once: bool) -> Iterator[tuple[int, int]]:
    """The first and last token of each part of the ring; `at_once`: of the whole ring."""
    parts = 1 if at_once else RANGES
    for part in range(parts):
        low = FIRST_TOKEN + TOKENS // parts * part
        yield low, low + TOKENS // parts - 1


def _of_row(table: Table, keyspace: str, row: Row, chunk_size: int) -> Iterator[Damage]:
    if table not in HASHED:
        return
    hash_column, data_column = HASHED[table]
    fault = wrong_hash(table, bytes.fromhex(row[hash_column]), row[data_column])
    if fault is not None:
        milestones = milestones_of(Unreadable(table, [row]), chunk_size)
        yield Damage(table.name, keyspace, key_text(table, [row[name] for name in table.key]), fault, milestones)


def _select(table: Table, keyspace: str, names: Sequence[str]) -> str:
    token = f"token({', '.join(table.partition)})"
    return f"SELECT {', '.join(names)} FROM {keyspace}.{table.name} WHERE {token} >= ? AND {token} <= ?"
