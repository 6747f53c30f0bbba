"""Expectations from the lake's committed Parquet files, read without the engine.

Invariant: the rows of a milestone are adjacent in a file, and those of a complete milestone in white-flag order.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from db.intervals import Intervals, in_words
from etl.expectations.comparison import NEXT_STEP, WrongRows, engine_name
from etl.expectations.expected import Expected, sums_by_milestone
from etl.expectations.message_batch import Numbers, numbers
from etl.lake.delta import Lake

BATCH_ROWS = 8_000
_UNUSED = {"nonce", "network_id", "lake_range"}


def expected_of_lake(lake: Lake, milestones: Intervals) -> Expected:
    """Returns the expectations of these milestones of the lake. Raises WrongRows for a file in another order."""
    sums: dict[int, bytes] = {}
    edges: list[pa.Table] = []
    for path in lake.local_files("messages", milestones):
        for rows, is_edge in _pieces(path, milestones):
            if is_edge:
                edges.append(rows)
            elif rows.num_rows:
                sums.update(sums_by_milestone(rows))
    if edges:
        rest = pa.concat_tables(edges, promote_options="default").combine_chunks()
        sums.update(sums_by_milestone(rest))
    return Expected(sums)


def _pieces(path: Path, milestones: Intervals) -> Iterator[tuple[pa.Table, bool]]:
    """Whole milestones of a file, and its first and last one, which may continue in another file (True)."""
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        names = [name for name in file.schema_arrow.names if name not in _UNUSED]
        held: pa.Table | None = None
        is_first = True
        for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
            rows = pa.Table.from_batches([batch])
            held = rows if held is None else pa.concat_tables([held, rows])
            changes = _changes(path, held)
            if not len(changes):
                continue
            start, end = int(changes[0]), int(changes[-1])
            if is_first:
                yield _chosen(held.slice(0, start), milestones), True
            else:
                start = 0
            if end > start:
                yield _chosen(held.slice(start, end - start), milestones), False
            held, is_first = held.slice(end), False
        if held is not None and held.num_rows:
            yield _chosen(held, milestones), True


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


def _chosen(rows: pa.Table, milestones: Sequence[tuple[int, int]]) -> pa.Table:
    """The rows of these milestones, in one chunk."""
    indexes = numbers(rows.column("milestone_index").combine_chunks())
    mask = np.zeros(len(indexes), np.bool_)
    for first, last in milestones:
        mask |= (indexes >= first) & (indexes <= last)
    return (rows if mask.all() else rows.filter(pa.array(mask))).combine_chunks()
