"""The next generation of a store: an empty file, the rows of the served generation, then those of a load.

Invariants:
1. Its pages have checksums, and all that is copied was compared with the served generation's.
2. Nothing is durable or visible before `publish` (db/sqlite/files.py).
"""

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw

from db.model import Table
from db.schema.dialects import create_table_sqlite
from db.sqlite.checksums import WRITE, connect, has_checksums, reserve
from db.sqlite.damaged_pages import damaged_tables
from db.sqlite.salvage import ignore_checksums, read_rows
from db.store import LeaveOut, Unreadable

PAGE_BYTES = 16_384
"""Page size of a new generation: messages of up to 4 kB fit into leaf pages without overflow pages."""


def create(file: Path) -> apsw.Connection:
    """Creates an empty generation."""
    connection = connect(file, WRITE | apsw.SQLITE_OPEN_URI)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    reserve(connection)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -262144")
    return connection


def copy(
    served: Path,
    target: apsw.Connection,
    tables: Sequence[Table],
    without: Collection[Table],
    leave_out: LeaveOut | None,
) -> None:
    """Copies the served generation into an empty one, except the rows of `without`.

    Raises apsw's errors for rows that cannot be read, unless `leave_out` is given.
    """
    if not without and leave_out is None and has_checksums(served):
        with closing(connect(served)) as source, target.backup("main", source, "main") as pages:
            pages.step()
        return
    damaged = None if leave_out is None else damaged_tables(served)
    target.execute("PRAGMA main.journal_mode = OFF")
    target.execute("ATTACH ? AS served", (f"{served.resolve().as_uri()}?mode=ro",))
    try:
        for table in tables:
            target.execute(create_table_sqlite(table))
            if table not in without and (names := _names(target, table)):
                with target:
                    if leave_out is None or (damaged is not None and table.name not in damaged):
                        _copy_table(target, table, names)
                    else:
                        _copy_readable(served, target, table, names, leave_out)
    finally:
        target.execute("DETACH served")


def _names(target: apsw.Connection, table: Table) -> list[str]:
    """The columns of a served table, its key first."""
    found = target.execute("SELECT name FROM pragma_table_info(?, 'served')", (table.name,)).fetchall()
    rest = [str(name) for (name,) in found if name not in table.key]
    return [*table.key, *rest] if found else []


def _copy_table(target: apsw.Connection, table: Table, names: Sequence[str]) -> None:
    columns = ", ".join(names)
    target.execute(f"INSERT INTO main.{table.name} ({columns}) SELECT {columns} FROM served.{table.name}")


def _copy_readable(
    served: Path, target: apsw.Connection, table: Table, names: Sequence[str], leave_out: LeaveOut
) -> None:
    """Copies the rows that can be read."""
    insert = f"INSERT INTO main.{table.name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    number, lost = 0, list[Unreadable]()
    with closing(connect(served)) as checked, closing(connect(served)) as unchecked:
        ignore_checksums(unchecked)
        for row in read_rows(checked, unchecked, table, names):
            if isinstance(row, Unreadable):
                lost.append(row)
            else:
                target.execute(insert, row)
                number += 1
    total = number + sum(len(each.rows) for each in lost) if all(each.complete for each in lost) else None
    for each in lost:
        leave_out(replace(each, total=total))
