"""Where a lookup row lies: ranges, windows, hot keys, splits. Pure arithmetic, the rules of which never move a row.

Rules of this file:
1. A partition's id is its first milestone, 0 for a range's first; `place` is a pure function of the recorded splits.
2. A key is split only where it is hot: `hot_threshold` rows in one window of milestones.
3. Only milestones above the tail (the highest ever begun for that lookup and range) are counted, and only they may
   begin a partition. So every row written before stays where `place` puts it.
4. A bound follows when milestones come ascending: windows that were not hot hold fewer than `limit` rows together,
   a partition that is counted fewer than `limit` before its last milestone: partition_size + one milestone's rows.

The load computes the same in Spark columns; tests hold both equal.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from db.store import Value

WINDOW = 100
"""Milestones of a window, at most; ranges are cut into equal windows no larger than this."""

DAY_WINDOW = 1
"""The same of lookups that are cut by days."""


@dataclass(frozen=True, slots=True)
class Splits:
    """One key's partitions in one range, as the table `splits` keeps them.

    `first_milestones`: where a partition begins, ascending (the range's first, 0, is not listed). `open_count`: rows
    counted into the last one. `counted_to`: the highest milestone counted, so that a run repeated after a crash
    between splits and tails counts nothing twice.
    """

    first_milestones: tuple[int, ...]
    open_count: int
    counted_to: int


def ms_range_id(milestone_index: int, chunk_size: int) -> int:
    """The range of a milestone."""
    return milestone_index // chunk_size


def ranges_of(first: int, last: int, chunk_size: int) -> range:
    """The ranges that the milestones [first, last] stand in."""
    return range(ms_range_id(first, chunk_size), ms_range_id(last, chunk_size) + 1)


def window_size(chunk_size: int, at_most: int = WINDOW) -> int:
    """Milestones, or days, of a window: `at_most`, or less where that cuts the range into equal windows."""
    count = -(-chunk_size // at_most)
    return -(-chunk_size // count)


def window(milestone_index: int, chunk_size: int) -> int:
    """The window of a milestone, named by its first milestone; windows are aligned inside a range."""
    offset = milestone_index % chunk_size
    return milestone_index - offset % window_size(chunk_size)


def limit(partition_size: int) -> int:
    """Rows from which the next milestone begins a new partition: half the size, as uncounted rows may take the rest."""
    return max(1, partition_size // 2)


def hot_threshold(partition_size: int, chunk_size: int, at_most: int = WINDOW) -> int:
    """Rows of one window that make a key hot: its share of `limit` if every window of the range were alike."""
    windows = -(-chunk_size // window_size(chunk_size, at_most))
    return -(-limit(partition_size) // windows)


def place(first_milestones: Sequence[int], milestone_index: int) -> int:
    """The partition of a row: the greatest split at or below its milestone, else 0."""
    position = bisect_right(first_milestones, milestone_index)
    return first_milestones[position - 1] if position else 0


def advance(
    first_milestones: Sequence[int],
    open_count: int,
    rows_by_milestone: Iterable[tuple[int, int]],
    row_limit: int,
) -> tuple[tuple[int, ...], int]:
    """Splits and open count after the rows of one hot key: (milestone, rows) above the tail, ascending.

    A milestone with rows begins a partition when the open one has reached the limit; its rows are then counted.
    """
    firsts = list(first_milestones)
    for milestone_index, rows in rows_by_milestone:
        if not rows:
            continue
        if open_count >= row_limit:
            firsts.append(milestone_index)
            open_count = 0
        open_count += rows
    return tuple(firsts), open_count


def grow(
    splits: Splits | None,
    lake_rows: Iterable[tuple[int, int]],
    run: Collection[int],
    tail: int,
    *,
    chunk_size: int,
    partition_size: int,
) -> Splits | None:
    """One key's splits in one range after a run; None while it is not hot.

    `lake_rows`: (milestone, rows) of that key in every window that the run touches, ascending, earlier runs' rows and
    this one's. `run`: the run's milestones. `tail`: highest milestone begun before this run, -1 for none.
    """
    rows = list(lake_rows)
    threshold = hot_threshold(partition_size, chunk_size)
    if splits is None:
        begun = {window(milestone_index, chunk_size) for milestone_index in run if milestone_index > tail}
        for first, group in groupby(rows, key=lambda item: window(item[0], chunk_size)):
            inside = list(group)
            if first in begun and sum(count for _, count in inside) >= threshold:
                earlier = sum(count for milestone_index, count in inside if milestone_index <= tail)
                splits = Splits((), earlier, max(tail, first - 1))
                break
    if splits is None:
        return None
    counted_from = max(tail, splits.counted_to)
    counted = [(index, count) for index, count in rows if index > counted_from and index in run and count]
    if not counted:
        return splits
    firsts, open_count = advance(splits.first_milestones, splits.open_count, counted, limit(partition_size))
    return Splits(firsts, open_count, counted[-1][0])


def lookup_key_text(values: Iterable[Value]) -> str:
    """A lookup key as the text that `splits.key` and `pending.key` hold: parts joined by ':', ids as hex."""
    return ":".join(_part(value) for value in values)


def _part(value: Value) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
