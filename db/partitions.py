"""Partitions of lookup rows: ranges, windows, hot keys, splits. Pure arithmetic.

Invariants:
1. A partition's id is its first milestone, and 0 for the first of a range. `place` is a pure function of the recorded
   splits.
2. A key is split only where it is hot: it has `hot_threshold` rows in one window of milestones.
3. Only milestones above the tail (the highest milestone ever begun for that lookup and range) are counted, and only
   they may begin a partition. No row ever moves.
4. If milestones arrive in ascending order, windows that are not hot hold fewer than `limit` rows together, and a
   counted partition holds fewer than `limit` rows before its last milestone: at most partition_size plus one
   milestone's rows.

etl/tables/partition_columns.py counts and splits in Spark columns; tests compare it with tests/partition_model.py.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from db.store import Value

WINDOW = 100
"""Milestones of a window, at most; ranges are cut into equal windows no larger than this."""

DAY_WINDOW = 1
"""The same of lookups that are cut by days."""


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


def lookup_key_text(values: Iterable[Value]) -> str:
    """A lookup key as the text that `splits.key` and `pending.key` hold: parts joined by ':', ids as hex."""
    return ":".join(_part(value) for value in values)


def _part(value: Value) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
