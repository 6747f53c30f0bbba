"""SQL and CQL fragments that both stores share: conditions and order of a slice, checks of upserts and deletes.

Texts contain no values. A Shape contains none either, so statements with the same shape are rendered once.
"""

from collections.abc import Sequence
from typing import NamedTuple

from db.model import Order, Table
from db.store import Bound


class Shape(NamedTuple):
    """Number of columns in each bound, whether each is inclusive, and the direction."""

    lower: int
    lower_inclusive: bool
    upper: int
    upper_inclusive: bool
    reverse: bool


WHOLE = {reverse: Shape(0, True, 0, True, reverse) for reverse in (False, True)}  # noqa: FBT003
"""Shapes of slices without bounds."""


def shape_of(lower: Bound | None, upper: Bound | None, *, reverse: bool) -> Shape:
    """The shape of a slice."""
    if lower is None and upper is None:
        return WHOLE[reverse]
    return Shape(
        len(lower.values) if lower else 0,
        lower.inclusive if lower else True,
        len(upper.values) if upper else 0,
        upper.inclusive if upper else True,
        reverse,
    )


def conditions(table: Table, shape: Shape) -> list[str]:
    """Conditions on the clustering columns as row values, which both stores answer from the primary key."""
    clustering = table.clustering
    found = []
    if shape.lower:
        found.append(_compare(clustering[: shape.lower], ">=" if shape.lower_inclusive else ">"))
    if shape.upper:
        found.append(_compare(clustering[: shape.upper], "<=" if shape.upper_inclusive else "<"))
    return found


def ordering(table: Table, shape: Shape) -> str:
    """` ORDER BY …` with a leading space; empty for a table with single rows."""
    if not table.clustering:
        return ""
    falls = (table.order is Order.DESC) != shape.reverse
    return " ORDER BY " + ", ".join(f"{name} {'DESC' if falls else 'ASC'}" for name in table.clustering)


def check_written(table: Table, columns: Sequence[str]) -> None:
    """Raises KeyError for an unknown column, or a key column that is missing."""
    for name in columns:
        table.column(name)
    missing = [name for name in table.key if name not in columns]
    if missing:
        raise KeyError(f"upsert into {table.name} is missing key column {', '.join(missing)}")


def check_deleted(table: Table, count: int) -> None:
    """Raises ValueError unless that many key values cover the partition key."""
    if not len(table.partition) <= count <= len(table.key):
        raise ValueError(f"delete from {table.name} needs {len(table.partition)} to {len(table.key)} key values")


def _compare(names: tuple[str, ...], operator: str) -> str:
    return f"({', '.join(names)}) {operator} ({', '.join('?' * len(names))})"
