"""What tables a generation has, how they differ from the schema, and how large they are.

Rules of this file: read from sqlite_master, which keeps each table as it was written; sizes by walking the tables.
"""

from collections.abc import Sequence

from db.model import Table
from db.schema.dialects import create_table_sqlite
from db.sqlite.errors import translated
from db.sqlite.plans import size_sql
from db.sqlite.readers import Readers
from db.store import TableSize


def list_tables(readers: Readers) -> frozenset[str]:
    """Names of the tables that exist."""
    with translated():
        rows = readers.connection().execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return frozenset(str(name) for (name,) in rows)


def has_column(readers: Readers, table: str, column: str) -> bool:
    """Whether a table has that column."""
    with translated():
        rows = readers.connection().execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return (column,) in rows


def find_drift(readers: Readers, tables: Sequence[Table]) -> list[str]:
    """How the generation differs from these tables, one sentence each."""
    with translated():
        rows = readers.connection().execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    found = {str(name): str(sql) for name, sql in rows}
    wanted = {table.name: create_table_sqlite(table) for table in tables}
    missing = [f"table {name} is missing" for name in wanted if name not in found]
    # A column that was added stands on the line of the one before it.
    changed = [f"table {name} differs" for name, sql in wanted.items() if found.get(name, sql).split() != sql.split()]
    unknown = [f"table {name} is not in the schema" for name in sorted(found.keys() - wanted.keys())]
    return missing + changed + unknown


def measure(readers: Readers, tables: Sequence[Table]) -> list[TableSize]:
    """Rows and bytes of each of these tables."""
    with translated():
        connection = readers.connection()
        return [TableSize(table.name, *next(connection.execute(size_sql(table)))) for table in tables]
