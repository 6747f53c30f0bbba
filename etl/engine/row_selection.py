"""Which rows of a Delta table a commit replaces, as data: no SQL text has to be parsed."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from db.intervals import Intervals


@dataclass(frozen=True)
class Selection:
    """Rows whose integer in `column` is in one of the closed intervals.

    `also` selects rows with that integer in `column` and one of those texts in a second column: (integer, column,
    texts). Null is in no interval.
    """

    column: str
    intervals: Intervals
    also: tuple[int, str, frozenset[str]] | None = None

    def may_select(self, least: int | None, greatest: int | None) -> bool:
        """Returns whether a file with these ends of `column` may have a selected row. None: the end is unknown."""
        if least is None or greatest is None:
            return bool(self.intervals) or self.also is not None
        if self.also is not None and least <= self.also[0] <= greatest:
            return True
        return any(first <= greatest and last >= least for first, last in self.intervals)

    def selects_all(self, least: int | None, greatest: int | None) -> bool:
        """Returns whether all rows of a file with these ends of `column`, and without null in it, are selected."""
        if least is None or greatest is None:
            return False
        return any(first <= least and greatest <= last for first, last in self.intervals)

    @property
    def columns(self) -> list[str]:
        """The columns that `mask` needs."""
        return [self.column] if self.also is None else [self.column, self.also[1]]

    def mask(self, rows: pa.RecordBatch) -> pa.Array:
        """Returns a boolean for each row: whether it is selected."""
        numbers = rows.column(self.column)
        values = numbers.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        ends = np.array(sorted(self.intervals), np.int64).reshape(-1, 2)
        at = np.searchsorted(ends[:, 0], values, side="right") - 1
        selected = np.zeros(len(values), bool)
        selected[at >= 0] = values[at >= 0] <= ends[at[at >= 0], 1]
        if self.also is not None:
            value, column, texts = self.also
            named = pc.is_in(rows.column(column), value_set=pa.array(sorted(texts), rows.column(column).type))
            selected |= (values == value) & named.to_numpy(zero_copy_only=False)
        return pc.and_(pa.array(selected), numbers.is_valid())
