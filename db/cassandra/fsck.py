"""Reads every row of a keyspace, so that the nodes compare the checksums of their files, and compares hashes."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from db.cassandra.session import CassandraSession
from db.damage import HASHED, Checked, Damage, damage_of, key_text, milestones_of, wrong_hash
from db.model import Table
from db.store import Row, StoreUnavailable, Unreadable

RANGES = 256
"""Parts of the token ring that are read one after another, so that an unreadable file hides only some rows."""

FIRST_TOKEN, TOKENS = -(2**63), 2**64
ROWS_BETWEEN_REPORTS = 10_000


def find_damage(
    session: CassandraSession, keyspace: str, tables: Sequence[Table], chunk_size: int, checked: Checked
) -> Iterator[Damage]:
    """Yields rows that no quorum returns, and rows whose bytes have another hash.

    `chunk_size`: milestones per range.
    """
    for table in tables:
        number = 0
        for low, high in _token_ranges():
            try:
                for row in session.pages(_select(table, keyspace, table.names), (low, high)):
                    if number % ROWS_BETWEEN_REPORTS == 0:
                        checked(table.name, number, None)
                    number += 1
                    yield from _of_row(table, keyspace, row, chunk_size)
            except StoreUnavailable as error:
                yield damage_of(
                    Unreadable(table, [], complete=False), f"tokens {low} to {high}", str(error), chunk_size
                )


def read_rows(
    session: CassandraSession, keyspace: str, table: Table, names: Sequence[str], at_once: int
) -> Iterator[list[tuple[Any, ...]]]:
    """Yields all rows of a table with these columns, up to `at_once` each time.

    Raises StoreUnavailable if no quorum returns some of them.
    """
    for bounds in _token_ranges():
        rows = session.pages(_select(table, keyspace, names), bounds)
        while some := [tuple(row[name] for name in names) for row in islice(rows, at_once)]:
            yield some


def _token_ranges() -> Iterator[tuple[int, int]]:
    """The first and last token of each part of the ring."""
    for part in range(RANGES):
        low = FIRST_TOKEN + TOKENS // RANGES * part
        yield low, low + TOKENS // RANGES - 1


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
