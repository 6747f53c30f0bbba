"""Partitions of lookup rows: ranges, windows, hot keys, splits. Pure arithmetic.

Invariants:
1. A partition's id is its first milestone, or 0 for the first partition of a range. `place` is a pure function of the
   recorded splits.
2. A key is split only if it is hot: if it has `hot_threshold` rows in one window of milestones.
3. Only milestones above the tail (the highest milestone ever begun for that lookup and range) are counted, and only
   they may begin a partition. Rows never move.
4. If milestones arrive in ascending order, windows that are not hot have fewer than `limit` rows in total, and a
   counted partition has fewer than `limit` rows before its last milestone. So a partition has at most partition_size
   plus one milestone's rows.

etl/tables/partition_columns.py counts and splits in Spark columns; tests compare it with tests/partition_model.py.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from db.intervals import Intervals
from db.store import Value

WINDOW = 100
"""The largest number of milestones per window. Ranges consist of equal windows of at most this size."""

DAY_WINDOW = 1
"""The same for lookups by day."""


def ms_range_id(milestone_index: int, chunk_size: int) -> int:
    """The range of a milestone."""
    return milestone_index // chunk_size


def ranges_of(first: int, last: int, chunk_size: int) -> range:
    """The ranges of the milestones [first, last]."""
    return range(ms_range_id(first, chunk_size), ms_range_id(last, chunk_size) + 1)


def window_size(chunk_size: int, at_most: int = WINDOW) -> int:
    """Milestones or days per window: `at_most`, or fewer so that the windows of a range are equal."""
    count = -(-chunk_size // at_most)
    return -(-chunk_size // count)


def window(milestone_index: int, chunk_size: int) -> int:
    """The window of a milestone, named by its first milestone. Windows are aligned within a range."""
    offset = milestone_index % chunk_size
    return milestone_index - offset % window_size(chunk_size)


MOVEMENT_WINDOWS = 100
"""Partitions of address_movements per range. They are not counted: their size follows from the milestones."""


def movement_window(chunk_size: int) -> int:
    """Milestones per partition of address_movements."""
    return -(-chunk_size // MOVEMENT_WINDOWS)


def whole_windows(run: Intervals, chunk_size: int) -> Intervals:
    """The run extended to whole windows. Windows never cross a range."""
    size = window_size(chunk_size)
    wide: Intervals = []
    for first, last in run:
        low = first - (first % chunk_size) % size
        start = last - (last % chunk_size) % size
        high = min(start + size, (last // chunk_size + 1) * chunk_size) - 1
        if wide and low <= wide[-1][1] + 1:
            wide[-1] = (wide[-1][0], max(wide[-1][1], high))
        else:
            wide.append((low, high))
    return wide


def limit(partition_size: int) -> int:
    """Rows at which the next milestone begins a new partition: half the size, because uncounted rows may take the
    rest.
    """
    return max(1, partition_size // 2)


def hot_threshold(partition_size: int, chunk_size: int, at_most: int = WINDOW) -> int:
    """Rows in one window that make a key hot: the share of `limit` if all windows of the range were equally full."""
    windows = -(-chunk_size // window_size(chunk_size, at_most))
    return -(-limit(partition_size) // windows)


def place(first_milestones: Sequence[int], milestone_index: int) -> int:
    """The partition of a row: the last split at or before its milestone, else 0."""
    position = bisect_right(first_milestones, milestone_index)
    return first_milestones[position - 1] if position else 0


def lookup_key_text(values: Iterable[Value]) -> str:
    """A lookup key as in `splits.key` and `pending.key`: parts joined by ':', ids as hex."""
    return ":".join([value if type(value) is str else _part(value) for value in values])


def _part(value: Value) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
