"""What SQL and CQL say alike: the conditions and the order of a slice, what an upsert or a delete may name.

Rules of this file: text without values; a shape holds none either, so that what is asked alike is rendered once.
"""

from collections.abc import Sequence
from typing import NamedTuple

from db.model import Order, Table
from db.store import Bound


class Shape(NamedTuple):
    """How many columns each bound names, whether it includes them, the direction."""

    lower: int
    lower_inclusive: bool
    upper: int
    upper_inclusive: bool
    reverse: bool


WHOLE = {reverse: Shape(0, True, 0, True, reverse) for reverse in (False, True)}  # noqa: FBT003
"""Of slices without bounds."""


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
    """What holds of the clustering columns, as row values, which both stores answer from the primary key."""
    clustering = table.clustering
    found = []
    if shape.lower:
        found.append(_compare(clustering[: shape.lower], ">=" if shape.lower_inclusive else ">"))
    if shape.upper:
        found.append(_compare(clustering[: shape.upper], "<=" if shape.upper_inclusive else "<"))
    return found


def ordering(table: Table, shape: Shape) -> str:
    """ORDER BY with a space before it; empty for a table of single rows."""
    if not table.clustering:
        return ""
    falls = (table.order is Order.DESC) != shape.reverse
    return " ORDER BY " + ", ".join(f"{name} {'DESC' if falls else 'ASC'}" for name in table.clustering)


def check_written(table: Table, columns: Sequence[str]) -> None:
    """KeyError for a column that an upsert may not name, or for a key column that it lacks."""
    for name in columns:
        table.column(name)
    missing = [name for name in table.key if name not in columns]
    if missing:
        raise KeyError(f"upsert into {table.name} lacks key column {', '.join(missing)}")


def check_deleted(table: Table, count: int) -> None:
    """ValueError unless that many key values cover the partition key."""
    if not len(table.partition) <= count <= len(table.key):
        raise ValueError(f"delete from {table.name} needs {len(table.partition)} to {len(table.key)} key values")


def _compare(names: tuple[str, ...], operator: str) -> str:
    return f"({', '.join(names)}) {operator} ({', '.join('?' * len(names))})"
