"""Which milestones an archive has, by proof level, as parts of a bar."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    return next(
        (
            level
            for level, ranges in sync["proved"].items()
            if any(each["start"] <= index < each["end"] for each in ranges)
        ),
        None,
    )


def runs(found: Sequence[tuple[int, int, str]], first: int, last: int) -> Iterator[Run]:
    """Yields the parts of a bar that reaches from milestone `first` to `last`."""
    unit = WIDTH / (last + 1 - first)
    for start, end, level in found:
        low, high = max(start, first), min(end, last)
        if low <= high:
            x = round((low - first) * unit, 2)
            yield Run(level, low, high, x, round(max((high + 1 - low) * unit, 1), 2))
