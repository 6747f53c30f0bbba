"""Merges small files of a Delta table in this process, without an engine, and cleans its log and directory.

Rows keep their order: files are merged by ascending key, and sorted by it where their ranges overlap.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.fs as pafs

from etl.engine.checksums import check_files, checksum_in
from etl.engine.delta_files import (
    BATCH_ROWS,
    delete_leftovers,
    move_into_place,
    new_files,
    reader_of,
    stored_schema,
    write_batches,
    writing_folder,
)
from etl.engine.delta_log import CommitConflict, DeltaLog
from etl.engine.delta_state import DataFile
from etl.engine.file_systems import file_system

TARGET_BYTES = 128 << 20
"""Maximum size of a merged file, before compression options differ."""


def merge_files(
    log: DeltaLog, info: Mapping[str, str], *, below: int, least: int = 2, add_checksums: bool = False
) -> int:
    """Merges files of fewer than `below` bytes of each partition, if it has at least `least` of them. `add_checksums`:
    writes all other files without a checksum in their name again.

    Returns the number of files that were merged or written again. Raises CommitConflict if another process commits at
    the same time, and FileDamaged for a damaged file.
    """
    log.refresh()
    groups = [*_groups(log.files(), below, least)]
    if add_checksums:
        merged = {each.path for group in groups for each in group}
        groups += [[each] for each in log.files() if each.path not in merged and checksum_in(each.path) is None]
    if not groups:
        return 0
    system, key = file_system(log.root), log.layout.key
    check_files(log.root, key, [each for group in groups for each in group])
    with writing_folder(log.root) as folder:
        for number, group in enumerate(groups):
            place = "/".join((folder, *group[0].path.split("/")[:-1]))
            system.create_dir(place)
            rows = _merged(system, group, log)
            write_batches(system, f"{place}/part-{number}.parquet", rows, stored_schema(log.layout), key)
        added = move_into_place(log.root, new_files(system, folder, key), key, data_change=False)
        try:
            log.commit(added, [each for group in groups for each in group], info, data_change=False)
        except CommitConflict:
            for each in added:
                system.delete_file(each.path)
            raise
    delete_leftovers(log.root)
    return sum(map(len, groups))


def _groups(files: Sequence[DataFile], below: int, least: int) -> Iterator[list[DataFile]]:
    """Small files of one partition, by ascending key, with at most TARGET_BYTES in total."""
    partitions: dict[tuple[tuple[str, str | None], ...], list[DataFile]] = {}
    for file in files:
        if file.size < below:
            partitions.setdefault(file.partition, []).append(file)
    for small in partitions.values():
        if len(small) < least:
            continue
        group: list[DataFile] = []
        for file in sorted(small, key=_place):
            if group and sum(each.size for each in group) + file.size > TARGET_BYTES:
                if len(group) > 1:
                    yield group
                group = []
            group.append(file)
        if len(group) > 1:
            yield group


def _place(file: DataFile) -> tuple[int, int, str]:
    return (-1 if file.least is None else file.least, -1 if file.greatest is None else file.greatest, file.path)


def _merged(system: pafs.FileSystem, group: Sequence[DataFile], log: DeltaLog) -> Iterator[pa.RecordBatch]:
    schema, key = stored_schema(log.layout), log.layout.key
    rows = (batch for file in group for batch in _rows(system, file, schema))
    if key is None or not log.layout.order or all(_follows(*pair) for pair in pairwise(group)):
        yield from rows
        return
    # A stable sort, so the order of the rows with the same key stays.
    yield from pa.Table.from_batches(rows, schema).sort_by(key).to_batches(BATCH_ROWS)


def _follows(one: DataFile, other: DataFile) -> bool:
    return one.greatest is not None and other.least is not None and one.greatest <= other.least


def _rows(system: pafs.FileSystem, file: DataFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a file with all columns of the table; null in those that it does not have."""
    with system.open_input_file(file.path) as source, reader_of(source) as parquet:
        for batch in parquet.iter_batches(BATCH_ROWS, use_threads=False):
            held = set(batch.schema.names)
            columns = [
                batch.column(field.name).cast(field.type) if field.name in held else pa.nulls(len(batch), field.type)
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
