"""DuckDB over the files of a lake. Memory is bounded: what does not fit is written to temporary files."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from etl.deep_check.functions import Function
from etl.deep_check.queries import statements
from etl.engine.columns import schema_of
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_state import paths_of
from etl.lake.delta import TABLES
from etl.lake.paths import lake_root
from etl.lake.views import in_duckdb

Files: TypeAlias = Mapping[str, Sequence[str]]
"""Table of the lake → its files."""


class Database:
    """A database of DuckDB for what queries share. Close it after use.

    Args:
        file: its file, or `:memory:`.
        memory: the most memory, such as `2GB`.
        threads: the number of threads.
        folder: where temporary files are written.
    """

    def __init__(self, file: str, memory: str, threads: int, folder: str) -> None:
        config: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": memory,
            "threads": threads,
            "temp_directory": folder,
            "preserve_insertion_order": False,
        }
        self._connection = duckdb.connect(file, config=config)
        self._functions = set[str]()
        self.run("SET TimeZone = 'UTC'")
        # Otherwise each plan reads the footers of all files again. Files of a lake never change. Footers count as
        # memory, and are dropped if there are too many.
        self.run("SET parquet_metadata_cache = true")

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs a statement to its end and returns its rows."""
        return self._connection.execute(sql, [*values]).fetchall()

    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each table and view. Unlike DESCRIBE, this plans no query of a view again."""
        found = self.run("SELECT table_name, list(column_name) FROM duckdb_columns() GROUP BY 1")
        return {name: frozenset(columns) for name, columns in found}

    @contextmanager
    def reading(self, batches: pa.RecordBatchReader) -> Iterator[None]:
        """Batches, as the table `batches` of one statement."""
        self._connection.register("batches", batches)
        try:
            yield
        finally:
            self._connection.unregister("batches")

    def define_function(self, name: str, function: Function) -> None:
        """Defines or replaces a function. It is called with columns that may contain nulls."""

        def called(*columns: pa.ChunkedArray) -> pa.Array:
            return function(*columns)

        # DuckDB reads the number of parameters from the signature.
        parameters = [
            Parameter(f"column_{number}", Parameter.POSITIONAL_ONLY) for number in range(len(function.parameters))
        ]
        vars(called)["__signature__"] = Signature(parameters)
        if name in self._functions:
            self._connection.remove_function(name)
        self._functions.add(name)
        types: list[Any] = [self._connection.type(sql_type(each)) for each in function.parameters]
        result = self._connection.type(sql_type(function.result))
        self._connection.create_function(
            name, called, types, result, type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL
        )

    def close(self) -> None:
        """Closes it."""
        self._connection.close()


def files_of(root: str) -> Files:
    """The files of each table of the lake at a path or URL, as of now. Raises OSError for an invalid log."""
    found = {}
    for name, layout in TABLES.items():
        path = f"{lake_root(root)}/{name}"
        log = DeltaLog(path, layout)
        found[name] = sorted(paths_of(path, log.files())) if log.exists() else []
    return found


def define_lake(database: Database, files: Files) -> None:
    """Defines the views lake_TABLE. A table without files has no rows. A column that its files do not have is null."""
    for name, paths in files.items():
        fields = schema_of(TABLES[name].ddl)
        if paths:
            read = f"read_parquet([{', '.join(map(literal, paths))}], union_by_name = true)"
            present = {column for column, *_ in database.run(f"DESCRIBE SELECT * FROM {read}")}
            added = [each for each in fields if each.name not in present]
            nulls = "".join(f', CAST(NULL AS {in_duckdb(each.dataType)}) AS "{each.name}"' for each in added)
            rows = f"SELECT *{nulls} FROM {read}"
        else:
            columns = ", ".join(f'CAST(NULL AS {in_duckdb(each.dataType)}) AS "{each.name}"' for each in fields)
            rows = f"SELECT {columns} WHERE false"
        database.run(f"CREATE OR REPLACE VIEW lake_{name} AS {rows}")


def define_constants(database: Database, constants: Mapping[str, int | str | None]) -> None:
    """Defines macros without parameters. None: null."""
    for name, value in constants.items():
        text = "NULL::INTEGER" if value is None else literal(value) if isinstance(value, str) else str(value)
        database.run(f"CREATE OR REPLACE MACRO {name}() AS {text}")


def run_file(database: Database, name: str) -> None:
    """Runs the statements of a file of sql/, which may exist already."""
    for text in statements(name):
        database.run(text.replace("CREATE ", "CREATE OR REPLACE ", 1))


def sql_type(kind: pa.DataType) -> str:
    """The type of DuckDB for a type of Arrow."""
    if pa.types.is_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        fields = ", ".join(f'"{field.name}" {sql_type(field.type)}' for field in kind)
        return f"STRUCT({fields})"
    return _SQL_TYPES[kind]


_SQL_TYPES = {pa.binary(): "BLOB", pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.bool_(): "BOOLEAN"}


def literal(text: str) -> str:
    """A quoted literal."""
    return "'" + text.replace("'", "''") + "'"
