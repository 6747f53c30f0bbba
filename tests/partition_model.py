"""The partition rules of docs/decisions/0004-partitions.md, written the plain way for tests to compare with.

Nothing of db/ or etl/ is used here. A range is cut into equal windows of at most 100 milestones. A key becomes hot in a
window that holds its share of half the partition size; from then on its rows are counted, and a milestone begins a new
partition once the open one holds half the partition size.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

WINDOW_MAX = 100


@dataclass(frozen=True)
class Splits:
    """Partitions of one key in one range: first milestones, rows counted into the last one, highest one counted."""

    first_milestones: tuple[int, ...]
    open_count: int
    counted_to: int


def place(first_milestones: Sequence[int], milestone_index: int) -> int:
    """The partition of a row: the greatest split at or below its milestone, else 0."""
    return max((first for first in first_milestones if first <= milestone_index), default=0)


def advance(
    first_milestones: Sequence[int], open_count: int, rows_by_milestone: Iterable[tuple[int, int]], row_limit: int
) -> tuple[tuple[int, ...], int]:
    """Splits and open count after (milestone, rows) pairs in ascending order."""
    firsts = tuple(first_milestones)
    for milestone_index, rows in rows_by_milestone:
        if rows and open_count >= row_limit:
            firsts, open_count = (*firsts, milestone_index), 0
        open_count += rows
    return firsts, open_count


def grow(
    splits: Splits | None,
    lake_rows: Iterable[tuple[int, int]],
    run: Collection[int],
    tail: int,
    *,
    chunk_size: int,
    partition_size: int,
) -> Splits | None:
    """One key's splits in one range after a run; None while the key is not hot.

    `lake_rows`: (milestone, rows) of the key in the windows that the run touches, ascending. `run`: the run's
    milestones. `tail`: the highest milestone begun before the run, or -1.
    """
    width = ceil(chunk_size / ceil(chunk_size / WINDOW_MAX))
    half = max(1, partition_size // 2)
    threshold = ceil(half / ceil(chunk_size / width))
    counts = {index: rows for index, rows in lake_rows if rows}

    def window(index: int) -> int:
        return index - index % chunk_size % width

    if splits is None:
        for first in sorted({window(index) for index in run if index > tail}):
            inside = {index: rows for index, rows in counts.items() if window(index) == first}
            if inside and sum(inside.values()) >= threshold:
                earlier = sum(rows for index, rows in inside.items() if index <= tail)
                splits = Splits((), earlier, max(tail, first - 1))
                break
        else:
            return None
    new = sorted(
        (index, rows) for index, rows in counts.items() if index in run and index > max(tail, splits.counted_to)
    )
    if not new:
        return splits
    return Splits(*advance(splits.first_milestones, splits.open_count, new, half), new[-1][0])


def key_text(values: Iterable[Any]) -> str:
    """A lookup key as the text in `splits.key`: parts joined by ':', booleans in lower case."""
    return ":".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
