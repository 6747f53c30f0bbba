"""Which intervals of milestones a listing's proof has: the cover of all milestones up to the end of one.

No milestone has the index 0, so interval 0 of each level begins with milestone 1. Places in the log and records are in
`ledger.transparency`.
"""

from ledger.transparency.positions import (
    INTERVAL_FACTOR,
    LEVELS,
    MAX_MILESTONE,
    SMALLEST_INTERVAL,
    Interval,
    interval_size,
)


def children_of(interval: Interval) -> list[Interval]:
    """The ten intervals of the level below, in order. The level must not be 0."""
    first = interval.number * INTERVAL_FACTOR
    return [Interval(interval.level - 1, first + offset) for offset in range(INTERVAL_FACTOR)]


def complete_from(first: int) -> int:
    """The first milestone index of the listings that an archive can prove."""
    return 0 if first <= 1 else -(-first // SMALLEST_INTERVAL) * SMALLEST_INTERVAL


def complete_to(first: int, frontier: int) -> int | None:
    """The last milestone index of the listings that an archive can prove, fewer than 100 below its frontier.

    Args:
        first: the archive's first milestone.
        frontier: the last milestone that it has completely and without a gap since `first`.

    Returns:
        None if no interval is complete.
    """
    end = (frontier + 1) // SMALLEST_INTERVAL * SMALLEST_INTERVAL - 1
    return end if end >= complete_from(first) else None


def cover(first: int, end: int) -> list[Interval]:
    """The largest intervals that contain exactly the milestones from `complete_from(first)` to `end`, in order.

    Raises:
        ValueError: no interval of an archive from `first` ends at `end`.
    """
    if not is_end(first, end):
        raise ValueError(f"expected the last milestone of an interval, found {end}")
    found = []
    start = complete_from(first)
    while start <= end:
        level = max(
            level
            for level in range(LEVELS)
            if level == 0 or (start % interval_size(level) == 0 and start + interval_size(level) - 1 <= end)
        )
        found.append(Interval(level, start // interval_size(level)))
        start += interval_size(level)
    return found


def is_end(first: int, end: int) -> bool:
    """Whether an interval of an archive from milestone `first` ends at `end`."""
    return first >= 1 and complete_from(first) <= end <= MAX_MILESTONE and (end + 1) % SMALLEST_INTERVAL == 0
