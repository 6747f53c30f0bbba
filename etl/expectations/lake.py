"""Expectations from the lake's committed Parquet files, read without the engine.

Invariant: the rows of a complete milestone are in white-flag order. Those of another milestone may lie between them:
Sail writes the batches of its partitions as they come.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from db.intervals import Intervals, add, in_words, intersect
from etl.engine.checksums import checksum_in
from etl.expectations.comparison import NEXT_STEP, WrongRows, engine_name
from etl.expectations.expected import Expected, sums_by_milestone
from etl.expectations.message_batch import Numbers, column, inside, numbers
from etl.lake.delta import Lake
from etl.lake.parts import LakePart
from ledger.selection import Selection

BATCH_ROWS = 8_000
_UNUSED = {"nonce", "network_id", "lake_range"}


def expected_of_lake(lake: Lake, milestones: Intervals, selection: Selection | None = None) -> Expected:
    """Returns the expectations of these milestones of the lake. `selection`: which messages it has; None: all. Raises
    WrongRows for a file in another order.
    """
    files = lake.local_files("messages", milestones)
    in_pieces = _in_pieces(files)
    sums: dict[int, bytes] = {}
    pieces: list[pa.Table] = []
    for path in files:
        for rows in _adjacent(path, milestones):
            is_piece = np.isin(numbers(rows.column("milestone_index")), in_pieces)
            if is_piece.any():
                pieces.append(rows.filter(pa.array(is_piece)))
                rows = rows.filter(pa.array(~is_piece)).combine_chunks()
            if rows.num_rows:
                sums.update(sums_by_milestone(rows, selection))
    if pieces:
        rest = pa.concat_tables(pieces, promote_options="default").combine_chunks()
        sums.update(sums_by_milestone(rest, selection))
    return Expected(sums)


def unread_milestones(lake: Lake, parts: Sequence[LakePart], milestones: Intervals) -> Intervals:
    """Returns the milestones among these that are not, as a whole, in files that the lake has as a decoding wrote them.
    The rows of such files have not passed through the engine.
    """
    written = {part.checksum: (part.first, part.last) for part in parts}
    unread: Intervals = []
    for file in lake.log("messages").files():
        span = milestones
        if file.least is not None and file.greatest is not None:
            span = intersect(milestones, [(file.least, file.greatest)])
        if span and written.pop(checksum_in(file.path) or "", None) is None:
            unread = add(unread, span)
    return intersect(milestones, add(unread, sorted(written.values())))


def _in_pieces(files: Sequence[Path]) -> Numbers:
    """The milestones whose rows are not adjacent in one file."""
    begun = [np.zeros(0, np.int64)]
    for path in files:
        indexes = numbers(
            pq.read_table(path, columns=["milestone_index"], partitioning=None).column(0).combine_chunks()
        )
        begun.append(indexes[np.concatenate([[True], np.diff(indexes) != 0])] if len(indexes) else indexes)
    found, counts = np.unique(np.concatenate(begun), return_counts=True)
    return found[counts > 1]


def _adjacent(path: Path, milestones: Intervals) -> Iterator[pa.Table]:
    """The rows of a file, in tables that end where a milestone does."""
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        names = [name for name in file.schema_arrow.names if name not in _UNUSED]
        held: pa.Table | None = None
        for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
            rows = pa.Table.from_batches([batch])
            held = rows if held is None else pa.concat_tables([held, rows])
            if len(changes := _changes(path, held)):
                yield _chosen(held.slice(0, int(changes[-1])), milestones)
                held = held.slice(int(changes[-1]))
        if held is not None and held.num_rows:
            yield _chosen(held, milestones)


def _changes(path: Path, rows: pa.Table) -> Numbers:
    """The positions where another milestone begins. Raises WrongRows if positions in a cone fall before that."""
    indexes = numbers(rows.column("milestone_index").combine_chunks())
    places = numbers(rows.column("white_flag_index").combine_chunks())
    step = np.diff(indexes)
    falls = (step == 0) & (np.diff(places) < 0) & (places[1:] >= 0)
    if falls.any():
        at = int(indexes[1:][falls][0])
        raise WrongRows(
            f"messages of the lake, milestones {in_words([(at, at)])}: the engine {engine_name()} wrote wrong rows: "
            f"{path.name} is not in white-flag order. {NEXT_STEP}"
        )
    return np.nonzero(step)[0] + 1


def _chosen(rows: pa.Table, milestones: Intervals) -> pa.Table:
    """The rows of these milestones, in one chunk."""
    mask = inside(numbers(column(rows, "milestone_index")), milestones)
    return (rows if mask.all() else rows.filter(pa.array(mask))).combine_chunks()
