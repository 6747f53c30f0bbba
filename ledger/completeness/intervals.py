"""Intervals of milestones whose keys are hashed, and their places in the log.

An interval of level ℓ and number i has the milestones from i · 100 · 4^ℓ to before (i + 1) · 100 · 4^ℓ. These bounds
depend on nothing else, so archives with different first milestones agree on every interval that both have completely.
No milestone has the index 0, so interval 0 of each level begins with milestone 1.

The log of an archive has these leaves, from its first milestone on: the record of each milestone; after the last
milestone of an interval the record of that interval, smaller levels first; then one record of the cover, which is the
list of the largest intervals that contain all milestones so far, each one once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

SMALLEST = 100
"""Milestones in an interval of level 0."""

FACTOR = 4

LEVELS = 8
"""Number of levels. An interval of the highest one has 1,638,400 milestones, half a year of 10 seconds each."""

MILESTONE_MOST = (1 << 32) - 1


class Interval(NamedTuple):
    """An interval of milestones."""

    level: int
    number: int

    @property
    def start(self) -> int:
        """Its first milestone index."""
        return self.number * size_of(self.level)

    @property
    def end(self) -> int:
        """Its last milestone index."""
        return (self.number + 1) * size_of(self.level) - 1

    def children(self) -> list["Interval"]:
        """The four intervals of the level below, in order. The level must not be 0."""
        return [Interval(self.level - 1, self.number * FACTOR + offset) for offset in range(FACTOR)]


@dataclass(frozen=True, order=True)
class Cover:
    """The largest intervals that contain all milestones up to the end of an interval of level 0, each milestone once.

    Attributes:
        number: of this interval of level 0.
    """

    number: int

    @property
    def end(self) -> int:
        """Its last milestone index."""
        return Interval(0, self.number).end


def size_of(level: int) -> int:
    """The number of milestones in an interval of a level."""
    return int(SMALLEST * FACTOR**level)


def lowest(first: int, level: int) -> int:
    """The number of the first interval of a level that an archive from milestone `first` has completely."""
    return 0 if first <= 1 else -(-first // size_of(level))


def complete_from(first: int) -> int:
    """The first milestone index of the listings that an archive can prove."""
    return Interval(0, lowest(first, 0)).start


def complete_to(first: int, frontier: int) -> int | None:
    """The last milestone index of the listings that an archive can prove, fewer than 100 below its frontier.

    Args:
        first: the archive's first milestone.
        frontier: the last milestone that it has completely and without a gap since `first`.

    Returns:
        None if no interval is complete.
    """
    end = (frontier + 1) // SMALLEST * SMALLEST - 1
    return end if end >= complete_from(first) else None


def proved_span(first: int, end: int) -> tuple[int, int]:
    """The first and the last milestone of the listings that an archive from `first` proves with the cover of `end`."""
    return max(first, complete_from(first)), end


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
            if level == 0 or (start % size_of(level) == 0 and start + size_of(level) - 1 <= end)
        )
        found.append(Interval(level, start // size_of(level)))
        start += size_of(level)
    return found


def is_end(first: int, end: int) -> bool:
    """Whether an interval of an archive from milestone `first` ends at `end`."""
    return first >= 1 and complete_from(first) <= end <= MILESTONE_MOST and (end + 1) % SMALLEST == 0


def closing(first: int, before: int, after: int) -> Iterator[Interval]:
    """The intervals that are complete when the frontier reaches `after` and were not at `before`, in the log's order.

    Of an archive without complete milestones `before` is `first` − 1.
    """
    for end in range((before + 1) // SMALLEST * SMALLEST + SMALLEST - 1, after + 1, SMALLEST):
        for level in range(LEVELS):
            if (end + 1) % size_of(level) == 0 and end // size_of(level) >= lowest(first, level):
                yield Interval(level, end // size_of(level))


def log_place_of_cover(first: int, end: int) -> int:
    """The place (from 0) of a cover's record in the log of an archive from `first`. `end` is its last milestone."""
    closed = [_closed(first, level, end) for level in range(LEVELS)]
    return end - first + 1 + sum(closed) + closed[0] - 1


def log_place(first: int, interval: Interval) -> int:
    """The place (from 0) of an interval's record in the log of an archive from `first`."""
    above = range(interval.level + 1, LEVELS)
    later = sum(_closed(first, level, interval.end) - _closed(first, level, interval.end - 1) for level in above)
    return log_place_of_cover(first, interval.end) - later - 1


def _closed(first: int, level: int, end: int) -> int:
    """The number of intervals of a level that are complete at the frontier `end`."""
    return max(0, (end + 1) // size_of(level) - lowest(first, level))
