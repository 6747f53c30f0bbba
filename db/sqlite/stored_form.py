"""How the tables of a generation are stored: as declared, or packed into smaller tables behind a view of that name.

Invariants:
1. A view has the name and the columns of its table, so every SELECT of a table also reads a packed one.
2. A packed table is written and deleted through its stored tables only (`db/sqlite/batch.py`).
3. A value that a column does not repeat is stored as the integer 0, which no value of that column is.
4. FORM grows with each change of what is stored. A generation records its form in its header.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from db import schema
from db.model import Order, Table
from db.schema.dialects import create_table_sqlite, sqlite_type
from db.schema.migration_files import ADDED
from db.sqlite.message_parts import PLACE, READ

FORM = 1
"""The form that this version writes: PRAGMA user_version of a generation. 0: every table as declared."""

FORM_OFFSET = 60
"""Where the header of a database has its user_version: 4 bytes, big-endian."""

NUMBER = "partition_number"
NUMBERS = "partition_numbers"
CREATE_NUMBERS = f"""CREATE TABLE {NUMBERS} (
  name TEXT NOT NULL,
  next INTEGER NOT NULL,
  PRIMARY KEY (name)
) WITHOUT ROWID"""
"""The next partition number of each table. A number is never used again, so rows cannot join another partition."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """SQL expressions of a column. `{name}` is the stored value of a column in `read`, and the value to store in
    `write`. `needs` are columns without which the value is stored unchanged. `tables` are those that are read.
    """

    read: str
    write: str
    needs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def _repeated(column: str, other: str, start: int, length: int) -> dict[str, Encoding]:
    """A column that often equals these bytes of another one. `start`: from 1."""
    part = f"substr({{{other}}}, {start}, {length})"
    return {
        column: Encoding(
            f"CASE {{{column}}} WHEN 0 THEN {part} ELSE {{{column}}} END",
            f"CASE {{{column}}} WHEN {part} THEN 0 ELSE {{{column}}} END",
            (other,),
        )
    }


def _one_of(column: str, *values: str) -> dict[str, Encoding]:
    """A text that is one of a few, stored as its position."""
    numbered = [(number, f"'{value}'") for number, value in enumerate(values)]
    read = " ".join(f"WHEN {number} THEN {value}" for number, value in numbered)
    write = " ".join(f"WHEN {value} THEN {number}" for number, value in numbered)
    stored = f"{{{column}}}"
    return {column: Encoding(f"CASE {stored} {read} ELSE {stored} END", f"CASE {stored} {write} ELSE {stored} END")}


SECONDS = {
    "ms_timestamp": Encoding(
        "CASE typeof({ms_timestamp}) WHEN 'integer' THEN {ms_timestamp} * 1000 "
        "ELSE CAST({ms_timestamp} AS INTEGER) END",
        "CASE {ms_timestamp} % 1000 WHEN 0 THEN {ms_timestamp} / 1000 ELSE CAST({ms_timestamp} AS TEXT) END",
    )
}
"""Whole seconds take less space. Other times are stored as text."""


@dataclass(frozen=True)
class Packing:
    """How a table is packed.

    Attributes:
        divided: whether rows have the number of their partition instead of its key. A dictionary has the key of each.
        encodings: expressions of columns after the key, by name.
        is_placed: whether rows have the place of their data in a message (db/sqlite/message_parts.py).
    """

    divided: bool = False
    encodings: Mapping[str, Encoding] = field(default_factory=dict)
    is_placed: bool = False

    def is_encoded(self, name: str, written: Collection[str]) -> bool:
        """Whether a row of these columns stores this one of them in another form."""
        return name in self.encodings and set(self.encodings[name].needs) <= set(written)


DIVIDED = Packing(divided=True)
TIMED = Packing(divided=True, encodings=SECONDS)
_OF_OUTPUT = _repeated("transaction_id", "output_id", 1, 32)

PACKINGS: Mapping[str, Packing] = {
    schema.parents.name: TIMED,
    schema.tags.name: TIMED,
    schema.transactions.name: Packing(
        divided=True, is_placed=True, encodings={"data": Encoding(READ, "{data}", tables=(schema.messages,))}
    ),
    schema.outputs.name: Packing(
        encodings={
            **_one_of("output_kind", "legacy", "basic", "alias", "foundry", "nft"),
            # A Chrysalis output is its type, its address and its amount.
            **_repeated("address", "data", 2, 33),
        }
    ),
    schema.outputs_by_address.name: TIMED,
    schema.outputs_by_tag.name: TIMED,
    schema.alias_outputs.name: TIMED,
    schema.nft_outputs.name: TIMED,
    schema.foundry_outputs.name: TIMED,
    schema.transactions_by_address.name: Packing(
        divided=True, encodings={**SECONDS, **_one_of("direction", "received", "sent", "both", "migrated")}
    ),
    schema.address_balances.name: DIVIDED,
    schema.ledger_updates_by_address.name: Packing(divided=True, encodings={**SECONDS, **_OF_OUTPUT}),
    schema.native_token_updates.name: Packing(divided=True, encodings={**SECONDS, **_OF_OUTPUT}),
    schema.address_movements.name: Packing(
        divided=True, encodings={**SECONDS, **_one_of("kind", "genesis", "migration", "transaction")}
    ),
    schema.unspent_outputs.name: TIMED,
    schema.address_analytics.name: TIMED,
}
"""Tables with long partition keys and several rows in most partitions, and those with repeated values."""


def packing_of(table: Table) -> Packing | None:
    """How a table is packed. None: stored as declared."""
    return PACKINGS.get(table.name)


def rows_table(table: Table) -> str:
    """The name of the stored table of a table's rows."""
    return table.name if packing_of(table) is None else f"{table.name}_rows"


def partitions_table(table: Table) -> str | None:
    """The name of the stored dictionary of a table's partitions. None if its rows contain their key."""
    packing = packing_of(table)
    return f"{table.name}_partitions" if packing is not None and packing.divided else None


def stored_tables(table: Table) -> tuple[str, ...]:
    """The names of all stored tables of a table."""
    partitions = partitions_table(table)
    return (rows_table(table),) if partitions is None else (rows_table(table), partitions)


def read_tables(table: Table) -> set[str]:
    """The names of all stored tables that a SELECT of a table may read, in any form of a generation."""
    packing, found = packing_of(table), {table.name, *stored_tables(table)}
    for encoding in () if packing is None else packing.encodings.values():
        found.update(*map(read_tables, encoding.tables))
    return found


def is_placed(table: Table, columns: Collection[str]) -> bool:
    """Whether rows of these columns are stored with the place of their data in a message."""
    packing = packing_of(table)
    return packing is not None and packing.is_placed and "data" in columns


def stored_key(table: Table) -> tuple[str, ...]:
    """The primary key of the stored rows."""
    return table.key if partitions_table(table) is None else (NUMBER, *table.clustering)


@cache
def create_statements(table: Table) -> Mapping[str, str]:
    """CREATE statements of a table by the name that each creates."""
    packing = packing_of(table)
    if packing is None:
        return {table.name: create_table_sqlite(table)}
    found, rows, partitions = {}, rows_table(table), partitions_table(table)
    if partitions is not None:
        columns = [f"  {name} {sqlite_type(table.column(name).type)} NOT NULL" for name in table.partition]
        found[partitions] = _create(partitions, [*columns, f"  {NUMBER} INTEGER NOT NULL"], table.partition)
    columns = [f"  {NUMBER} INTEGER NOT NULL"] if packing.divided else []
    for column in table.columns:
        if packing.divided and column.name in table.partition:
            continue
        # Without a type, SQLite keeps the integer that stands for a text.
        kind = "BLOB" if column.name in packing.encodings else sqlite_type(column.type)
        columns.append(f"  {column.name} {kind}{' NOT NULL' if column.name in table.key else ''}")
    if packing.is_placed:
        columns.append(f"  {PLACE} INTEGER")
    falls = " DESC" if table.order is Order.DESC else ""
    key = [name + (falls if name in table.clustering else "") for name in stored_key(table)]
    found[rows] = _create(rows, columns, key)
    found[table.name] = create_view(table, table.names)
    return found


def create_view(table: Table, names: Sequence[str]) -> str:
    """CREATE VIEW of a packed table with these columns."""
    packing, partitions = PACKINGS[table.name], partitions_table(table)
    columns = []
    for name in names:
        if partitions is not None and name in table.partition:
            columns.append(f"  part.{name} AS {name}")
            continue
        stored = {each: f"stored.{each}" for each in (*names, PLACE)}
        encoding = packing.encodings.get(name)
        columns.append(f"  {stored[name] if encoding is None else encoding.read.format_map(stored)} AS {name}")
    source = f"{rows_table(table)} AS stored"
    if partitions is not None:
        source = f"{partitions} AS part JOIN {source} ON stored.{NUMBER} = part.{NUMBER}"
    return f"CREATE VIEW {table.name} AS SELECT\n" + ",\n".join(columns) + f"\nFROM {source}"


def _create(name: str, columns: Sequence[str], key: Sequence[str]) -> str:
    body = ",\n".join([*columns, f"  PRIMARY KEY ({', '.join(key)})"])
    return f"CREATE TABLE {name} (\n{body}\n) WITHOUT ROWID"


CREATED = re.compile(r"CREATE TABLE IF NOT EXISTS (?P<table>\w+) \(")
COLUMN = re.compile(r"^  (?P<name>[a-z]\w*) (?:BLOB|INTEGER|TEXT)\b", re.MULTILINE)


def packed_statements(statement: str, tables: Iterable[Table], columns_of: Callable[[str], Sequence[str]]) -> list[str]:
    """What a statement of a migration does to a generation of this form. `columns_of` returns the columns that a table
    has, none if it does not exist.
    """
    found = CREATED.match(statement) or ADDED.match(statement)
    table = next((each for each in tables if found is not None and each.name == found["table"]), None)
    if found is None or table is None or packing_of(table) is None:
        return [statement]
    if found.re is ADDED:
        added = re.sub(rf"\b{table.name}\b", rows_table(table), statement, count=1)
        return [added, f"DROP VIEW {table.name}", create_view(table, [*columns_of(table.name), found["column"]])]
    if columns_of(table.name):
        return []
    named = {each["name"] for each in COLUMN.finditer(statement)}
    declared = replace(table, columns=tuple(each for each in table.columns if each.name in named))
    return list(create_statements(declared).values())


def form_of(file: Path) -> int:
    """The form of a generation, as FORM counts them."""
    with file.open("rb") as source:
        source.seek(FORM_OFFSET)
        return int.from_bytes(source.read(4), "big")
