"""Writes to the SQLite store with executemany, without per-row work in Python.

Values are bound unchanged. Rows are counted as they pass, because SQLite does not count rows that already exist.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path

import apsw

from db import schema
from db.model import Lookup, Table
from db.schema.protocols import LOOKUPS
from db.sqlite.checksums import connect_finished
from db.sqlite.plans import delete_sql, upsert_sql
from db.store import StoreError, Value

CHECKING_THREADS = 4

ROWS_AT_ONCE = 16
"""Rows per statement: a statement per row costs nearly half as much as the row itself. SQLite would prepare statements
over 16 KB again each time.
"""


class SqliteBatch:
    """Upserts and deletes in one open transaction."""

    def __init__(self, connection: apsw.Connection, clock: Callable[[], float]) -> None:
        self.connection = connection
        self.written: dict[str, int] = {}
        self._clock = clock

    def upsert(
        self,
        table: Table,
        columns: Sequence[str],
        rows: Iterable[Sequence[Value]],
        *,
        timed: bool = False,
        expiring: bool = False,
    ) -> int:
        """Writes the given columns and returns the number of rows. Rows sorted by key load fastest."""
        if timed:
            # What is written later comes later.
            rows = (row[:-1] for row in rows)
        if table.ttl_s is not None and not expiring:
            expires_at = int(self._clock()) + table.ttl_s
            rows = ((*row, expires_at) for row in rows)
        passing, number, rest = iter(rows), 0, list[Sequence[Value]]()

        def statements() -> Iterator[tuple[Value, ...]]:
            nonlocal number
            while len(some := list(islice(passing, ROWS_AT_ONCE))) == ROWS_AT_ONCE:
                number += ROWS_AT_ONCE
                yield tuple(chain.from_iterable(some))
            rest.extend(some)

        self.connection.executemany(upsert_sql(table, columns, ROWS_AT_ONCE), statements())
        self.connection.executemany(upsert_sql(table, columns), rest)
        number += len(rest)
        self.written[table.name] = self.written.get(table.name, 0) + number
        return number

    def delete(self, table: Table, key: Sequence[Value], *, fact: int | None = None) -> None:  # noqa: ARG002 (what is written later comes later)
        """Deletes the row with this key, or all rows under a key prefix that covers the partition key."""
        self.connection.execute(delete_sql(table, len(key)), tuple(key))

    def last_fact(self, table: Table, key: Sequence[Value]) -> int:  # noqa: ARG002 (what is written later comes later)
        """Any number: a delete removes exactly what was written before it."""
        return 0

    def clear(self, table: Table) -> None:
        """Deletes all rows of the table."""
        self.connection.execute(f"DELETE FROM {table.name}")


def check_built(generation: Path) -> None:
    """Raises StoreError unless all pages of a finished generation are intact and its tables are consistent."""

    def check(table: str) -> list[str | int]:
        with closing(connect_finished(generation)) as connection:
            return [answer for (answer,) in connection.execute(f"PRAGMA quick_check({table})")]

    with closing(connect_finished(generation)) as connection:
        tables = list_tables(connection)
    with ThreadPoolExecutor(CHECKING_THREADS, thread_name_prefix="check") as pool:
        for answer in pool.map(check, tables):
            if answer != ["ok"]:
                raise StoreError(f"the new generation is damaged: {answer[0]}")
    for _, meaning in disagreements(partial(connect_finished, generation)):
        raise StoreError(f"the new generation is inconsistent: {meaning}")


def disagreements(connect: Callable[[], apsw.Connection]) -> list[tuple[str, str]]:
    """The tables of a generation that contradict others, and how. `connect` opens it, for each query once."""

    def count(query: str) -> int:
        with closing(connect()) as connection:
            return sum(found for (found,) in connection.execute(query))

    with closing(connect()) as connection:
        # During a migration the generation does not have the later tables yet.
        tables = list_tables(connection)
        checks = [each for each in DISAGREEMENTS if each[0] in tables]
        with ThreadPoolExecutor(CHECKING_THREADS, thread_name_prefix="check") as pool:
            counts = [*pool.map(count, [query for _, _, query in checks])]
    return [(table, f"{found} {meaning}") for (table, meaning, _), found in zip(checks, counts, strict=True) if found]


def list_tables(connection: apsw.Connection) -> list[str]:
    """Names of the tables."""
    return [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _without_hint(lookup: Lookup) -> str:
    same = " AND ".join(
        [f"hint.{hint} = part.{name}" for hint, name in lookup.hint_columns]
        + [f"hint.{name} = {_literal(value)}" for name, value in lookup.hint_constants]
    )
    return (
        f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(lookup.table.partition)} FROM {lookup.table.name}) AS part "
        f"WHERE NOT EXISTS (SELECT 1 FROM {lookup.hints.name} AS hint WHERE {same})"
    )


def _literal(value: str | bool) -> str:  # noqa: FBT001 (a value, not a switch)
    return str(int(value)) if isinstance(value, bool) else f"'{value}'"


DISAGREEMENTS = (
    (
        schema.sync.name,
        "complete milestones do not list the messages that were counted",
        f"SELECT count(*) FROM {schema.sync.name} AS complete WHERE synced_by IS NOT NULL AND message_count <> "
        f"(SELECT count(*) FROM {schema.messages_by_milestone.name} AS listed "
        "WHERE listed.milestone_index = complete.milestone_index)",
    ),
    (
        schema.messages.name,
        "messages are listed by milestone and missing by id",
        f"SELECT max(0, (SELECT count(*) FROM {schema.messages_by_milestone.name}) "
        f"- (SELECT count(*) FROM {schema.messages.name}))",
    ),
    *(
        (lookup.table.name, f"partitions of {lookup.table.name} have no hint", _without_hint(lookup))
        for lookup in LOOKUPS
    ),
)
"""Faults that a generation must not have, with the query that counts each. Each reads a table once, in order."""
