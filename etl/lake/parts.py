"""Parquet files of the lake's messages as a decoding task writes them: sorted, one per partition, in whole milestones.

A row group ends between two milestones, so any reader that splits files at row groups keeps milestones whole.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

GROUP_ROWS = 32_000
"""Rows after which a row group ends. Bounds the memory of a task."""

REPEATED = ["milestone_index", "timestamp", "version", "network_id", "inclusion_state", "verified", "payload_kind"]
"""Columns whose values repeat. Hashes and payloads do not, so dictionaries of them cost time and no room is saved."""

COMPARED = ["milestone_index", "timestamp", "version", "white_flag_index"]
"""Columns with minimum and maximum: readers skip row groups by them."""


@dataclass(frozen=True, slots=True)
class LakePart:
    """A file of messages: its partition, rows, the least and greatest milestone in it, and its checksum (as in
    etl/engine/checksums.py) once it is whole.
    """

    path: Path
    lake_range: int
    rows: int = 0
    first: int = 0
    last: int = 0
    checksum: str = ""


@dataclass
class PartWriter:
    """Writes the messages of one task, which come by ascending milestones, and its rejects.

    Attributes:
        folder: a folder of the run. Messages are in `messages/lake_range=N`, rejects in `rejects`.
        number: the number of the task, in the names of its files.
        parts: the files with messages so far.
    """

    folder: Path
    number: int
    parts: list[LakePart] = field(default_factory=list)
    _rows: list[pa.Table] = field(default_factory=list)
    _count: int = 0
    _open: pq.ParquetWriter | None = None
    _rejects: list[pa.Table] = field(default_factory=list)

    @property
    def has_rejects(self) -> bool:
        """Whether a reject was added."""
        return bool(self._rejects)

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds a batch of whole milestones (DECODED_DDL)."""
        reject = batch.column("reject")
        if reject.null_count < batch.num_rows:
            is_message = pc.is_null(reject)
            rejected = batch.filter(pc.invert(is_message))
            rejects = pa.Table.from_struct_array(rejected.column("reject"))
            self._rejects.append(rejects.add_column(0, "milestone_index", rejected.column("milestone_index")))
            batch = batch.filter(is_message)
        for lake_range, rows in _by_range(pa.Table.from_batches([batch]).drop_columns(["reject"])):
            if not self.parts or self.parts[-1].lake_range != lake_range:
                self._end_file()
                self.parts.append(LakePart(self._path(lake_range), lake_range))
            self._rows.append(rows)
            self._count += rows.num_rows
            if self._count >= GROUP_ROWS:
                self._end_group()

    def close(self) -> None:
        """Ends the files."""
        self._end_file()
        if self._rejects:
            path = self.folder / "rejects" / f"part-{self.number:05}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.concat_tables(self._rejects), path)

    def _path(self, lake_range: int) -> Path:
        return self.folder / "messages" / f"lake_range={lake_range}" / f"part-{self.number:05}.parquet"

    def _end_group(self) -> None:
        rows = pa.concat_tables(self._rows).combine_chunks()
        self._rows, self._count = [], 0
        part = self.parts[-1]
        if self._open is None:
            part.path.parent.mkdir(parents=True, exist_ok=True)
            self._open = pq.ParquetWriter(
                part.path,
                rows.schema,
                compression="snappy",
                use_dictionary=REPEATED,
                write_statistics=COMPARED,
                store_schema=False,
            )
        self._open.write_table(rows, row_group_size=rows.num_rows)
        indexes = rows.column("milestone_index")
        first = part.first if part.rows else indexes[0].as_py()
        count = part.rows + rows.num_rows
        self.parts[-1] = LakePart(part.path, part.lake_range, count, first, indexes[-1].as_py())

    def _end_file(self) -> None:
        if self._rows:
            self._end_group()
        if self._open is not None:
            self._open.close()
            self._open = None
            self.parts[-1] = replace(self.parts[-1], checksum=checksum_of(self.parts[-1].path))


def checksum_of(path: Path) -> str:
    """Returns the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_range(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each partition, without the partition's column."""
    if not rows.num_rows:
        return
    ranges = rows.column("lake_range").to_numpy()
    rows = rows.drop_columns(["lake_range"])
    starts = [0, *(np.nonzero(np.diff(ranges))[0] + 1).tolist(), len(ranges)]
    for start, end in pairwise(starts):
        yield int(ranges[start]), rows.slice(start, end - start)
