"""Closed intervals of milestones: ascending, disjoint, not adjacent; stored as JSON text in the table `ranges`.

All functions are pure. They take and return intervals in this normal form.
"""

import json
from collections.abc import Iterable
from typing import TypeAlias

Intervals: TypeAlias = list[tuple[int, int]]


def intervals(parts: Iterable[tuple[int, int]]) -> Intervals:
    """Normalizes closed intervals that may be in any order, overlap or touch."""
    merged: Intervals = []
    for first, last in sorted(parts):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def of_indices(indices: Iterable[int]) -> Intervals:
    """The intervals that contain exactly these milestones."""
    return intervals((index, index) for index in indices)


def parse_intervals(text: str) -> Intervals:
    """Parses `[[first, last], …]`."""
    return [(int(first), int(last)) for first, last in json.loads(text)]


def format_intervals(value: Intervals) -> str:
    """Formats as `[[first, last], …]`."""
    return json.dumps(value)


def in_words(value: Intervals) -> str:
    """Formats the first twenty intervals as 1:21, 22: the form of --range, without the last milestone."""
    texts = [word(each) for each in value]
    more = f" and {len(texts) - 20:,} more" if len(texts) > 20 else ""
    return (", ".join(texts[:20]) or "none") + more


def word(interval: tuple[int, int]) -> str:
    """Formats an interval as 1:21, or as 22 if it is a single milestone."""
    first, last = interval
    return f"{first}:{last + 1}" if first < last else str(first)


def in_width(value: Intervals, cells: int) -> str:
    """Formats as many intervals as fit into that many characters, and the number of the others."""
    texts = [word(each) for each in value]
    for shown in range(len(texts), 0, -1):
        more = len(texts) - shown
        text = ", ".join(texts[:shown]) + (f" and {more:,} more" if more else "")
        if len(text) <= cells or shown == 1:
            return text
    return "none"


def size(value: Intervals) -> int:
    """The number of milestones in the intervals."""
    return sum(last - first + 1 for first, last in value)


def nth(value: Intervals, position: int) -> int:
    """The milestone at a position (from 0) among all in the intervals. Raises IndexError beyond the last."""
    for first, last in value:
        if position <= last - first:
            return first + position
        position -= last - first + 1
    raise IndexError(position)


def span(value: Intervals, first: int | None, last: int | None) -> Intervals:
    """The requested milestones [first, last), none of them below 1, as one interval.

    Without `first` or `last` it begins or ends where the milestones in `value` do; [] if there are none.
    """
    if not value and None in (first, last):
        return []
    begin = max(1, value[0][0] if first is None else first)
    end = value[-1][1] if last is None else last - 1
    return [(begin, end)] if begin <= end else []


def contains(value: Intervals, index: int) -> bool:
    """Whether an interval contains the milestone."""
    return any(first <= index <= last for first, last in value)


def add(left: Intervals, right: Intervals) -> Intervals:
    """The union."""
    return intervals([*left, *right])


def intersect(left: Intervals, right: Intervals) -> Intervals:
    """The intersection."""
    found: Intervals = []
    at_left, at_right = 0, 0
    while at_left < len(left) and at_right < len(right):
        first = max(left[at_left][0], right[at_right][0])
        last = min(left[at_left][1], right[at_right][1])
        if first <= last:
            found.append((first, last))
        if left[at_left][1] < right[at_right][1]:
            at_left += 1
        else:
            at_right += 1
    return intervals(found)


def subtract(left: Intervals, right: Intervals) -> Intervals:
    """The milestones of the first that are not in the second."""
    return intersect(left, gaps(right, left[0][0], left[-1][1])) if left else []


def gaps(value: Intervals, first: int, last: int) -> Intervals:
    """The milestones of first..last that are in none of the intervals."""
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
