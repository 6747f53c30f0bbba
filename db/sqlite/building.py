"""The next generation of a store: an empty file, the rows of the served generation, then those of a load.

Invariants:
1. Its pages have checksums, and all that is copied was compared with the served generation's.
2. Its tables have the current form, whichever the served ones have (db/sqlite/stored_form.py).
3. Nothing is durable or visible before `publish` (db/sqlite/files.py).
"""

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw

from db.model import Table
from db.schema.dialects import EXPIRES_AT
from db.sqlite.batch import SqliteBatch
from db.sqlite.checksums import WRITE, connect, has_checksums, reserve
from db.sqlite.damaged_pages import damaged_tables
from db.sqlite.salvage import Native, ignore_checksums, order_of, read_rows
from db.sqlite.stored_form import CREATE_NUMBERS, FORM, create_statements, form_of, partitions_table, read_tables
from db.store import LeaveOut, Unreadable

PAGE_BYTES = 16_384
"""Page size of a new generation: messages of up to 4 kB fit into leaf pages without overflow pages."""

PAGES_AT_ONCE = 4_096
"""Pages that are copied at once. A copy that is not needed any more ends after them."""


def create(file: Path) -> apsw.Connection:
    """Creates an empty generation."""
    connection = connect(file, WRITE | apsw.SQLITE_OPEN_URI)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    reserve(connection)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -262144")
    connection.execute(f"PRAGMA user_version = {FORM}")
    return connection


def has_same_pages(served: Path) -> bool:
    """Whether a new generation may begin with the pages of the served one."""
    return has_checksums(served) and form_of(served) == FORM


def copy_pages(served: Path, target: apsw.Connection, stopped: threading.Event) -> None:
    """Copies the served generation into an empty one, page by page, until all are copied or `stopped` is set.

    Raises apsw's errors for pages that differ from their checksums.
    """
    with closing(connect(served)) as source, target.backup("main", source, "main") as pages:
        while not (pages.done or stopped.is_set()):
            pages.step(PAGES_AT_ONCE)


def copy_rows(
    served: Path,
    target: apsw.Connection,
    tables: Sequence[Table],
    without: Collection[Table],
    leave_out: LeaveOut | None,
) -> None:
    """Copies the served generation into an empty one, except the rows of `without`.

    Raises apsw's errors for rows that cannot be read, unless `leave_out` is given.
    """
    damaged = frozenset[str]() if leave_out is None else damaged_tables(served)
    target.execute("PRAGMA main.journal_mode = OFF")
    target.execute("ATTACH ? AS served", (f"{served.resolve().as_uri()}?mode=ro",))
    target.execute("BEGIN")
    target.execute(CREATE_NUMBERS)
    for table in tables:
        for statement in create_statements(table).values():
            target.execute(statement)
        if table not in without and (names := _names(target, table)):
            if leave_out is None or damaged.isdisjoint(read_tables(table)):
                _copy_table(target, table, names)
            else:
                _copy_readable(served, target, table, names, leave_out, damaged)
    target.execute("COMMIT")
    target.execute("DETACH served")


def _names(target: apsw.Connection, table: Table) -> list[str]:
    """The columns of a served table, its key first, without the time at which rows expire."""
    found = target.execute("SELECT name FROM pragma_table_info(?, 'served')", (table.name,)).fetchall()
    rest = [str(name) for (name,) in found if name not in (*table.key, EXPIRES_AT)]
    return [*table.key, *rest] if found else []


def _copy_table(target: apsw.Connection, table: Table, names: Sequence[str]) -> None:
    """Copies all rows, in the order of their key."""
    read = ", ".join(_expiring(table, names))
    rows = target.execute(f"SELECT {read} FROM served.{table.name} ORDER BY {order_of(table)}")
    SqliteBatch(lambda: target, time.time).upsert(table, names, rows, expiring=True)


def _expiring(table: Table, names: Sequence[str]) -> list[str]:
    """These columns, then the time at which a row expires, if rows of the table do."""
    return [*names] if table.ttl_s is None else [*names, EXPIRES_AT]


def _copy_readable(
    served: Path,
    target: apsw.Connection,
    table: Table,
    names: Sequence[str],
    leave_out: LeaveOut,
    damaged: Collection[str],
) -> None:
    """Copies the rows that can be read."""
    lost = list[Unreadable]()

    def readable(rows: Iterator[Native | Unreadable]) -> Iterator[Native]:
        for row in rows:
            if isinstance(row, Unreadable):
                lost.append(row)
            else:
                yield row

    with closing(connect(served)) as checked, closing(connect(served)) as unchecked:
        ignore_checksums(unchecked)
        rows = readable(read_rows(checked, unchecked, table, _expiring(table, names)))
        number = SqliteBatch(lambda: target, time.time).upsert(table, names, rows, expiring=True)
    partitions = partitions_table(table)
    if partitions in damaged:
        # Rows of a partition that the dictionary does not contain are not found.
        lost = [replace(each, complete=False) for each in lost] or [Unreadable(table, [], complete=False)]
    total = number + sum(len(each.rows) for each in lost) if all(each.complete for each in lost) else None
    for each in lost:
        leave_out(replace(each, total=total))
