"""Compares the rows of a table with those that its query recomputes.

Both sides are first summed: the number of rows and the sum of a 64-bit hash over all columns, by a hash of the key.
Where these sums differ, rows are compared one by one, by key. Sums do not depend on the order of rows, so nothing is
sorted, and a table without faults is read once.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any

from db.model import Column, Table, Type
from etl.deep_check.engine import Database
from etl.deep_check.queries import NORMALISED, OPTIONAL
from etl.deep_check.rows import SQL_TYPES, StoredRows, read_batches, sql_value

PARTS = 256
"""Parts of a table by the hash of the key."""

MOST_NAMED = 100
"""Faults of a table that are named one by one."""

MOST_SHOWN = 80
"""Characters of a value in a fault."""

WRONG, MISSING, EXTRA = "wrong", "missing", "extra"


@dataclass(frozen=True)
class Fault:
    """One row that differs.

    Attributes:
        table: its table.
        kind: wrong, missing or extra.
        key: its key by column. Ids are hexadecimal.
        columns: of a wrong row, each differing column with the expected value and the one that was found.
        milestone_index: the milestone of the row, if it has one.
    """

    table: str
    kind: str
    key: dict[str, Any]
    columns: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    milestone_index: int | None = None


@dataclass
class Compared:
    """What the comparison of a table found. `faults` has at most MOST_NAMED rows; `differing` counts all of them."""

    table: str
    rows: int = 0
    differing: int = 0
    faults: list[Fault] = field(default_factory=list)


def compare_table(
    database: Database,
    store: StoredRows,
    table: Table,
    offered: Set[str],
    read: Callable[[int], None] = lambda _: None,
    *,
    where: str = "true",
    is_repeated: bool = False,
    most: int = MOST_NAMED,
) -> Compared:
    """Compares all rows of a table. `offered`: the columns of its query. `where` selects rows of the store. `read`
    receives the number of rows read so far. `is_repeated`: keeps only the differences that the last comparison found,
    too, with the same values. `most`: the number of faults that are named.
    """
    view = f"expected_{table.name}"
    absent = set(table.names) - offered
    if absent:
        raise ValueError(f"{view} has no column {', '.join(sorted(absent))}")
    expected = f"SELECT {', '.join(_expected(table, each) for each in table.columns)}"
    expected += f", {OPTIONAL if OPTIONAL in offered else 'false'} AS {OPTIONAL} FROM {view}"
    values = ", ".join(_found(store, table, each) for each in table.columns)
    found = f"SELECT * FROM (SELECT {values} FROM batches) WHERE {where}"
    recomputed = _sums(database, table, f"({expected})")
    with database.reading(read_batches(store, table, table.names, read)):
        stored = _sums(database, table, f"({found})")
    result = Compared(table.name, sum(count for count, _ in stored.values()))
    parts = sorted(part for part in {*recomputed, *stored} if recomputed.get(part) != stored.get(part))
    if parts:
        chosen = f"WHERE {_part(table)} IN ({', '.join(map(str, parts))})"
        database.run(f"CREATE OR REPLACE TEMP TABLE recomputed AS SELECT * FROM ({expected}) {chosen}")
        with database.reading(read_batches(store, table, table.names, read)):
            database.run(f"CREATE OR REPLACE TEMP TABLE stored AS SELECT * FROM ({found}) {chosen}")
        _name_faults(database, table, result, most, is_repeated=is_repeated)
        database.run("DROP TABLE recomputed")
        database.run("DROP TABLE stored")
    return result


def _sums(database: Database, table: Table, rows: str) -> dict[int, tuple[int, int]]:
    """Part → number of rows and sum of their hashes."""
    columns = ", ".join(f'"{name}"' for name in table.names)
    found = database.run(
        f"SELECT {_part(table)} AS part, count(*), sum(CAST(hash({columns}) AS HUGEINT)) FROM {rows} GROUP BY 1"
    )
    return {part: (count, total) for part, count, total in found}


def _hash(table: Table, rows: str) -> str:
    """The hash of a row of `rows`. That of a missing row is the hash of nulls."""
    columns = ", ".join(f'{rows}."{name}"' for name in table.names)
    return f"hash({columns})"


def _part(table: Table) -> str:
    key = ", ".join(f'"{name}"' for name in table.key)
    return f"hash({key}) % {PARTS}"


def _name_faults(database: Database, table: Table, result: Compared, most: int, *, is_repeated: bool) -> None:
    """Adds the differences between the tables `recomputed` and `stored`, and keeps them as table differing_NAME."""
    on = " AND ".join(f'recomputed."{name}" = stored."{name}"' for name in table.key)
    first = table.key[0]
    others = [name for name in table.names if name not in table.key]
    differs = " OR ".join(f'recomputed."{name}" IS DISTINCT FROM stored."{name}"' for name in others) or "false"
    joined = (
        f'FROM recomputed FULL JOIN stored ON {on} WHERE (recomputed."{first}" IS NULL '
        f'OR (stored."{first}" IS NULL AND NOT recomputed.{OPTIONAL}) '
        f'OR (recomputed."{first}" IS NOT NULL AND stored."{first}" IS NOT NULL AND ({differs})))'
    )
    expected, found = (_hash(table, side) for side in ("recomputed", "stored"))
    kept = f"differing_{table.name}"
    if is_repeated:
        joined += f" AND (({expected}, {found}) IN (SELECT (expected, found) FROM {kept}))"
    else:
        database.run(f"CREATE OR REPLACE TABLE {kept} AS SELECT {expected} AS expected, {found} AS found {joined}")
    [(result.differing,)] = database.run(f"SELECT count(*) {joined}")
    names = ", ".join(f'recomputed."{name}", stored."{name}"' for name in table.names)
    order = ", ".join(f'coalesce(recomputed."{name}", stored."{name}")' for name in table.key)
    for values in database.run(f"SELECT {names} {joined} ORDER BY {order} LIMIT {most}"):
        pairs = dict(zip(table.names, zip(values[::2], values[1::2], strict=True), strict=True))
        result.faults.append(_fault(table, pairs))
    if not result.differing and not is_repeated and _has_repeated_keys(database, table):
        raise ValueError(f"the query of {table.name} has several rows with the same key")


def _has_repeated_keys(database: Database, table: Table) -> bool:
    key = ", ".join(f'"{name}"' for name in table.key)
    query = f"SELECT 1 FROM recomputed GROUP BY {key} HAVING count(*) > 1 LIMIT 1"
    return bool(database.run(query))


def _fault(table: Table, pairs: dict[str, tuple[Any, Any]]) -> Fault:
    recomputed, stored = pairs[table.key[0]]
    kind = EXTRA if recomputed is None else MISSING if stored is None else WRONG
    key = {name: shown(pairs[name][0] if stored is None else pairs[name][1]) for name in table.key}
    columns = {}
    if kind == WRONG:
        columns = {name: (shown(one), shown(other)) for name, (one, other) in pairs.items() if one != other}
    milestone = next((pairs[name] for name in ("milestone_index", "ledger_index") if name in pairs), (None, None))
    index = milestone[0] if milestone[0] is not None else milestone[1]
    return Fault(table.name, kind, key, columns, index)


def shown(value: Any) -> Any:
    """A value for people and JSON: bytes as hexadecimal digits, long ones cut."""
    if isinstance(value, bytes):
        value = value.hex()
    elif value is not None and not isinstance(value, bool | int | str):
        value = str(value)
    if isinstance(value, str) and len(value) > MOST_SHOWN:
        return f"{value[:MOST_SHOWN]}… ({len(value)} characters)"
    return value


def _expected(table: Table, column: Column) -> str:
    return f'{_normalised(table, column, _cast(column))} AS "{column.name}"'


def _cast(column: Column) -> str:
    return f'CAST("{column.name}" AS {SQL_TYPES[column.type]})'


def _found(store: StoredRows, table: Table, column: Column) -> str:
    return f'{_normalised(table, column, sql_value(store, column))} AS "{column.name}"'


def _normalised(table: Table, column: Column, value: str) -> str:
    is_json = column.type is Type.TEXT and (table.name, column.name) in NORMALISED
    return f"replace({value}, ' ', '')" if is_json else value
