"""Rows into Delta tables, one way for both engines: the engine writes Parquet files into a folder of the table, their
rows are checked, and delta-rs commits them (docs/decisions/0025-delta-commits.md).

Only rows of files that are replaced in part, compacted files and single rows of this process pass through it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from etl.engine.checksums import check_files
from etl.engine.columns import names_of
from etl.engine.current import on_sail, scratch_folder
from etl.engine.delta_files import (
    check_rows,
    delete_leftovers,
    move_into_place,
    new_files,
    stored_schema,
    write_batches,
    write_partitions,
    write_rest,
    writing_folder,
)
from etl.engine.delta_log import CommitConflict, DeltaLog, Layout
from etl.engine.delta_state import DataFile, paths_of
from etl.engine.file_systems import file_system
from etl.engine.ordering import sorted_batches
from etl.engine.row_selection import Selection
from etl.engine.session import Session

ROWS_PER_FILE = 200_000

SPARK_OPTIONS = {
    "maxRecordsPerFile": str(ROWS_PER_FILE),
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""The files become visible with the commit, so a task may move its own."""

INT96 = "INT96"


def replace_rows(log: DeltaLog, frame: DataFrame, selection: Selection | None, info: Mapping[str, str]) -> None:
    """Replaces the selected rows of a table with a frame. None: all rows. Creates a table that does not exist.

    Raises RowsOutside for a row that is not selected, and CommitConflict if another process commits at the same time.
    In both cases the table does not change.
    """
    commit_files(log, lambda folder: write_files(frame, folder, log.layout), selection, info)


def append_rows(log: DeltaLog, frame: DataFrame, info: Mapping[str, str]) -> None:
    """Appends the rows of a frame to a table, or creates it."""
    commit_files(log, lambda folder: write_files(frame, folder, log.layout), None, info, append=True)


def append_table(log: DeltaLog, rows: pa.Table, info: Mapping[str, str]) -> None:
    """Appends rows of this process to a table without partitions, or creates it. No query is planned."""
    _commit_table(log, rows, info, append=True)


def replace_table(log: DeltaLog, rows: pa.Table, info: Mapping[str, str]) -> None:
    """Replaces all rows of a table without partitions by rows of this process, or creates it. No query is planned."""
    _commit_table(log, rows, info, append=False)


def _commit_table(log: DeltaLog, rows: pa.Table, info: Mapping[str, str], *, append: bool) -> None:
    schema, key = stored_schema(log.layout), log.layout.key

    def write(folder: str) -> None:
        system, name = file_system(log.root), folder.removeprefix(f"{log.root}/")
        system.create_dir(name)
        batches = rows.select(schema.names).to_batches()
        write_batches(system, f"{name}/part-0.parquet", iter(batches), schema, key)

    commit_files(log, write, None, info, append=append)


def commit_files(
    log: DeltaLog,
    write: Callable[[str], None],
    selection: Selection | None,
    info: Mapping[str, str],
    *,
    append: bool = False,
) -> None:
    """Commits the Parquet files that `write` makes in a new folder. Arguments and errors are those of `replace_rows`.
    `append`: replaces nothing.
    """
    log.refresh()
    log.add_missing_columns()
    system, key = file_system(log.root), log.layout.key
    with writing_folder(log.root) as folder:
        rows, rest = f"{folder}/rows", f"{folder}/rest"
        write(f"{log.root}/{rows}")
        files = new_files(system, rows, key)
        replaced: Sequence[DataFile] = []
        if selection is None:
            replaced = [] if append else log.files()
        else:
            check_rows(system, log.root, files, selection)
            touched = [each for each in log.files() if selection.may_select(each.least, each.greatest)]
            replaced = write_rest(log.root, touched, selection, rest, log.layout)
            files += new_files(system, rest, key)
        if files or replaced or not log.exists():
            added = move_into_place(log.root, files, key)
            try:
                log.commit(added, replaced, info)
            except CommitConflict:
                for each in added:
                    system.delete_file(each.path)
                raise
    delete_leftovers(log.root)


def write_files(frame: DataFrame, folder: str, layout: Layout) -> None:
    """Writes the rows of a frame to Parquet files in a new folder, in the layout's order. Writes none if it is empty.

    On Spark the frame is in that order. Sail sorts it, and this process writes the files.
    """
    if not on_sail():
        frame.write.options(**SPARK_OPTIONS).partitionBy(*layout.partitions).parquet(folder)
    elif layout.order:
        write_partitions(sorted_batches(frame, *layout.order), folder, layout, ROWS_PER_FILE)
    else:
        frame.coalesce(1).write.option("compression", "snappy").parquet(folder)


def reads_listed(log: DeltaLog, files: Sequence[DataFile], ddl: str) -> bool:
    """Returns whether `read_files` reads no other files than these."""
    # Sail 0.7.2 reads null in partition columns of listed files, and does not merge INT96 and microseconds.
    # Its Delta reader does both. It costs 10 ms more for each plan, and may read any file of the table.
    needs_delta = _partitions(log, ddl) or ("TIMESTAMP" in ddl and _has_int96(paths_of(log.root, files)))
    return not (on_sail() and needs_delta)


def read_files(session: Session, log: DeltaLog, files: Sequence[DataFile], ddl: str) -> DataFrame:
    """Returns the rows of some of a table's files, with the columns of `ddl`. Raises FileDamaged."""
    if not files:
        return session.createDataFrame([], ddl)
    check_files(log.root, log.layout.key, files)
    paths, names = paths_of(log.root, files), names_of(ddl)
    if not reads_listed(log, files, ddl):
        check_files(log.root, log.layout.key, log.files())
        return session.read.format("delta").load(_plain_path(log.root)).select(*names)
    reader = session.read.schema(ddl)
    if _partitions(log, ddl):
        # Spark puts partition columns last.
        return reader.option("basePath", log.root).parquet(*paths).select(*names)
    return reader.parquet(*paths)


def _partitions(log: DeltaLog, ddl: str) -> list[str]:
    """The partition columns of a table that are among those of `ddl`."""
    return [name for name in names_of(ddl) if name in log.layout.partitions]


PLAIN = re.compile(r"[\w./+-]*", re.ASCII)
"""Local paths that Sail's Delta reader accepts. In others it finds no log."""


def _plain_path(root: str) -> str:
    """A path of a table with plain characters only: its own, or that of a link to it."""
    if PLAIN.fullmatch(root):
        return root
    link = scratch_folder("table") / "link"
    link.symlink_to(root, target_is_directory=True)
    return str(link)


def _has_int96(paths: Sequence[str]) -> bool:
    return any(map(_is_int96, paths))


@lru_cache(maxsize=1 << 16)
def _is_int96(path: str) -> bool:
    """Whether a local file has INT96 timestamps, which Spark wrote in earlier versions. Files never change."""
    schema = pq.read_metadata(Path(path)).schema
    return any(schema.column(at).physical_type == INT96 for at in range(len(schema)))
