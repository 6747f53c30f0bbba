"""Which milestones an archive has, by proof level, as parts of a bar."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.web.visit import Visit
from ledger.levels import LEVELS

WIDTH = 1_000
"""Units of a bar's width."""


@dataclass(frozen=True, slots=True)
class Run:
    """Milestones `first` to `last` of one level, and the part of the bar that shows them, at least one unit wide."""

    level: str
    first: int
    last: int
    x: float
    width: float


def ranges(sync: Mapping[str, Any]) -> list[tuple[int, int, str]]:
    """Returns first, last and level of each run of milestones in the JSON of `sync`, in order."""
    return sorted((each["start"], each["end"] - 1, level) for level in LEVELS for each in sync["proved"].get(level, ()))


def level_of(sync: Mapping[str, Any], index: int) -> str | None:
    """Returns the proof level of a milestone in the JSON of `sync`; None if the milestone is not complete."""
    return next((level for first, last, level in ranges(sync) if first <= index <= last), None)


async def level_at(visit: Visit, index: int | None) -> str | None:
    """Returns the proof level of a milestone; None if it is not complete, or if `index` is None."""
    return None if index is None else level_of(await visit.json("sync", start=index, end=index + 1), index)


def runs(found: Sequence[tuple[int, int, str]], first: int, last: int) -> Iterator[Run]:
    """Yields the parts of a bar that reaches from milestone `first` to `last`."""
    unit = WIDTH / (last + 1 - first)
    for start, end, level in found:
        low, high = max(start, first), min(end, last)
        if low <= high:
            x = round((low - first) * unit, 2)
            yield Run(level, low, high, x, round(max((high + 1 - low) * unit, 1), 2))


@dataclass(frozen=True, slots=True)
class State:
    """Milestones `first` to `last`, all of one level; None: they are missing."""

    level: str | None
    first: int
    last: int

    @property
    def size(self) -> int:
        """The number of milestones."""
        return self.last + 1 - self.first


@dataclass(frozen=True, slots=True)
class Cell:
    """Consecutive milestones of a map.

    Attributes:
        first: the first one.
        last: the last one.
        counts: the number of milestones of each level, None for missing ones.
        parts: level, height and vertical position of each part of the cell, in units of CELL_HEIGHT.
    """

    first: int
    last: int
    counts: Mapping[str | None, int]
    parts: Sequence[tuple[str | None, float, float]]


CELLS = 240
"""The most cells of a map."""

CELL_HEIGHT = 100

LEAST_PART = 15
"""The least height of a part, so that one missing milestone of a thousand is visible."""


def states(found: Sequence[tuple[int, int, str]], first: int, last: int) -> list[State]:
    """Divides milestones `first` to `last` into runs of one state.

    Args:
        found: first, last and level of each run of the archive in ascending order, as of `ranges`.
        first: the first milestone.
        last: the last milestone, inclusive.
    """
    runs: list[State] = []
    at = first
    for start, end, level in found:
        low, high = max(start, first), min(end, last)
        if low > high:
            continue
        if low > at:
            runs.append(State(None, at, low - 1))
        runs.append(State(level, low, high))
        at = high + 1
    if at <= last:
        runs.append(State(None, at, last))
    return runs


def counted(runs: Sequence[State]) -> Mapping[str | None, int]:
    """The number of milestones of each level in runs, None for missing ones."""
    counts: dict[str | None, int] = {}
    for each in runs:
        counts[each.level] = counts.get(each.level, 0) + each.size
    return counts


def cells(found: Sequence[tuple[int, int, str]], first: int, last: int) -> tuple[int, list[Cell]]:
    """Divides milestones `first` to `last` into at most CELLS cells. Returns the size of a cell and the cells.

    A size is 1, 2 or 5 times a power of ten, and cells begin at its multiples.
    """
    size = cell_size(last + 1 - first)
    made: list[Cell] = []
    for number in range(first // size, last // size + 1):
        low, high = max(number * size, first), min((number + 1) * size - 1, last)
        begin = bisect_left(found, low, key=lambda run: run[1])
        end = bisect_right(found, high, key=lambda run: run[0])
        counts = counted(states(found[begin:end], low, high))
        made.append(Cell(low, high, counts, parts_of(counts)))
    return size, made


def cell_size(milestones: int) -> int:
    """The least size with which milestones fit into CELLS cells, of which the first and the last can be cut."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if milestones <= factor * power * (CELLS - 1):
                return factor * power
        power *= 10


def parts_of(counts: Mapping[str | None, int]) -> list[tuple[str | None, float, float]]:
    """The parts of a cell from top to bottom: missing milestones, then the weakest level first."""
    present = [level for level in (None, *LEVELS) if counts.get(level)]
    total = sum(counts.values())
    heights = [max(CELL_HEIGHT * counts[level] / total, LEAST_PART) for level in present]
    scale, y = CELL_HEIGHT / sum(heights), 0.0
    parts = []
    for level, height in zip(present, heights, strict=True):
        parts.append((level, round(height * scale, 2), round(y, 2)))
        y += height * scale
    return parts
