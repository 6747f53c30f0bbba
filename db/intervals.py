"""Closed intervals of milestones: ascending, disjoint, never touching; as JSON text in the table `ranges`.

Rules of this file: pure; every function takes and gives intervals in that one form.
"""

import json
from collections.abc import Iterable
from typing import TypeAlias

Intervals: TypeAlias = list[tuple[int, int]]


def intervals(parts: Iterable[tuple[int, int]]) -> Intervals:
    """Any closed intervals, in any order, overlapping or touching, in the one form."""
    merged: Intervals = []
    for first, last in sorted(parts):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def of_indices(indices: Iterable[int]) -> Intervals:
    """The intervals that hold exactly these milestones."""
    return intervals((index, index) for index in indices)


def parse_intervals(text: str) -> Intervals:
    """From `[[first, last], …]`."""
    return [(int(first), int(last)) for first, last in json.loads(text)]


def format_intervals(value: Intervals) -> str:
    """As `[[first, last], …]`."""
    return json.dumps(value)


def in_words(value: Intervals) -> str:
    """As 1–20, 22; the first twenty of them."""
    texts = [f"{first}–{last}" if first < last else str(first) for first, last in value]
    more = f" and {len(texts) - 20:,} more" if len(texts) > 20 else ""
    return (", ".join(texts[:20]) or "none") + more


def size(value: Intervals) -> int:
    """How many milestones they hold."""
    return sum(last - first + 1 for first, last in value)


def nth(value: Intervals, position: int) -> int:
    """The milestone at a position among all they hold, from 0; IndexError beyond the last."""
    for first, last in value:
        if position <= last - first:
            return first + position
        position -= last - first + 1
    raise IndexError(position)


def contains(value: Intervals, index: int) -> bool:
    """Whether one of them holds the milestone."""
    return any(first <= index <= last for first, last in value)


def add(left: Intervals, right: Intervals) -> Intervals:
    """Milestones of either."""
    return intervals([*left, *right])


def intersect(left: Intervals, right: Intervals) -> Intervals:
    """Milestones of both."""
    found: Intervals = []
    ours, theirs = 0, 0
    while ours < len(left) and theirs < len(right):
        first = max(left[ours][0], right[theirs][0])
        last = min(left[ours][1], right[theirs][1])
        if first <= last:
            found.append((first, last))
        if left[ours][1] < right[theirs][1]:
            ours += 1
        else:
            theirs += 1
    return intervals(found)


def subtract(left: Intervals, right: Intervals) -> Intervals:
    """Milestones of the first that are not in the second."""
    return intersect(left, gaps(right, left[0][0], left[-1][1])) if left else []


def gaps(value: Intervals, first: int, last: int) -> Intervals:
    """Milestones of first..last that are in none of them."""
    missing: Intervals = []
    start = first
    for low, high in value:
        if low > start:
            missing.append((start, min(low - 1, last)))
        start = max(start, high + 1)
        if start > last:
            return [gap for gap in missing if gap[0] <= gap[1]]
    missing.append((start, last))
    return [gap for gap in missing if gap[0] <= gap[1]]
