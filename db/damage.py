"""What a check of stored data finds: rows that cannot be read, or that differ from what was written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from db.intervals import Intervals


@dataclass(frozen=True)
class Damage:
    """Damaged rows of one table in one place.

    Attributes:
        table: the table of the store or of the lake. Empty if the place belongs to no table.
        place: where the rows are: a file relative to the store or the lake, and its page if it has pages.
        rows: which rows are damaged: a key, or the keys around them.
        cause: what is wrong.
        milestones: the milestones of the rows, as far as they are known.
    """

    table: str
    place: str
    rows: str
    cause: str
    milestones: Intervals = field(default_factory=list)


Checked: TypeAlias = Callable[[str, int, int | None], None]
"""Receives the progress of a check: the table or file, the bytes or rows read, and their total if it is known."""
