"""Where records are in the log, by arithmetic from the first milestone.

The log has the record of each milestone from the first one on. Behind the last milestone of an interval follows the
record of that interval, smaller levels first, and then one record of the cover: the list of the largest intervals that
contain all milestones so far. An interval that begins before the first milestone has no record.

The intervals are those of `ledger/completeness/intervals.py`, which also computes the places of intervals and covers.
"""

from bisect import bisect_right

from ledger.completeness.intervals import (
    LEVELS,
    MILESTONE_MOST,
    SMALLEST,
    Interval,
    log_place,
    log_place_of_cover,
    lowest,
    size_of,
)
from ledger.completeness.intervals import Cover as Cover


def closed_by(first: int, milestone: int) -> list[Interval | Cover]:
    """The intervals, and the cover, whose records follow that of a milestone, in their order. `first`: of the log."""
    found: list[Interval | Cover] = []
    for level in range(LEVELS):
        interval = Interval(level, milestone // size_of(level))
        if interval.end != milestone or interval.number < lowest(first, level):
            break
        found.append(interval)
    return [*found, Cover(milestone // SMALLEST)] if found else []


def size_after(first: int, milestone: int) -> int:
    """The number of records in a log from `first` to a milestone, with the records that follow it.

    Raises:
        ValueError: the milestone is not positive, before the one before `first`, or above 2^32 − 1.
    """
    if not 0 < first <= milestone + 1 <= MILESTONE_MOST + 1:
        raise ValueError(f"expected a milestone from {first - 1} to {MILESTONE_MOST}, found {milestone}")
    closed = [max(0, (milestone + 1) // size_of(level) - lowest(first, level)) for level in range(LEVELS)]
    # Each interval of level 0 is followed by a cover.
    return milestone + 1 - first + sum(closed) + closed[0]


def index_of_milestone(first: int, milestone: int) -> int:
    """The index in the log of a milestone's record.

    Raises:
        ValueError: the milestone is before `first` or above 2^32 − 1.
    """
    if not first <= milestone <= MILESTONE_MOST:
        raise ValueError(f"expected a milestone from {first} to {MILESTONE_MOST}, found {milestone}")
    return size_after(first, milestone - 1)


def index_of_interval(first: int, interval: Interval) -> int:
    """The index in the log of an interval's record.

    Raises:
        ValueError: the interval is not whole in a log from `first`.
    """
    if interval not in closed_by(first, interval.end):
        raise ValueError(f"expected an interval that begins with milestone {first} or later, found {interval}")
    return log_place(first, interval)


def index_of_cover(first: int, cover: Cover) -> int:
    """The index in the log of a cover's record.

    Raises:
        ValueError: the interval of level 0 at its end is not whole in a log from `first`.
    """
    if cover not in closed_by(first, cover.end):
        raise ValueError(f"expected a cover that ends with an interval from milestone {first} on, found {cover}")
    return log_place_of_cover(first, cover.end)


def milestone_at(first: int, index: int) -> int:
    """The milestone whose record has this index in the log, or the last one of the interval or cover that has it.

    Raises:
        ValueError: no log has that many records.
    """
    found = position_at(first, index)
    return found if isinstance(found, int) else found.end


def last_milestone(first: int, size: int) -> int:
    """The last milestone in a log of `size` records; the one before `first` in an empty log.

    Raises:
        ValueError: no log from `first` has that many records, or it ends before the last record of a milestone.
    """
    found = milestone_at(first, size - 1) if size else first - 1
    if size_after(first, found) != size:
        raise ValueError(f"expected a log that ends with all records of a milestone, found {size} records")
    return found


def position_at(first: int, index: int) -> int | Interval | Cover:
    """The milestone, the interval or the cover whose record has this index in the log.

    Raises:
        ValueError: no log has that many records.
    """
    if not 0 <= index < size_after(first, MILESTONE_MOST):
        raise ValueError(f"expected an index in a log from milestone {first}, found {index}")
    later = bisect_right(range(first, MILESTONE_MOST + 1), index, key=lambda each: index_of_milestone(first, each))
    milestone = first + later - 1
    behind = index - index_of_milestone(first, milestone)
    return closed_by(first, milestone)[behind - 1] if behind else milestone
