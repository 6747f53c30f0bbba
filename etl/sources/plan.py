"""Scans the input files before a load: checksums, and the position of every line by milestone.

The scan is a single pass over the bytes and keeps 30 bytes per milestone in memory. The task of a milestone decodes its
lines later, so overlapping, shuffled and very large files need no special case. Spark is not used here, because it
takes longer to start than the scan.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from db.intervals import Intervals, contains, of_indices
from etl.sources import milestones_of
from etl.sources.checksum_files import find_change
from etl.sources.fields import MAX_MILESTONE_INDEX
from etl.sources.file_eras import codec_of
from etl.sources.files import fault_text, shown_name, unreadable
from etl.sources.limits import DEFAULT, Limits, TooLarge
from etl.sources.lines import lines
from etl.sources.raw_blocks import unreadable_in
from etl.sources.rejects import Reject
from etl.sources.unpacking import open_stream
from ledger.eras import Codec
from ledger.json_reader import JsonError
from ledger.reader import CodecError

UNKNOWN_MILESTONE = -1
"""milestone_index of a line that does not contain it."""

SCANNERS = 2
"""Files that are read in parallel. Checksums and decompression release the interpreter lock."""

REJECTS_A_FILE = 10_000
"""Maximum of rejected lines that are recorded for a file. One more reject has the number of the others."""

PLACE = pa.struct([("file", pa.string()), ("line", pa.int32()), ("offset", pa.int64()), ("length", pa.int64())])


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was read: its uncompressed size and BLAKE2b-256 checksum."""

    file: str
    lines: int
    size: int
    checksum: bytes


@dataclass(slots=True)
class Scanned:
    """The lines of a file as arrays of numbers. `path`: the name of the file in reports. `change`: how it differs from
    the checksum beside it.
    """

    path: str
    milestones: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[int] = field(default_factory=lambda: array("i"))
    offsets: array[int] = field(default_factory=lambda: array("q"))
    lengths: array[int] = field(default_factory=lambda: array("q"))
    pending: list[tuple[int, int, int]] = field(default_factory=list)
    broken: list[Reject] = field(default_factory=list)
    omitted: int = 0
    source: SourceFile | None = None
    change: str = ""

    def reject(self, line: int, reason: str) -> None:
        """Records a rejected line."""
        if len(self.broken) < REJECTS_A_FILE:
            self.broken.append(Reject(self.path, line, "", reason))
        else:
            self.omitted += 1

    def reject_file(self, reason: str) -> None:
        """Records that the whole file is rejected."""
        self.broken, self.omitted = [Reject(self.path, 0, "", f"file: {reason}")], 0


@dataclass(frozen=True)
class Plan:
    """Lines by milestone. `lines` has the columns milestone_index and those of PLACE, sorted by milestone, file and
    line. `files` are those with a valid line, or without any line; `names` are the names of all. `limits` are those
    of the scan.
    """

    lines: pa.Table
    pending: pa.Table
    broken: list[Reject]
    files: list[SourceFile]
    names: list[str]
    limits: Limits = DEFAULT

    def milestones(self) -> Intervals:
        """The milestones in the files."""
        return of_indices(pc.unique(self.lines["milestone_index"]).to_pylist())

    def codec(self) -> Codec | None:
        """The codec of the files."""
        return codec_of((each.file for each in self.files), self.limits)

    def places(self, wanted: Intervals) -> pa.Table:
        """milestone_index, file and line of every line of the wanted milestones."""
        chosen = self.lines.filter(_within(self.lines["milestone_index"], wanted))
        return chosen.select(["milestone_index", "file", "line"])

    def size(self, wanted: Intervals) -> int:
        """Bytes of the lines of the wanted milestones."""
        within = _within(self.lines["milestone_index"], wanted)
        return int(pc.sum(self.lines["length"].filter(within)).as_py() or 0)

    def copies(self, wanted: Intervals, task_bytes: int, least_tasks: int) -> pa.Table:
        """A row per wanted milestone: milestone_index, copies and its task.

        A task is a range of milestones with about the same number of bytes, at most `task_bytes` if possible.
        """
        chosen = self.lines.filter(_within(self.lines["milestone_index"], wanted))
        if not chosen.num_rows:
            return _copies_table(pa.array([], pa.int32()), pa.array([], pa.list_(PLACE)), pa.array([], pa.int32()))
        runs = pc.run_end_encode(chosen["milestone_index"].combine_chunks())
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), runs.run_ends.cast(pa.int32())])
        places = chosen.select([each.name for each in PLACE]).to_struct_array().combine_chunks()
        through = pc.cumulative_sum(pc.cast(chosen["length"], pa.float64())).combine_chunks()
        total = through[-1].as_py()
        tasks = max(least_tasks, -(-int(total) // task_bytes))
        ends = through.take(pc.subtract(runs.run_ends.cast(pa.int32()), 1))
        share = pc.floor(pc.multiply(pc.divide(ends, total + 1.0), float(tasks)))
        return _copies_table(
            runs.values.cast(pa.int32()), pa.ListArray.from_arrays(offsets, places), share.cast(pa.int32())
        )


Note: TypeAlias = Callable[[Scanned, int, int, bytes], None]
"""Records a line: its number, offset and bytes."""


def scan(files: list[Path], *, first: int | None, last: int | None, limits: Limits = DEFAULT) -> Plan:
    """Reads every file once. Omits lines outside [first, last). The ends can be larger than any milestone index."""
    scanned = scan_files(files, _note, limits)
    table = pa.concat_tables([lines_table(each) for each in scanned])
    if first is not None:
        table = table.filter(pc.greater_equal(table["milestone_index"], min(first, MAX_MILESTONE_INDEX + 1)))
    if last is not None:
        table = table.filter(pc.less(table["milestone_index"], min(last, MAX_MILESTONE_INDEX + 1)))
    pending = [
        {"file": each.path, "line": line, "offset": offset, "length": length}
        for each in scanned
        for line, offset, length in each.pending
    ]
    return Plan(
        table.sort_by([("milestone_index", "ascending"), ("file", "ascending"), ("line", "ascending")]),
        pa.table({"copies": pa.array([[place] for place in pending], pa.list_(PLACE))}),
        [reject for each in scanned for reject in each.broken],
        [each.source for each in scanned if each.source is not None],
        [each.path for each in scanned],
        limits,
    )


def scan_files(files: Sequence[Path], note: Note, limits: Limits) -> list[Scanned]:
    """Records the lines of each file with `note`. A file that cannot be read, or has lines but no valid one, is a
    reject of the file.
    """
    with ThreadPoolExecutor(SCANNERS, thread_name_prefix="scan") as pool:
        return [*pool.map(_scan_file, files, repeat(note), repeat(limits))]


def _scan_file(path: Path, note: Note, limits: Limits) -> Scanned:
    found = Scanned(shown_name(path))
    if (reason := unreadable(path)) is not None:
        found.reject_file(reason)
        return found
    digest = hashlib.blake2b(digest_size=32)
    number, end = 0, 0
    try:
        if path.is_dir():
            # Records of the folder, as messages are of a line.
            omitted = ((shown_name(Path(each.name)), fault) for each, fault in unreadable_in(path))
            found.broken += [Reject(found.path, 0, name, f"file: {fault}") for name, fault in omitted]
        with open_stream(found.path, limits) as stream:
            for number, offset, line in lines(stream, limits, found.reject):
                digest.update(line)
                end = offset + len(line)
                note(found, number, offset, line)
        found.change = find_change(path)
    except (OSError, EOFError, ValueError) as error:
        found.reject(number + 1, str(error) if isinstance(error, TooLarge) else f"file: {fault_text(error)}")
    if found.change:
        found.broken.append(Reject(found.path, 0, "", f"file: checksum {found.change}"))
    if found.broken and not found.milestones and not found.pending and not path.is_dir():
        first = found.broken[0]
        found.reject_file(f"no valid line; line {first.line}: {first.reason}")
        return found
    if found.omitted:
        found.broken.append(Reject(found.path, 0, "", f"file: {found.omitted} more lines are rejected"))
    found.source = SourceFile(found.path, number, end, digest.digest())
    return found


def _note(found: Scanned, number: int, offset: int, line: bytes) -> None:
    try:
        indices = milestones_of(line)
    except (JsonError, CodecError) as error:
        found.reject(number, str(error))
        return
    if not indices:
        found.pending.append((number, offset, len(line)))
    for index in indices:
        found.milestones.append(index)
        found.numbers.append(number)
        found.offsets.append(offset)
        found.lengths.append(len(line))


def lines_table(found: Scanned) -> pa.Table:
    """The recorded positions: milestone_index, file, line, offset, length."""
    return pa.table(
        {
            "milestone_index": pa.array(found.milestones, pa.int32()),
            "file": pa.array([found.path] * len(found.milestones), pa.string()),
            "line": pa.array(found.numbers, pa.int32()),
            "offset": pa.array(found.offsets, pa.int64()),
            "length": pa.array(found.lengths, pa.int64()),
        }
    )


def _within(column: pa.ChunkedArray, wanted: Intervals) -> pa.Array:
    return pa.array((contains(wanted, index) for index in _integers(column)), pa.bool_())


def _integers(column: pa.ChunkedArray) -> Iterator[int]:
    for chunk in column.chunks:
        yield from chunk.to_pylist()


def _copies_table(milestones: pa.Array, copies: pa.Array, tasks: pa.Array) -> pa.Table:
    return pa.table({"milestone_index": milestones, "copies": copies, "task": tasks})


def reject_table(milestone_index: int, rejects: Iterable[Reject]) -> pa.Table:
    """The rejects of a milestone in the columns of etl.lake.REJECTS_DDL."""
    rows = list(rejects)
    return pa.table(
        {
            "milestone_index": pa.array([milestone_index] * len(rows), pa.int32()),
            "file": pa.array([each.file for each in rows], pa.string()),
            "line": pa.array([each.line for each in rows], pa.int32()),
            "item": pa.array([each.item for each in rows], pa.string()),
            "reason": pa.array([each.reason for each in rows], pa.string()),
        }
    )
