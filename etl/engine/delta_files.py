"""Parquet files of a Delta table between their writing and their commit: a folder for them, their statistics, the check
that their rows are those of the commit, and the rows that stay of files that are replaced in part.
"""

import fcntl
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count, groupby
from operator import itemgetter
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake.transaction import AddAction
from pyspark.sql.pandas.types import to_arrow_schema

from etl.engine.checksums import VERIFIED, check_files, checksums_of, name_with
from etl.engine.columns import schema_of
from etl.engine.delta_log import Layout
from etl.engine.delta_state import DataFile
from etl.engine.file_systems import file_system, sync_files
from etl.engine.row_files import write_groups
from etl.engine.row_selection import Selection

WRITING = "_writing-"
LOCK = ".lock"
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
BATCH_ROWS = 8_000
ROW_GROUP_BYTES = 32 << 20


class RowsOutside(ValueError):
    """A commit has rows that it does not replace, so they could be in the table twice."""


@dataclass(frozen=True)
class NewFile:
    """A file that is not committed yet, with the ends of the layout's key. `path` is relative to the table."""

    path: str
    size: int
    checksum: str
    rows: int
    partition: tuple[tuple[str, str | None], ...]
    least: int | None
    greatest: int | None
    nulls: int | None


@contextmanager
def writing_folder(root: str) -> Iterator[str]:
    """Yields the name of a new folder in the table for uncommitted files. Deletes it at the end.

    Readers of Delta tables ignore names that start with `_`. A local folder is locked for as long as its writer lives.
    """
    name = f"{WRITING}{uuid.uuid4().hex}"
    if "://" in root:
        try:
            yield name
        finally:
            file_system(root).delete_dir(name)
        return
    folder = Path(root, name)
    folder.mkdir(parents=True)
    lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield name
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def delete_leftovers(root: str) -> None:
    """Deletes the folders of local writers that were killed."""
    if "://" in root:
        return
    for folder in Path(root).glob(f"{WRITING}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


def new_files(system: pafs.FileSystem, folder: str, key: str | None) -> list[NewFile]:
    """Returns the Parquet files below a folder that have rows. Directories `column=value` are partitions."""
    entries = system.get_file_info(pafs.FileSelector(folder, recursive=True, allow_not_found=True))
    files = [each for each in entries if each.type == pafs.FileType.File and each.path.endswith(".parquet")]
    files.sort(key=lambda each: each.path)
    found = []
    for entry, checksum in zip(files, checksums_of(system, [each.path for each in files]), strict=True):
        with system.open_input_file(entry.path) as source:
            metadata = pq.read_metadata(source)
        if metadata.num_rows:
            least, greatest, nulls = _ends(metadata, key)
            partition = _partition(entry.path.removeprefix(folder).strip("/"))
            new = NewFile(entry.path, entry.size, checksum, metadata.num_rows, partition, least, greatest, nulls)
            found.append(new)
    return found


def _partition(path: str) -> tuple[tuple[str, str | None], ...]:
    pairs = (part.partition("=") for part in path.split("/")[:-1])
    return tuple((name, None if value == NULL_PARTITION else unquote(value)) for name, _, value in pairs)


def _ends(metadata: pq.FileMetaData, key: str | None) -> tuple[int | None, int | None, int | None]:
    """The least and the greatest value of a column, and its nulls. None if the file has no statistics of it."""
    at = next((at for at in range(metadata.num_columns) if metadata.schema.column(at).path == key), None)
    if at is None:
        return None, None, None
    parts = [metadata.row_group(group).column(at).statistics for group in range(metadata.num_row_groups)]
    if not all(part is not None and part.has_min_max and part.has_null_count for part in parts):
        return None, None, None
    return min(part.min for part in parts), max(part.max for part in parts), sum(part.null_count for part in parts)


def check_rows(system: pafs.FileSystem, root: str, files: Sequence[NewFile], selection: Selection) -> None:
    """Raises RowsOutside if a file has a row that is not selected. Statistics decide for most files; of the others, it
    reads the selection's columns.
    """
    for file in files:
        if file.nulls == 0 and selection.selects_all(file.least, file.greatest):
            continue
        with system.open_input_file(file.path) as source, pq.ParquetFile(source) as parquet:
            for batch in parquet.iter_batches(BATCH_ROWS, columns=selection.columns, use_threads=False):
                outside = batch.filter(pc.invert(selection.mask(batch)))
                if outside.num_rows:
                    raise RowsOutside(
                        f"{root}: {outside.num_rows} or more rows are not in the replaced intervals of "
                        f"{selection.column} ({outside.column(selection.column)[0]} is not); nothing was committed"
                    )


def write_rest(
    root: str, files: Sequence[DataFile], selection: Selection, folder: str, layout: Layout
) -> list[DataFile]:
    """Writes the rows of committed files that are not selected to new files in a folder. Returns the committed files
    that have selected rows. Raises FileDamaged for a damaged file with other rows.
    """
    system, replaced = file_system(root), list[DataFile]()
    mixed = [each for each in files if not selection.selects_all(each.least, each.greatest)]
    check_files(root, layout.key, mixed)
    for number, file in enumerate(files):
        if selection.selects_all(file.least, file.greatest):
            replaced.append(file)
            continue
        place = "/".join((folder, *file.path.split("/")[:-1], f"part-{number}.parquet"))
        with system.open_input_file(file.path) as source, reader_of(source) as parquet:
            rest = _rest(parquet, selection)
            held = parquet.metadata.num_rows
            system.create_dir(place.rpartition("/")[0])
            written = write_batches(system, place, rest, parquet.schema_arrow, layout.key)
        if written < held:
            replaced.append(file)
        if written in (0, held):
            system.delete_file(place)
    return replaced


def _rest(parquet: pq.ParquetFile, selection: Selection) -> Iterator[pa.RecordBatch]:
    for batch in parquet.iter_batches(BATCH_ROWS, use_threads=False):
        yield batch.filter(pc.invert(selection.mask(batch)))


def reader_of(source: pa.NativeFile) -> pq.ParquetFile:
    """A reader that returns INT96 timestamps of earlier versions in microseconds, as all newer files have them."""
    return pq.ParquetFile(source, coerce_int96_timestamp_unit="us")


def write_batches(
    system: pafs.FileSystem, path: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema, key: str | None
) -> int:
    """Writes a Parquet file with the options of the lake. Returns the number of rows."""
    fields = [_utc(field) for field in schema]
    schema = pa.schema(fields)
    statistics = [name for name in (key, "version", "timestamp") if name in schema.names]
    with system.open_output_stream(path) as sink:
        return write_groups(batches, schema, sink, ROW_GROUP_BYTES, compression="snappy", write_statistics=statistics)


def write_partitions(batches: Iterable[pa.RecordBatch], folder: str, layout: Layout, most: int) -> None:
    """Writes batches in the layout's order into a new local folder. The rows of each partition follow each other.

    `most`: the rows after which a file ends.
    """
    system, stored = pafs.LocalFileSystem(), stored_schema(layout)
    names = (f"part-{number:05}.parquet" for number in count())
    for directory, rows in groupby(_by_partition(batches, layout.partitions), key=itemgetter(0)):
        place = Path(folder, directory)
        place.mkdir(parents=True, exist_ok=True)
        waiting = (batch.drop_columns(list(layout.partitions)) for _, batch in rows)
        for first in waiting:
            schema = pa.schema([stored.field(name) for name in first.schema.names])
            part = chain([first], _until(waiting, most - first.num_rows))
            write_batches(system, str(place / next(names)), part, schema, layout.key)


def _by_partition(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each partition in a batch, with the partition's directory. There is at most one partition column."""
    for batch in batches:
        if not columns:
            yield "", batch
            continue
        (column,) = columns
        runs, start = pc.run_end_encode(batch.column(column)), 0
        for end, value in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            yield f"{column}={NULL_PARTITION if value is None else value}", batch.slice(start, end - start)
            start = end


def _until(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Takes batches until they have `most` rows."""
    while most > 0 and (batch := next(batches, None)) is not None:
        most -= batch.num_rows
        yield batch


def _utc(field: pa.Field) -> pa.Field:
    """INT96 timestamps have no zone. They are UTC."""
    return field.with_type(pa.timestamp("us", tz="UTC")) if pa.types.is_timestamp(field.type) else field


def stored_schema(layout: Layout) -> pa.Schema:
    """The columns of a file: all but the partition columns."""
    schema = to_arrow_schema(schema_of(layout.ddl))
    return pa.schema([field for field in schema if field.name not in layout.partitions])


def move_into_place(
    root: str, files: Sequence[NewFile], key: str | None, *, data_change: bool = True
) -> list[AddAction]:
    """Moves files to their partition's directory in the table, with new names. Returns what a commit adds when it is
    on disk.
    """
    system, added = file_system(root), list[AddAction]()
    for file in files:
        folder = "/".join(f"{name}={NULL_PARTITION if value is None else value}" for name, value in file.partition)
        place = f"{folder}/{name_with(file.checksum)}".lstrip("/")
        if folder:
            system.create_dir(folder)
        system.move(file.path, place)
        partition = dict(file.partition)
        now = int(1_000 * time.time())
        added.append(AddAction(place, file.size, partition, now, data_change, json.dumps(_statistics(file, key))))
    paths = [each.path for each in added]
    sync_files(root, paths)
    VERIFIED.add(root, paths)
    return added


def _statistics(file: NewFile, key: str | None) -> Mapping[str, object]:
    if key is None or file.least is None:
        return {"numRecords": file.rows}
    ends = {"minValues": {key: file.least}, "maxValues": {key: file.greatest}, "nullCount": {key: file.nulls}}
    return {"numRecords": file.rows, **ends}
