"""Reads the rows of a table with damaged pages: those that can be read, and what is known of the others.

Two connections read the table in the order of its key. One compares checksums, so its rows are right, and it fails at a
damaged page. The other ignores checksums. It goes on after such a page, so that its keys name the rows on it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import apsw

from db.model import Order, Table, Type
from db.sqlite.errors import DAMAGED, is_damage
from db.sqlite.stored_form import partitions_table, rows_table
from db.store import Unreadable

Native: TypeAlias = tuple[Any, ...]


def ignore_checksums(connection: apsw.Connection) -> None:
    """Makes a connection read pages that differ from their checksum."""
    connection.execute("PRAGMA checksum_verification = OFF")


def order_of(table: Table, *, reverse: bool = False) -> str:
    """The columns of ORDER BY in the order of the primary key, or backwards."""
    falls = table.order is Order.DESC
    columns = [(name, reverse) for name in table.partition] + [(name, falls != reverse) for name in table.clustering]
    return ", ".join(f"{name} {'DESC' if descending else 'ASC'}" for name, descending in columns)


def read_rows(
    checked: apsw.Connection, unchecked: apsw.Connection, table: Table, names: Sequence[str]
) -> Iterator[Native | Unreadable]:
    """Yields these columns of each row that can be read, and the rows that cannot be read where they are.

    `names` begins with the key. `unchecked` ignores checksums. If it fails too, the rows after the damage come
    backwards from the end of the table.
    """
    select, width = f"SELECT {', '.join(names)} FROM {table.name}", len(table.key)
    one = f"{select} WHERE {' AND '.join(f'{name} = ?' for name in table.key)}"
    reading = _rows(checked, f"{select} ORDER BY {order_of(table)}")
    lost, last = list[Native](), None
    complete = _finds_all(unchecked, table)
    try:
        for raw in _rows_unchecked(unchecked, table, names, order_of(table)):
            key = raw[:width]
            row = _next(_rows(checked, one, key) if lost else reading)
            if row is None:
                lost.append(raw)
                continue
            if row[:width] != key or (last is not None and not _is_after(table, key, last)):
                raise apsw.CorruptError(f"the rows of {table.name} are not in order")
            if lost:
                yield _unreadable(table, names, lost, complete=complete)
                lost, reading = [], _rows_after(checked, select, table, key)
            last = key
            yield row
    except apsw.Error as error:
        if not is_damage(error):
            raise
        yield from _backwards(checked, unchecked, table, names, lost, last)
        return
    if lost:
        yield _unreadable(table, names, lost, complete=complete)


def _finds_all(unchecked: apsw.Connection, table: Table) -> bool:
    """Whether a divided table shows all its stored rows. On a damaged page, a search by the number of a partition may
    miss rows without an error, which reading them one after the other finds.
    """
    if partitions_table(table) is None:
        return True
    # Lengths make SQLite read the values, and are numbers even of damaged texts.
    lengths = ", ".join(f"length(CAST({name} AS BLOB))" for name in table.clustering)
    try:
        if unchecked.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (rows_table(table),)).get is None:
            return True  # a generation of the first form
        stored, shown = (
            sum(1 for _ in unchecked.execute(f"SELECT {lengths} FROM {name}"))
            for name in (rows_table(table), table.name)
        )
    except apsw.Error as error:
        if is_damage(error):
            return False
        raise
    return stored == shown


def _rows_unchecked(unchecked: apsw.Connection, table: Table, names: Sequence[str], order: str) -> Iterator[Native]:
    """All rows. Texts are read as bytes: a damaged page may have some that are no UTF-8, in columns of any type."""
    columns = ", ".join(f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END" for name in names)
    texts = {name for name in table.names if table.column(name).type in (Type.TEXT, Type.DATE)}
    at = [position for position, name in enumerate(names) if name in texts]
    for row in unchecked.execute(f"SELECT {columns} FROM {table.name} ORDER BY {order}"):
        values = list(row)
        for position in at:
            if isinstance(values[position], bytes):
                values[position] = values[position].decode("utf-8", "replace")
        yield tuple(values)


def _backwards(
    checked: apsw.Connection,
    unchecked: apsw.Connection,
    table: Table,
    names: Sequence[str],
    lost: Sequence[Native],
    last: Native | None,
) -> Iterator[Native | Unreadable]:
    """The rows from the end of the table to the damage, then what cannot be read. `lost` and `last` are the rows before
    the place where `unchecked` failed, and the key of the last one that could be read.
    """
    width, after = len(table.key), list[Native]()
    order = order_of(table, reverse=True)
    reading = _rows(checked, f"SELECT {', '.join(names)} FROM {table.name} ORDER BY {order}")
    end = lost[-1][:width] if lost else last
    with suppress(*DAMAGED, apsw.IOError, TypeError):
        for raw in _rows_unchecked(unchecked, table, names, order):
            if end is not None and not _is_after(table, raw[:width], end):
                break
            row = None if after else _next(reading)
            if row is None or row[:width] != raw[:width]:
                after.append(raw)
            else:
                yield row
    yield _unreadable(table, names, [*lost, *reversed(after)], complete=False)


def _rows_after(checked: apsw.Connection, select: str, table: Table, key: Native) -> Iterator[Native]:
    """The rows after a key, in the order of keys."""
    partition, clustering = key[: len(table.partition)], key[len(table.partition) :]
    if clustering:
        same = " AND ".join(f"{name} = ?" for name in table.partition)
        beyond = f"({', '.join(table.clustering)}) {'<' if table.order is Order.DESC else '>'} {_marks(clustering)}"
        yield from checked.execute(f"{select} WHERE {same} AND {beyond} ORDER BY {order_of(table)}", key)
    beyond = f"({', '.join(table.partition)}) > {_marks(partition)}"
    yield from checked.execute(f"{select} WHERE {beyond} ORDER BY {order_of(table)}", partition)


def _rows(connection: apsw.Connection, sql: str, values: Native = ()) -> Iterator[Native]:
    """The rows of a query, which begins with the first row that is taken."""
    yield from connection.execute(sql, values)


def _next(rows: Iterator[Native]) -> Native | None:
    """The next row. None if it cannot be read, and at the end."""
    try:
        return next(rows, None)
    except apsw.Error as error:
        if is_damage(error):
            return None
        raise


def _is_after(table: Table, key: Native, other: Native) -> bool:
    """Whether a key comes after another one in the table. Raises apsw.CorruptError for values of different types."""
    width = len(table.partition)
    try:
        if key[:width] != other[:width]:
            return key[:width] > other[:width]
        return key[width:] < other[width:] if table.order is Order.DESC else key[width:] > other[width:]
    except TypeError as error:
        raise apsw.CorruptError(f"keys of {table.name} have values of different types") from error


def _marks(values: Native) -> str:
    return f"({', '.join('?' * len(values))})"


def _unreadable(table: Table, names: Sequence[str], rows: Sequence[Native], *, complete: bool = True) -> Unreadable:
    return Unreadable(table, [dict(zip(names, row, strict=True)) for row in rows], complete)
