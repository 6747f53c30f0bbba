"""The numbers that the rows of a divided table have instead of the key of their partition."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any, TypeAlias

import apsw

from db.model import Table
from db.sqlite.stored_form import NUMBER, NUMBERS, partitions_table
from db.store import Value

NUMBERS_AT_ONCE = 1_000
"""Numbers that are taken from the store at once. Those that are left over at the end of a batch remain unused."""

PARTITIONS_KEPT = 4_096
"""Partitions of a table whose numbers are kept in memory. Sorted rows need few at a time."""

INSERTED_AT_ONCE = 16
"""Partitions per statement."""

Key: TypeAlias = tuple[Any, ...]
"""The key of a partition in native values: bytes, texts and integers, which Python and SQLite sort alike."""


class PartitionNumbers:
    """Finds and assigns the numbers of partitions in one open transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[str, dict[Key, int]] = {}
        self._free: dict[str, Iterator[int]] = {}
        self._greatest: dict[str, Key | None] = {}
        self._new: dict[str, list[Key]] = {}

    def find(self, table: Table, partition: Sequence[Value]) -> int | None:
        """The number of a partition; None if it has none."""
        same = " AND ".join(f"{name} = ?" for name in table.partition)
        sql = f"SELECT {NUMBER} FROM {partitions_table(table)} WHERE {same}"
        number: int | None = self._connection.execute(sql, tuple(partition)).get
        return number

    def number(self, table: Table, columns: Sequence[str], values: Sequence[Sequence[Value]]) -> list[Sequence[Value]]:
        """Some rows as they are stored, by column: the numbers of their partitions, then the columns that are not part
        of the partition's key, in their order. `values` may have further columns at the end, which stay there.
        """
        known = self._known.setdefault(table.name, {})
        numbers = list[Value]()
        for key, same in groupby(zip(*(values[columns.index(name)] for name in table.partition), strict=True)):
            number = known.get(key) or self._number(table, key)
            numbers += [number] * len(list(same))
        self._insert_new(table)
        rest = [at for at in range(len(values)) if at >= len(columns) or columns[at] not in table.partition]
        return [numbers, *(values[at] for at in rest)]

    def remove(self, table: Table, partition: Sequence[Value]) -> None:
        """Removes a partition without rows."""
        self._forget(table)
        same = " AND ".join(f"{name} = ?" for name in table.partition)
        self._connection.execute(f"DELETE FROM {partitions_table(table)} WHERE {same}", tuple(partition))

    def clear(self, table: Table) -> None:
        """Removes all partitions of a table without rows."""
        self._forget(table)
        self._connection.execute(f"DELETE FROM {partitions_table(table)}")

    def _forget(self, table: Table) -> None:
        self._known.pop(table.name, None)
        self._greatest.pop(table.name, None)

    def _number(self, table: Table, key: Key) -> int:
        """The number of a partition that is not known. If it has none, it gets the next one."""
        if table.name not in self._greatest:
            self._greatest[table.name] = self._find_greatest(table)
        # Rows come sorted, so most partitions of a load are after all that exist: those need no search.
        greatest, known, number = self._greatest[table.name], self._known[table.name], None
        is_last = greatest is None or key > greatest
        if not is_last:
            self._insert_new(table)
            number = self.find(table, key)
        if number is None:
            number = self._take(table)
            self._new.setdefault(table.name, []).append((*key, number))
            if is_last:
                self._greatest[table.name] = key
        if len(known) >= PARTITIONS_KEPT:
            known.clear()
            self._insert_new(table)
        known[key] = number
        return number

    def _find_greatest(self, table: Table) -> Key | None:
        """The greatest key of the dictionary."""
        names = ", ".join(table.partition)
        falling = ", ".join(f"{name} DESC" for name in table.partition)
        sql = f"SELECT {names} FROM {partitions_table(table)} ORDER BY {falling} LIMIT 1"
        return self._connection.execute(sql).fetchone()

    def _insert_new(self, table: Table) -> None:
        """Inserts the partitions that got a number."""
        rows = self._new.pop(table.name, [])
        one = f"({', '.join('?' * (len(table.partition) + 1))})"
        insert = f"INSERT INTO {partitions_table(table)} ({', '.join(table.partition)}, {NUMBER}) VALUES "
        whole = len(rows) - len(rows) % INSERTED_AT_ONCE
        sets = (chain.from_iterable(rows[at : at + INSERTED_AT_ONCE]) for at in range(0, whole, INSERTED_AT_ONCE))
        self._connection.executemany(insert + ", ".join([one] * INSERTED_AT_ONCE), map(tuple, sets))
        self._connection.executemany(insert + one, rows[whole:])

    def _take(self, table: Table) -> int:
        """A number that no partition has or had."""
        number = next(self._free.get(table.name, iter(())), None)
        if number is None:
            sql = f"SELECT next FROM {NUMBERS} WHERE name = ?"
            number = int(self._connection.execute(sql, (table.name,)).get or 1)
            after = number + NUMBERS_AT_ONCE
            self._connection.execute(f"INSERT OR REPLACE INTO {NUMBERS} VALUES (?, ?)", (table.name, after))
            self._free[table.name] = iter(range(number + 1, after))
        return number
