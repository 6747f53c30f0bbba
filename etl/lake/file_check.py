"""Checks one file of the lake: its checksum, its statistics in the log, and every row (etl/lake/row_checks.py).

Worker processes import this module, so it imports neither PySpark nor delta-rs. Memory does not grow with the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from db.damage import Damage
from db.intervals import Intervals, in_words
from etl.engine.checksums import checksum_in, checksum_of
from etl.engine.delta_state import DataFile
from etl.engine.file_systems import file_system
from etl.lake.row_checks import CHECKS, counts_of, stored_counts, sums_of

BATCH_ROWS = 4_000
MOST_ROWS = 100
"""Damaged rows of a file that are named one by one."""


@dataclass(frozen=True)
class FileTask:
    """A file to check. `root`: the path or URL of its table. `key`: that of the table's layout."""

    root: str
    table: str
    key: str | None
    file: DataFile

    @property
    def place(self) -> str:
        """The file, relative to the lake."""
        return f"{self.table}/{self.file.path}"

    @property
    def milestones(self) -> Intervals:
        """The milestones in the file according to the log."""
        least, greatest = self.file.least, self.file.greatest
        return [] if least is None or greatest is None or greatest < 0 else [(max(least, 0), greatest)]


@dataclass
class FileResult:
    """What a check found.

    Attributes:
        damage: what is wrong with the file.
        counts: of `messages`, etl.lake.row_checks.COUNTS by milestone; of `milestones`, the same columns as they are
            stored.
        has_checksum: whether the name of the file has a checksum.
        rows: the rows that were read.
    """

    damage: list[Damage] = field(default_factory=list)
    counts: pa.Table | None = None
    has_checksum: bool = False
    rows: int = 0


def check_file(task: FileTask) -> FileResult:
    """Reads a file completely."""
    result = FileResult(has_checksum=checksum_in(task.file.path) is not None)
    system = file_system(task.root)
    try:
        found = system.get_file_info(task.file.path)
    except pa.ArrowInvalid as error:
        result.damage.append(_damage(task, f"the log names a path that no file can have: {error}"))
        return result
    if found.type != pafs.FileType.File:
        result.damage.append(_damage(task, "the file is missing"))
        return result
    causes = []
    if found.size != task.file.size:
        causes.append(f"{found.size} bytes; the log has {task.file.size}")
    try:
        expected = checksum_in(task.file.path)
        if expected is not None and checksum_of(system, task.file.path) != expected:
            causes.append("its bytes differ from the checksum in its name")
        result.damage += _read(task, system, result)
    except Exception as error:  # noqa: BLE001 (damaged files raise errors of many types)
        causes.append(f"not readable: {(str(error).splitlines() or [type(error).__name__])[0]}")
    if causes:
        named = f"; {len(result.damage)} damaged rows found in it" if result.damage else ""
        result.damage.insert(0, _damage(task, "; ".join(causes) + named))
    return result


def _damage(task: FileTask, cause: str) -> Damage:
    rows = f"milestones {in_words(task.milestones)}" if task.milestones else "all rows of the file"
    return Damage(task.table, task.place, rows, cause, task.milestones)


def _read(task: FileTask, system: pafs.FileSystem, result: FileResult) -> list[Damage]:
    """Checks the rows. `result` gets their number and counts."""
    damage, counts = list[Damage](), list[pa.Table]()
    least: int | None = None
    greatest: int | None = None
    nulls = more = 0
    with system.open_input_file(task.file.path) as source:
        for rows in _batches(task, source):
            result.rows += rows.num_rows
            if task.key is not None:
                keys = rows.column(task.key)
                ends = pc.min_max(keys).as_py()
                nulls += keys.null_count
                if ends["min"] is not None:
                    least = ends["min"] if least is None else min(least, ends["min"])
                    greatest = ends["max"] if greatest is None else max(greatest, ends["max"])
            if (check := CHECKS.get(task.table)) is not None:
                for row, cause, milestones in check(rows):
                    if len(damage) < MOST_ROWS:
                        damage.append(Damage(task.table, task.place, row, cause, milestones))
                    else:
                        more += 1
            if task.table == "messages":
                counts.append(counts_of(rows))
            elif task.table == "milestones":
                counts.append(stored_counts(rows))
    if more:
        damage.append(Damage(task.table, task.place, f"{more} more rows", "damaged as well", task.milestones))
    if counts:
        whole = pa.concat_tables(counts)
        result.counts = sums_of(whole) if task.table == "messages" else whole
    damage += [_damage(task, cause) for cause in _differences(task, result.rows, least, greatest, nulls)]
    return damage


def _batches(task: FileTask, source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """The rows with their partition's columns, one row group in memory at a time."""
    partition = [(name, None if value is None else int(value)) for name, value in task.file.partition]
    with pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as parquet:
        for group in range(parquet.num_row_groups):
            for rows in parquet.iter_batches(BATCH_ROWS, row_groups=[group], use_threads=False):
                for name, value in partition:
                    rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.int32()))
                yield rows


def _differences(task: FileTask, rows: int, least: int | None, greatest: int | None, nulls: int) -> Iterator[str]:
    """What the log says about the rows of a file and the file does not."""
    file = task.file
    if file.rows is not None and file.rows != rows:
        yield f"{rows} rows; the log has {file.rows}"
    if task.key is not None and file.least is not None and (file.least, file.greatest) != (least, greatest):
        yield f"{task.key} {least} to {greatest}; the log has {file.least} to {file.greatest}"
    if task.key is not None and file.nulls is not None and file.nulls != nulls:
        yield f"{nulls} rows without {task.key}; the log has {file.nulls}"
