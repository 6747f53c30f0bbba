"""Where records are in the log, by arithmetic from the first milestone.

The log has the record of each milestone from the first one on. Behind the last milestone of an interval follows the
record of that interval, smaller levels first, and then one record of the cover: the list of the largest intervals that
contain all milestones so far. An interval that begins before the first milestone has no record.

Intervals of level l have 100 · 10^l milestones, and their number is the first of these divided by that size, so
archives with different first milestones have the same intervals. Ledgers have no milestone 0: interval 0 is whole in a
log that begins with milestone 1.
"""

from bisect import bisect_right
from dataclasses import dataclass

SMALLEST_INTERVAL = 100
"""Milestones of an interval of level 0."""

INTERVAL_FACTOR = 10
"""Intervals of a level in one of the next level."""

MAX_MILESTONE = 2**32 - 1

LEVELS = 8
"""Intervals of higher levels would end above the last possible milestone."""


@dataclass(frozen=True, order=True)
class Interval:
    """Consecutive milestones from `first` to `last`.

    Attributes:
        level: 0 to 7.
        number: 0 for the interval that begins at 0.
    """

    level: int
    number: int

    @property
    def size(self) -> int:
        """The number of its milestones."""
        return interval_size(self.level)

    @property
    def first(self) -> int:
        """The index of the first milestone; 0 for number 0, although no ledger has that milestone."""
        return self.number * self.size

    @property
    def last(self) -> int:
        """The index of the last milestone."""
        return self.first + self.size - 1


@dataclass(frozen=True, order=True)
class Cover:
    """The largest intervals that contain all milestones up to the end of an interval of level 0, each milestone once.

    Attributes:
        number: of this interval of level 0.
    """

    number: int

    @property
    def last(self) -> int:
        """The index of its last milestone."""
        return Interval(0, self.number).last


def interval_size(level: int) -> int:
    """The number of milestones in an interval of a level."""
    size: int = SMALLEST_INTERVAL * INTERVAL_FACTOR**level
    return size


def closed_by(first: int, milestone: int) -> list[Interval | Cover]:
    """The intervals, and the cover, whose records follow that of a milestone, in their order. `first`: of the log."""
    found: list[Interval | Cover] = []
    for level in range(LEVELS):
        size = interval_size(level)
        interval = Interval(level, milestone // size)
        if interval.last != milestone or interval.number < _first_whole(first, size):
            break
        found.append(interval)
    return [*found, Cover(milestone // SMALLEST_INTERVAL)] if found else []


def size_after(first: int, milestone: int) -> int:
    """The number of records in a log from `first` to a milestone, with the records that follow it.

    Raises:
        ValueError: the milestone is not positive, before the one before `first`, or above 2^32 − 1.
    """
    if not 0 < first <= milestone + 1 <= MAX_MILESTONE + 1:
        raise ValueError(f"expected a milestone from {first - 1} to {MAX_MILESTONE}, found {milestone}")
    sizes = map(interval_size, range(LEVELS))
    closed = [max(0, (milestone + 1) // size - _first_whole(first, size)) for size in sizes]
    # Each interval of level 0 is followed by a cover.
    return milestone + 1 - first + sum(closed) + closed[0]


def index_of_milestone(first: int, milestone: int) -> int:
    """The index in the log of a milestone's record.

    Raises:
        ValueError: the milestone is before `first` or above 2^32 − 1.
    """
    if not first <= milestone <= MAX_MILESTONE:
        raise ValueError(f"expected a milestone from {first} to {MAX_MILESTONE}, found {milestone}")
    return size_after(first, milestone - 1)


def index_of_interval(first: int, interval: Interval) -> int:
    """The index in the log of an interval's record.

    Raises:
        ValueError: the interval is not whole in a log from `first`.
    """
    if interval not in closed_by(first, interval.last):
        raise ValueError(f"expected an interval that begins with milestone {first} or later, found {interval}")
    # Smaller intervals that end at the same milestone are part of this one, so they are whole too.
    return index_of_milestone(first, interval.last) + 1 + interval.level


def index_of_cover(first: int, cover: Cover) -> int:
    """The index in the log of a cover's record.

    Raises:
        ValueError: the interval of level 0 at its end is not whole in a log from `first`.
    """
    following = closed_by(first, cover.last)
    if not following:
        raise ValueError(f"expected a cover that ends with an interval from milestone {first} on, found {cover}")
    return index_of_milestone(first, cover.last) + len(following)


def position_at(first: int, index: int) -> int | Interval | Cover:
    """The milestone, the interval or the cover whose record has this index in the log.

    Raises:
        ValueError: no log has that many records.
    """
    if not 0 <= index < size_after(first, MAX_MILESTONE):
        raise ValueError(f"expected an index in a log from milestone {first}, found {index}")
    later = bisect_right(range(first, MAX_MILESTONE + 1), index, key=lambda each: index_of_milestone(first, each))
    milestone = first + later - 1
    behind = index - index_of_milestone(first, milestone)
    return closed_by(first, milestone)[behind - 1] if behind else milestone


def _first_whole(first: int, size: int) -> int:
    """The number of the first interval of a size that is whole in a log from the milestone `first`."""
    return 0 if first <= 1 else -(-first // size)
