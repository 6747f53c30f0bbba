"""The tables of a generation: how they differ from the schema, and their sizes; the space that its files take.

Tables are read from sqlite_master, which keeps the text of each. Columns are compared by name. Sizes of tables are
computed by reading them.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import apsw

from db.model import Table
from db.sqlite.errors import translated
from db.sqlite.files import current_generation
from db.sqlite.plans import size_sql
from db.sqlite.readers import Readers
from db.sqlite.stored_form import CREATE_NUMBERS, NUMBERS, create_statements, create_view, packed_statements
from db.store import DiskSpace, StoreUnavailable, TableSize


def list_tables(readers: Readers) -> frozenset[str]:
    """Names of the tables that exist, in whatever form. Tables that only store parts of others are also listed."""
    with translated(readers.path):
        rows = readers.connection().execute("SELECT name FROM sqlite_master").fetchall()
    return frozenset(str(name) for (name,) in rows)


def has_column(readers: Readers, table: str, column: str) -> bool:
    """Whether a table has this column."""
    with translated(readers.path):
        rows = readers.connection().execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return (column,) in rows


def find_drift(readers: Readers, tables: Sequence[Table]) -> list[str]:
    """How the generation differs from these tables, one sentence each."""
    with translated(readers.path):
        connection = readers.connection()
        found = {str(name): str(sql) for name, sql in connection.execute("SELECT name, sql FROM sqlite_master")}
        missing, changed, known = [], [], {NUMBERS}
        for table in tables:
            wanted = create_statements(table)
            known |= wanted.keys()
            if not found.keys() >= wanted.keys():
                missing.append(f"table {table.name} is missing")
            elif any(_differs(connection, table, found[name], sql) for name, sql in wanted.items()):
                changed.append(f"table {table.name} differs")
    unknown = [f"table {name} is not in the schema" for name in sorted(found.keys() - known)]
    return missing + changed + unknown


def _differs(connection: apsw.Connection, table: Table, found: str, wanted: str) -> bool:
    """Whether the statement of a stored table or view differs by more than the order of its columns."""
    if found == wanted:
        return False
    if wanted.startswith("CREATE VIEW"):
        columns = _columns(connection, table.name)
        return {*columns} != {*table.names} or found != create_view(table, columns)
    return _parts(found) != _parts(wanted)


def _parts(sql: str) -> tuple[str, frozenset[str], str]:
    """A CREATE TABLE statement as what precedes its columns, its columns and key in any order, and what follows them.

    ALTER TABLE adds columns after those that exist, which need not be where the schema declares them.
    """
    head, _, rest = sql.partition("(")
    body, _, tail = rest.rpartition(")")
    definitions = re.split(r",(?![^(]*\))", body)
    return _plain(head), frozenset(map(_plain, definitions)), _plain(tail)


def _plain(text: str) -> str:
    """Text with single spaces."""
    return " ".join(text.split())


def run_statement(connection: apsw.Connection, statement: str, tables: Sequence[Table], *, is_packed: bool) -> None:
    """Runs a statement of a migration. `is_packed`: whether the generation has the current form."""
    if not is_packed:
        connection.execute(statement)
        return
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (NUMBERS,)).get is None:
        connection.execute(CREATE_NUMBERS)
    for each in packed_statements(statement, tables, lambda name: _columns(connection, name)):
        connection.execute(each)


def _columns(connection: apsw.Connection, name: str) -> list[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
    return [str(column) for (column,) in rows]


def measure(readers: Readers, tables: Sequence[Table]) -> list[TableSize]:
    """Rows and bytes of each of these tables."""
    with translated(readers.path):
        connection = readers.connection()
        return [TableSize(table.name, *next(connection.execute(size_sql(table)))) for table in tables]


def disk_space(directory: Path) -> DiskSpace:
    """Bytes of the served generation and its log, and those free on its file system. Raises StoreUnavailable if
    they cannot be read.
    """
    try:
        files = [directory / f"{current_generation(directory)}{suffix}" for suffix in ("", "-wal")]
        used = sum(path.stat().st_size for path in files if path.exists())
        return DiskSpace(used, shutil.disk_usage(directory).free)
    except OSError as error:
        raise StoreUnavailable(f"{error.strerror}: {directory}") from error
