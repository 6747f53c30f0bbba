"""A message between its parents and its children, as positions of boxes and lines."""

from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_MAX = 8
"""The most parents and children in the picture; a message has at most 8 parents."""

WIDTH = 352
"""Units of the picture's width: one is a CSS pixel on a phone."""

BOX_WIDTH, BOX_HEIGHT, ROW = 88, 26, 34
"""Size of a box, and the distance between two rows, in the same unit."""

LABEL = 8
"""Digits of an id in a box."""


@dataclass(frozen=True, slots=True)
class Box:
    """A message in the picture: its id, its label, and the position of its upper left corner."""

    id: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Graph:
    """The picture. `lines`: x1, y1, x2, y2 of each."""

    height: float
    center: Box
    parents: list[Box]
    children: list[Box]
    lines: list[tuple[float, float, float, float]]


def graph_of(message_id: str, parents: Sequence[str], children: Sequence[str]) -> Graph:
    """Returns the picture of a message with its parents at the left and its first children at the right."""
    left, right = parents[:SHOWN_MAX], children[:SHOWN_MAX]
    height = max(len(left), len(right), 1) * ROW
    middle = (height - BOX_HEIGHT) / 2
    center = _box(message_id, (WIDTH - BOX_WIDTH) / 2, middle)
    before, after = _column(left, 0, height), _column(right, WIDTH - BOX_WIDTH, height)
    half = BOX_HEIGHT / 2
    lines = [(each.x + BOX_WIDTH, each.y + half, center.x, middle + half) for each in before]
    lines += [(center.x + BOX_WIDTH, middle + half, each.x, each.y + half) for each in after]
    return Graph(height, center, before, after, lines)


def _column(ids: Sequence[str], x: float, height: float) -> list[Box]:
    top = (height - len(ids) * ROW) / 2 + (ROW - BOX_HEIGHT) / 2
    return [_box(each, x, top + position * ROW) for position, each in enumerate(ids)]


def _box(message_id: str, x: float, y: float) -> Box:
    return Box(message_id, f"{message_id.removeprefix('0x')[:LABEL]}…", x, y)
