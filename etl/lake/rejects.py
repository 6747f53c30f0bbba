"""Rejects of a lake: lists and removes them. It needs no engine."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from db.intervals import Intervals
from etl.engine.checksums import check_files
from etl.engine.delta_files import reader_of, stored_schema, write_batches
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_tables import commit_files
from etl.engine.file_systems import file_system
from etl.engine.row_selection import Selection
from etl.lake.delta import KEY, TABLES
from etl.sources.rejects import Reject

ORDER = (KEY, "file", "line", "item")

COLUMNS = (*ORDER, "reason")
"""The columns of a listed reject. `milestone_index` is -1 if the line names no milestone, `line` 0 for a whole file,
and `item` a message id, or empty.
"""


@dataclass(frozen=True)
class Wanted:
    """Which rejects: those of milestones in `milestones`, and of the file that was loaded as `file`. None: all."""

    milestones: Intervals | None = None
    file: str | None = None

    def select(self, rows: pa.Table) -> pa.Array:
        """A boolean for each row."""
        mask = pa.array([True] * rows.num_rows, pa.bool_())
        if self.milestones is not None:
            batches = rows.combine_chunks().to_batches()
            parts = [Selection(KEY, self.milestones).mask(each) for each in batches]
            mask = pa.concat_arrays(parts) if parts else mask
        if self.file is not None:
            mask = pc.and_(mask, pc.equal(rows["file"], self.file).combine_chunks())
        return mask


def list_rejects(root: str, wanted: Wanted) -> list[dict[str, Any]]:
    """Returns the rejects of the lake at `root`, by milestone, file, line and item."""
    rows = _rows(_log(root))
    found = rows.filter(wanted.select(rows)).sort_by([(name, "ascending") for name in ORDER])
    return list(found.select(COLUMNS).to_pylist())


def message_rejects(root: str, milestones: Intervals) -> dict[int, tuple[Reject, ...]]:
    """Returns the rejects of messages, which are not in the lake at `root`, by milestone that has any rejects."""
    found: defaultdict[int, list[Reject]] = defaultdict(list)
    if milestones and _log(root).exists():
        for row in list_rejects(root, Wanted(milestones)):
            of_milestone = found[row[KEY]]
            if row["item"]:
                of_milestone.append(Reject(row["file"], row["line"], row["item"], row["reason"]))
    return {milestone: tuple(each) for milestone, each in found.items()}


def count_rejects(root: str) -> int:
    """Returns the number of rejects of the lake at `root`, which is also that of its store."""
    log = _log(root)
    return _rows(log).group_by(list(ORDER)).aggregate([]).num_rows if log.exists() else 0


def remove_rejects(root: str, wanted: Wanted, run: str) -> None:
    """Removes rejects from the lake at `root`. The caller holds the lease of the lake's store.

    Raises CommitConflict if another process writes to the lake.
    """
    log = _log(root)
    if not log.exists():
        return
    rows = _rows(log)
    rest = rows.filter(pc.invert(wanted.select(rows)))

    def write(folder: str) -> None:
        system, name = file_system(log.root), folder.removeprefix(f"{log.root}/")
        system.create_dir(name)
        write_batches(system, f"{name}/part-0.parquet", iter(rest.to_batches()), rest.schema, KEY)

    commit_files(log, write, None, {"run": run})


def _log(root: str) -> DeltaLog:
    return DeltaLog(f"{root}/rejects", TABLES["rejects"])


def _rows(log: DeltaLog) -> pa.Table:
    return pa.Table.from_batches(_batches(log), stored_schema(log.layout))


def _batches(log: DeltaLog) -> Iterator[pa.RecordBatch]:
    schema = stored_schema(log.layout)
    if not log.exists():
        return
    system = file_system(log.root)
    check_files(log.root, KEY, log.files())
    for file in log.files():
        with system.open_input_file(file.path) as source, reader_of(source) as parquet:
            for batch in parquet.iter_batches(columns=schema.names, use_threads=False):
                yield batch.cast(schema)
