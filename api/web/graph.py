"""Positions of the parts of two pictures: a message between its parents and children, and the flow of a transaction."""

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


FLOW_HEIGHT, BAR_WIDTH, BAR_MIN, BAR_GAP = 120, 5, 2, 8
"""Size of the flow of a transaction and its bars, in units of WIDTH."""


@dataclass(frozen=True, slots=True)
class Band:
    """An input or output in the flow: its bar at the edge, and the outline of the band to the center."""

    x: float
    y: float
    height: float
    outline: str


def flow_of(inputs: Sequence[int], outputs: Sequence[int]) -> tuple[float, list[Band]]:
    """Returns the height and the bands of a picture of a transaction. Their heights are as the amounts."""
    most = max(sum(inputs), sum(outputs), 1)
    left, right = _heights(inputs, most), _heights(outputs, most)
    height = max(sum(left) + BAR_GAP * (len(left) - 1), sum(right) + BAR_GAP * (len(right) - 1))
    middle = WIDTH / 2
    return height, [
        *_bands(left, height, 0, BAR_WIDTH, middle),
        *_bands(right, height, WIDTH - BAR_WIDTH, WIDTH - BAR_WIDTH, middle),
    ]


def _heights(amounts: Sequence[int], most: int) -> list[float]:
    return [max(FLOW_HEIGHT * each / most, BAR_MIN) for each in amounts]


def _bands(heights: Sequence[float], height: float, x: float, edge: float, middle: float) -> list[Band]:
    """Bars at `x` from the top, and bands from `edge` to `middle`, where they meet without gaps."""
    found = []
    y = (height - sum(heights) - BAR_GAP * (len(heights) - 1)) / 2
    inner = (height - sum(heights)) / 2
    bend = (edge + middle) / 2
    for each in heights:
        outline = (
            f"M{edge:.1f} {y:.1f}C{bend:.1f} {y:.1f} {bend:.1f} {inner:.1f} {middle:.1f} {inner:.1f}"
            f"V{inner + each:.1f}C{bend:.1f} {inner + each:.1f} {bend:.1f} {y + each:.1f} {edge:.1f} {y + each:.1f}Z"
        )
        found.append(Band(x, round(y, 1), round(each, 1), outline))
        y += each + BAR_GAP
        inner += each
    return found
