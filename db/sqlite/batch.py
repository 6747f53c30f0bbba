"""Writes to the SQLite store with executemany, by columns, because work per row takes longer than SQLite itself.

Rows are counted as they pass, because SQLite does not count rows that already exist.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cached_property, partial
from itertools import repeat
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

import apsw

from db import schema
from db.model import Lookup, Table
from db.schema.protocols import LOOKUPS
from db.sqlite.checksums import connect_finished
from db.sqlite.message_parts import MessageParts
from db.sqlite.partition_numbers import PartitionNumbers
from db.sqlite.plans import delete_sql, upsert_sql
from db.sqlite.stored_form import NUMBER, is_placed, partitions_table, rows_table, stored_tables
from db.store import RowBatches, StoreError, Value

T = TypeVar("T")

CHECKING_THREADS = 4

ROWS_AT_ONCE = 16
"""Most rows per statement: a statement per row costs nearly half as much as the row itself."""

STATEMENT_BYTES = 16_000
"""The longest statement. apsw would prepare longer ones again each time."""


class SqliteBatch:
    """Upserts and deletes in one open transaction."""

    def __init__(self, opened: Callable[[], apsw.Connection], clock: Callable[[], float]) -> None:
        """`opened` returns the connection with the transaction, and waits until it has the earlier rows."""
        self.written: dict[str, int] = {}
        self._opened = opened
        self._clock = clock

    @cached_property
    def connection(self) -> apsw.Connection:
        """The connection. Waits until it has the earlier rows."""
        return self._opened()

    @cached_property
    def _numbers(self) -> PartitionNumbers:
        return PartitionNumbers(self.connection)

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
        one = upsert_sql(table, columns)
        at_once, passed = max(1, min(ROWS_AT_ONCE, STATEMENT_BYTES // len(one))), RowBatches.of(rows)
        parts = MessageParts(self.connection, columns) if is_placed(table, columns) else None
        number, width, rest = 0, 0, list[Value]()

        def stored() -> Iterator[Sequence[Sequence[Value]]]:
            for values in passed.batches:
                messages = values[-1] if passed.has_messages else repeat(None)
                found = values[:-1] if passed.has_messages else values
                if timed:
                    # What is written later comes later.
                    found = found[:-1]
                if table.ttl_s is not None and not expiring:
                    found = [*found, [int(self._clock()) + table.ttl_s] * len(found[0])]
                if parts is not None:
                    found = parts.place(found, messages)
                yield found if partitions_table(table) is None else self._numbers.number(table, columns, found)

        def statements() -> Iterator[list[Value]]:
            nonlocal number, width, rest
            for values in stored():
                width, count = len(values), len(values[0])
                number += count
                bound: list[Value] = [None] * (width * count)
                for at, column in enumerate(values):
                    bound[at::width] = column
                bound, each = rest + bound, at_once * width
                whole = len(bound) - len(bound) % each
                yield from (bound[start : start + each] for start in range(0, whole, each))
                rest = bound[whole:]

        self.connection.executemany(upsert_sql(table, columns, at_once), statements())
        self.connection.executemany(one, (rest[start : start + width] for start in range(0, len(rest), width or 1)))
        self.written[table.name] = self.written.get(table.name, 0) + number
        return number

    def delete(self, table: Table, key: Sequence[Value], *, fact: int | None = None) -> None:  # noqa: ARG002 (what is written later comes later)
        """Deletes the row with this key, or all rows under a key prefix that covers the partition key."""
        sql, stored, width = delete_sql(table, len(key)), tuple(key), len(table.partition)
        if partitions_table(table) is not None:
            number = self._numbers.find(table, stored[:width])
            if number is None:
                return
            if len(stored) == width:
                self._numbers.remove(table, stored)
            stored = (number, *stored[width:])
        self.connection.execute(sql, stored)

    def last_fact(self, table: Table, key: Sequence[Value]) -> int:  # noqa: ARG002 (what is written later comes later)
        """Any number: a delete removes exactly what was written before it."""
        return 0

    def clear(self, table: Table) -> None:
        """Deletes all rows of the table."""
        self.connection.execute(f"DELETE FROM {rows_table(table)}")
        if partitions_table(table) is not None:
            self._numbers.clear(table)


def check_built(generation: Path) -> None:
    """Raises StoreError unless all pages of a finished generation are intact and its tables are consistent."""

    def check(connection: apsw.Connection, table: str) -> list[str | int]:
        return [answer for (answer,) in connection.execute(f"PRAGMA quick_check({table})")]

    connect = partial(connect_finished, generation)
    with closing(connect()) as connection:
        tables = list_tables(connection)
    for answer in _in_threads(connect, check, tables):
        if answer != ["ok"]:
            raise StoreError(f"the new generation is damaged: {answer[0]}")
    for _, meaning in disagreements(connect):
        raise StoreError(f"the new generation is inconsistent: {meaning}")


def disagreements(connect: Callable[[], apsw.Connection]) -> list[tuple[str, str]]:
    """The tables of a generation that contradict others, and how. `connect` opens it, several times."""

    def count(connection: apsw.Connection, query: str) -> int:
        return sum(found for (found,) in connection.execute(query))

    with closing(connect()) as connection:
        # A generation may have an earlier form, and does not have the later tables yet during a migration.
        names = {*list_tables(connection)}
    checks = [each for each in DISAGREEMENTS if names.issuperset(stored_tables(each[0]))]
    counted = zip(checks, _in_threads(connect, count, [query for _, _, query in checks]), strict=True)
    return [(table.name, f"{found} {meaning}") for (table, meaning, _), found in counted if found]


def _in_threads(
    connect: Callable[[], apsw.Connection], run: Callable[[apsw.Connection, str], T], items: Sequence[str]
) -> list[T]:
    """The results of `run`, in order, from CHECKING_THREADS threads. Each has a connection of its own: to open one, and
    to read its schema, takes longer than a small table.
    """
    waiting: SimpleQueue[int] = SimpleQueue()
    for at in range(len(items)):
        waiting.put(at)
    found: dict[int, T] = {}

    def work() -> None:
        with closing(connect()) as connection, suppress(Empty):
            while True:
                at = waiting.get_nowait()
                found[at] = run(connection, items[at])

    with ThreadPoolExecutor(CHECKING_THREADS, thread_name_prefix="check") as pool:
        for each in [pool.submit(work) for _ in range(CHECKING_THREADS)]:
            each.result()
    return [found[at] for at in range(len(items))]


def list_tables(connection: apsw.Connection) -> list[str]:
    """Names of the stored tables."""
    return [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _without_hint(lookup: Lookup) -> str:
    same = " AND ".join(
        [f"hint.{hint} = part.{name}" for hint, name in lookup.hint_columns]
        + [f"hint.{name} = {_literal(value)}" for name, value in lookup.hint_constants]
    )
    partitions = partitions_table(lookup.table)
    if partitions is None:
        source = f"(SELECT DISTINCT {', '.join(lookup.table.partition)} FROM {lookup.table.name}) AS part WHERE"
    else:
        rows = f"SELECT 1 FROM {rows_table(lookup.table)} AS stored WHERE stored.{NUMBER} = part.{NUMBER}"
        source = f"{partitions} AS part WHERE EXISTS ({rows}) AND"
    return f"SELECT count(*) FROM {source} NOT EXISTS (SELECT 1 FROM {lookup.hints.name} AS hint WHERE {same})"


def _without_partition(table: Table) -> str:
    """Counts the rows that no view shows. It reads the rows once, and the dictionary."""
    rows = f"SELECT count(*) FROM {rows_table(table)}"
    return f"SELECT ({rows}) - (SELECT count(*) FROM {table.name})"


def _literal(value: str | bool) -> str:  # noqa: FBT001 (a value, not a switch)
    return str(int(value)) if isinstance(value, bool) else f"'{value}'"


DISAGREEMENTS = (
    (
        schema.sync,
        "complete milestones do not list the messages that were counted",
        f"SELECT count(*) FROM {schema.sync.name} AS complete WHERE synced_by IS NOT NULL AND message_count <> "
        f"(SELECT count(*) FROM {schema.messages_by_milestone.name} AS listed "
        "WHERE listed.milestone_index = complete.milestone_index)",
    ),
    (
        schema.messages,
        "messages are listed by milestone and missing by id",
        f"SELECT max(0, (SELECT count(*) FROM {schema.messages_by_milestone.name}) "
        f"- (SELECT count(*) FROM {schema.messages.name}))",
    ),
    *((lookup.table, f"partitions of {lookup.table.name} have no hint", _without_hint(lookup)) for lookup in LOOKUPS),
    *(
        (table, f"rows of {table.name} belong to no partition", _without_partition(table))
        for table in schema.TABLES
        if partitions_table(table) is not None
    ),
)
"""Faults that a generation must not have, with the query that counts each. Each reads a table once, in order."""
