"""Faults for stores: a row that is changed, moved, copied under another key or dropped, and what must be reported."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from db.model import Table, Type
from db.store import Row
from etl.deep_check.compare import EXTRA, MISSING, WRONG, Compared, shown
from etl.deep_check.queries import COLUMNS_NOT_COMPARED, NORMALISED
from tests.etl.deep_check.exempt import may_be_missing, no_effect

SEED = 28

CHANGED, MOVED, COPIED, DROPPED = "changed", "moved", "copied", "dropped"


@dataclass(frozen=True)
class Injected:
    """A fault: the row before and after it. `column`: the one with another value; None: the row was dropped."""

    table: Table
    kind: str
    before: Row
    after: Row
    column: str | None = None

    def __str__(self) -> str:
        values = "" if self.column is None else f" {self.before[self.column]!r} -> {self.after[self.column]!r}"
        return f"{self.table.name}.{self.column} {self.kind}{values}"

    @property
    def removed(self) -> bool:
        """Whether the row before is no longer there."""
        return self.kind in (MOVED, DROPPED)

    @property
    def added(self) -> bool:
        """Whether there is a new row."""
        return self.kind in (MOVED, COPIED)

    def is_named(self, found: Compared) -> bool:
        """Whether exactly this fault was found."""
        reported = [(fault.kind, fault.key, fault.columns) for fault in found.faults]
        wanted: list[tuple[str, dict[str, Any], dict[str, tuple[Any, Any]]]] = []
        if self.kind == CHANGED:
            assert self.column is not None
            values = (self._shown(self.before)[self.column], self._shown(self.after)[self.column])
            wanted = [(WRONG, self._key(self.before), {self.column: values})]
        if self.removed:
            wanted.append((MISSING, self._key(self.before), {}))
        if self.added:
            wanted.append((EXTRA, self._key(self.after), {}))
        return found.differing == len(wanted) and all(each in reported for each in wanted)

    def _key(self, row: Row) -> dict[str, Any]:
        values = self._shown(row)
        return {name: values[name] for name in self.table.key}

    def _shown(self, row: Row) -> dict[str, Any]:
        return {name: shown(self._compact(name, row[name])) for name in self.table.names}

    def _compact(self, name: str, value: Any) -> Any:
        is_json = (self.table.name, name) in NORMALISED and isinstance(value, str)
        return value.replace(" ", "") if is_json else value


def every_fault(tables: dict[Table, list[Row]], rng: random.Random) -> Iterator[Injected]:
    """One fault of each kind for each table and each column, each time in other rows, without end."""
    while True:
        found = [each for table, rows in tables.items() if rows for each in _of_table(table, rows, rng)]
        rng.shuffle(found)
        yield from found


def _of_table(table: Table, rows: Sequence[Row], rng: random.Random) -> Iterator[Injected]:
    keys = {_key_of(table, row) for row in rows}
    held = [row for row in rows if not may_be_missing(table, row, rows)]
    if not held:
        return
    row = rng.choice(held)
    yield Injected(table, DROPPED, row, row)
    for column in table.columns:
        if (table.name, column.name) in COLUMNS_NOT_COMPARED:
            continue
        row = rng.choice(held)
        if no_effect(table, column.name, row):
            continue
        after = dict(row) | {column.name: _other(column.type, row[column.name], rng)}
        if column.name not in table.key:
            yield Injected(table, CHANGED, row, after, column.name)
            if row[column.name] is not None:
                yield Injected(table, CHANGED, row, dict(row) | {column.name: None}, column.name)
        elif _key_of(table, after) not in keys:
            yield Injected(table, MOVED, row, after, column.name)
            if not may_be_missing(table, after, rows):
                yield Injected(table, COPIED, row, after, column.name)


def _key_of(table: Table, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in table.key)


def _other(kind: Type, value: Any, rng: random.Random) -> Any:
    """Another value: one bit flipped, a number off by one, a flag inverted, a text one letter longer."""
    if value is None:
        return _SOME.get(kind, 7)
    if kind is Type.BOOLEAN:
        return not value
    if kind in (Type.HEX, Type.BLOB):
        data = bytearray.fromhex(value) if kind is Type.HEX else bytearray(value)
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        else:
            data += b"\xab"
        return data.hex() if kind is Type.HEX else bytes(data)
    if kind is Type.DATE:
        return "2020-01-01"
    if kind is Type.TEXT:
        return f"{value}x" if value[:1] not in ("[", "{") else "[[3, 4]]" if value != "[[3, 4]]" else "[[3, 5]]"
    return value + rng.choice((1, -1))


_SOME = {
    Type.HEX: "ab",
    Type.TEXT: "x",
    Type.BLOB: b"x",
    Type.BOOLEAN: True,
    Type.DATE: "2020-01-01",
}


def native(table: Table, row: Row) -> tuple[Any, ...]:
    """A row for a batch."""
    return tuple(
        bytes.fromhex(row[each.name]) if each.type is Type.HEX and row[each.name] is not None else row[each.name]
        for each in table.columns
    )


def native_key(table: Table, row: Row) -> tuple[Any, ...]:
    """The key of a row for a batch."""
    values = dict(zip(table.names, native(table, row), strict=True))
    return tuple(values[name] for name in table.key)
