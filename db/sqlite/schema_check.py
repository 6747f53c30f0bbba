"""The tables of a generation: how they differ from the schema, and their sizes; the space that its files take.

Tables are read from sqlite_master, which keeps the text of each. Columns are compared by name. Sizes of tables are
computed by reading them.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from db.model import Table
from db.schema.dialects import create_table_sqlite
from db.sqlite.errors import translated
from db.sqlite.files import current_generation
from db.sqlite.plans import size_sql
from db.sqlite.readers import Readers
from db.store import DiskSpace, StoreUnavailable, TableSize


def list_tables(readers: Readers) -> frozenset[str]:
    """Names of the tables that exist."""
    with translated(readers.path):
        rows = readers.connection().execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return frozenset(str(name) for (name,) in rows)


def has_column(readers: Readers, table: str, column: str) -> bool:
    """Whether a table has this column."""
    with translated(readers.path):
        rows = readers.connection().execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return (column,) in rows


def find_drift(readers: Readers, tables: Sequence[Table]) -> list[str]:
    """How the generation differs from these tables, one sentence each."""
    with translated(readers.path):
        rows = readers.connection().execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    found = {str(name): str(sql) for name, sql in rows}
    wanted = {table.name: create_table_sqlite(table) for table in tables}
    missing = [f"table {name} is missing" for name in wanted if name not in found]
    changed = [f"table {name} differs" for name, sql in wanted.items() if _parts(found.get(name, sql)) != _parts(sql)]
    unknown = [f"table {name} is not in the schema" for name in sorted(found.keys() - wanted.keys())]
    return missing + changed + unknown


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
