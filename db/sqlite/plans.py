"""SQL text and value conversion for one table of the SQLite store, rendered once and reused.

Invariants:
1. Names come from db/schema only. Values are always bound.
2. SQLite stores ids as bytes and the port uses hex, so reads convert HEX and BOOLEAN columns and nothing else.
3. Reads of a table with `expires` bind the current second after all other parameters except the limit.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import apsw

from db import schema
from db.lazy_rows import RowForm, compiled
from db.listing.conditions import COMPARE as COMPARISONS
from db.listing.conditions import columns_of
from db.model import Table, Type
from db.schema.dialects import EXPIRES_AT
from db.schema.protocols import LOOKUPS
from db.sqlite.message_parts import PLACE
from db.sqlite.stored_form import NUMBER, is_placed, packing_of, partitions_table, rows_table, stored_key
from db.statements import Shape, check_deleted, check_written, conditions, ordering, shape_of
from db.store import Bound, Condition, Key, Passed, Scan, Value, Where

Native: TypeAlias = Any
"""Values of apsw: bytes, str, int, None. Checked on input, by the column's type."""

Bind: TypeAlias = Callable[[Sequence[Value]], list[Native]]
"""Converts values of certain columns. Raises ValueError for an id that is not hex."""

CONVERSIONS = {Type.HEX: "{0}.hex()", Type.BOOLEAN: "{0} != 0"}
"""Expressions that convert a value for the port, by column type. Other types stay unchanged."""


KEPT = frozenset({*(lookup.hints for lookup in LOOKUPS), schema.ledger_frontier})
"""Tables whose rows are kept in memory for other requests. A listing reads a few of them before its own rows. None of
them expire.
"""


def row_form(table: Table, names: Sequence[str]) -> RowForm:
    """The form of native rows of these columns."""
    expressions = {}
    for column in map(table.column, names):
        value = column.name
        if column.type in CONVERSIONS:
            converted = CONVERSIONS[column.type].format(value)
            value = converted if column.name in table.key else f"None if {value} is None else {converted}"
        expressions[column.name] = value
    return RowForm(expressions)


class ReadPlan:
    """Read statements of one table; `form` converts their results."""

    def __init__(self, table: Table, columns: Sequence[str] | None = None) -> None:
        self.table = table
        names = table.names if columns is None else columns
        self.form = row_form(table, names)
        self._hex_names = frozenset(column.name for column in table.columns if column.type is Type.HEX)
        self.key = self._binder(table.key)
        self._names = tuple(names)
        self._select = f"SELECT {', '.join(names)} FROM {table.name} WHERE "
        self.expires = table.ttl_s is not None
        self.is_kept = table in KEPT
        self._alive = f" AND {EXPIRES_AT} > ?" if self.expires else ""
        self.get = self._select + " AND ".join(f"{name} = ?" for name in table.key) + self._alive
        self._slices: dict[Shape, tuple[str, Bind]] = {}
        self._scans: dict[tuple[str, tuple[tuple[tuple[str, str], ...], ...]], tuple[str, str]] = {}

    def slice(
        self, partition: Key, lower: Bound | None, upper: Bound | None, *, reverse: bool
    ) -> tuple[str, list[Native]]:
        """SQL and parameters of a slice, to which the caller adds the second, if rows expire, and the limit. Raises
        ValueError for an id that is not hex.
        """
        shape = shape_of(lower, upper, reverse=reverse)
        found = self._slices.get(shape)
        if found is None:
            clustering = self.table.clustering
            bind = self._binder((*self.table.partition, *clustering[: shape.lower], *clustering[: shape.upper]))
            found = self._slices[shape] = self._render(shape), bind
        sql, bind = found
        if lower is not None:
            partition += lower.values
        if upper is not None:
            partition += upper.values
        return sql, bind(partition)

    def scan(
        self,
        partition: Key,
        lower: Bound | None,
        upper: Bound | None,
        where: Where,
        *,
        reverse: bool,
        limit: int,
        now_s: int,
    ) -> "SqlScan":
        """A scan of the slice's rows."""
        sliced, parameters = self.slice(partition, lower, upper, reverse=reverse)
        if self.expires:
            parameters.append(now_s)
        tests = tuple([tuple([(each.column, each.relation) for each in test]) for test in where])
        sql = self._scans.get((sliced, tests))
        if sql is None:
            sql = self._scans[sliced, tests] = self._render_scan(shape_of(lower, upper, reverse=reverse), where)
        values = [self._value(each) for test in where for each in test if each.relation in COMPARISONS]
        return SqlScan(self, *sql, values, sliced, parameters, limit)

    def _binder(self, names: Sequence[str]) -> Bind:
        """The function from values of these columns to native values, compiled once."""
        texts = [
            f"bytes.fromhex(key[{at}])" if each in self._hex_names else f"key[{at}]" for at, each in enumerate(names)
        ]
        bind: Bind = compiled(f"lambda key: [{', '.join(texts)}]")
        return bind

    def _value(self, condition: Condition) -> Native:
        value = condition.value
        return bytes.fromhex(str(value)) if condition.column in self._hex_names else value

    def _render(self, shape: Shape) -> str:
        return self._select + self._rows_of(shape) + ordering(self.table, shape) + " LIMIT ?"

    def _render_scan(self, shape: Shape, where: Where) -> tuple[str, str]:
        """Renders `SqlScan.whole` and `SqlScan.cut`."""
        table, rows, order = self.table, self._rows_of(shape), ordering(self.table, shape)
        names, nulls = ", ".join(self._names), ", NULL" * (len(self._names) - 1)
        read = ", ".join(dict.fromkeys([*self._names, *(table.column(name).name for name in columns_of(where))]))
        tests = " AND ".join(f"({' OR '.join(map(_condition_sql, test))})" for test in where) or "TRUE"
        looked_at = f"SELECT 1 FROM {table.name} WHERE {rows} LIMIT ?"
        # With LIMIT -1, which means no limit, SQLite preserves the order of the subquery.
        met = f"SELECT {names} FROM {table.name} WHERE {rows} AND {tests}{order} LIMIT -1"
        sliced = f"SELECT {read} FROM {table.name} WHERE {rows}{order} LIMIT ?"
        whole = f"SELECT count(*){nulls} FROM ({looked_at}) UNION ALL SELECT * FROM ({met})"
        return whole, f"SELECT {names} FROM ({sliced}) WHERE {tests}"

    def _rows_of(self, shape: Shape) -> str:
        where = [*(f"{name} = ?" for name in self.table.partition), *conditions(self.table, shape)]
        return " AND ".join(where) + self._alive


class SqlScan(NamedTuple):
    """A scan, ready to run. `whole` returns the number of rows in the slice (binds `parameters` and limit), then the
    rows in and after it that satisfy the conditions (binds `parameters` again and `values`). That is the result if the
    limit cuts nothing off. `cut` returns the rows of the slice alone that satisfy the conditions, which takes longer
    per row; it binds `parameters`, limit and `values`.
    """

    plan: ReadPlan
    whole: str
    cut: str
    values: list[Native]
    sliced: str
    parameters: list[Native]
    limit: int

    def run(self, connection: apsw.Connection) -> Scan:
        """Runs the scan."""
        reading = connection.execute(self.whole, [*self.parameters, self.limit, *self.parameters, *self.values])
        examined: int = next(reading)[0]
        if examined < self.limit:
            rows = self.plan.form.rows(reading.fetchall())
            if rows or not examined:
                return Scan(rows, examined)
        return self._cut(connection)

    def _cut(self, connection: apsw.Connection) -> Scan:
        """The rows of the slice that satisfy the conditions, and its last row, whether or not it does."""
        slice_of = [*self.parameters, self.limit]
        # A transaction, because the last row is found by the number of rows before it.
        with connection:
            (examined,) = next(connection.execute(f"SELECT count(*) FROM ({self.sliced})", slice_of))
            rows = self.plan.form.rows(connection.execute(self.cut, [*slice_of, *self.values]).fetchall())
            if examined:
                skipping = connection.execute(f"{self.sliced} OFFSET ?", [*self.parameters, 1, examined - 1])
                (last,) = self.plan.form.rows(skipping.fetchall())
                if not rows or rows[-1] != last:
                    rows.append(Passed(last))
        return Scan(rows, examined)


def _condition_sql(condition: Condition) -> str:
    if condition.relation in COMPARISONS:
        return f"{condition.column} {condition.relation} ?"
    return f"{condition.column} IS {condition.relation.upper()}"


INTEGER_BYTES = {Type.BOOLEAN: 1, Type.TINYINT: 1, Type.SMALLINT: 2, Type.INT: 4, Type.BIGINT: 8, Type.TIMESTAMP: 8}


def size_sql(table: Table) -> str:
    """SELECT of the number of rows and the bytes of their values. Not every build of SQLite has a cheaper way."""
    fixed = sum(INTEGER_BYTES.get(column.type, 0) for column in table.columns)
    lengths = [f"ifnull(length({column.name}), 0)" for column in table.columns if column.type not in INTEGER_BYTES]
    total = " + ".join([str(fixed), *lengths])
    return f"SELECT count(*), ifnull(sum({total}), 0) FROM {table.name}"


def upsert_sql(table: Table, columns: Sequence[str], rows: int = 1) -> str:
    """INSERT of several rows that writes only the given columns. A row of a divided table binds the number of its
    partition first, and no column of the partition's key. After its values, a row with a place binds that, and each row
    of a table with a TTL the time at which it expires. Raises KeyError for an unknown or missing key column.
    """
    check_written(table, columns)
    names = [*columns]
    if partitions_table(table) is not None:
        names = [NUMBER, *(name for name in columns if name not in table.partition)]
    if is_placed(table, columns):
        names.append(PLACE)
    if table.ttl_s is not None:
        names.append(EXPIRES_AT)
    key = stored_key(table)
    rest = [f"{name} = excluded.{name}" for name in names if name not in key] + _decoded_values(table, names)
    action = f"UPDATE SET {', '.join(rest)}" if rest else "NOTHING"
    values = ", ".join(f"({', '.join(_stored_values(table, names, row))})" for row in range(rows))
    return (
        f"INSERT INTO {rows_table(table)} ({', '.join(names)}) VALUES {values} ON CONFLICT ({', '.join(key)}) "
        f"DO {action}"
    )


def _decoded_values(table: Table, names: Sequence[str]) -> list[str]:
    """Assignments of unwritten columns whose stored values depend on written ones: what they read as stays the same."""
    packing = packing_of(table)
    if packing is None:
        return []
    stored = {name: f"{rows_table(table)}.{name}" for name in table.names}
    return [
        f"{name} = {encoding.read.format_map(stored)}"
        for name, encoding in packing.encodings.items()
        if name not in names and any(each in names and each not in table.key for each in encoding.needs)
    ]


def _stored_values(table: Table, names: Sequence[str], row: int) -> list[str]:
    """The expressions of the values that row number `row` of an INSERT stores."""
    packing = packing_of(table)
    if packing is None or not packing.encodings:
        return ["?"] * len(names)
    bound = {name: f"?{row * len(names) + at}" for at, name in enumerate(names, 1)}
    return [
        packing.encodings[name].write.format_map(bound) if packing.is_encoded(name, names) else bound[name]
        for name in names
    ]


def delete_sql(table: Table, count: int) -> str:
    """DELETE under the first `count` key columns. A divided table binds the number of the partition instead of its key.

    Raises:
        ValueError: The columns do not cover the partition key.
    """
    check_deleted(table, count)
    key = table.key[:count]
    if partitions_table(table) is not None:
        key = (NUMBER, *key[len(table.partition) :])
    return f"DELETE FROM {rows_table(table)} WHERE " + " AND ".join(f"{name} = ?" for name in key)
