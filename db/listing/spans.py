"""The part of a listing whose rows lie in some intervals of what orders them: milestones, or another position.

Rules of this file: as in streams.py, whose sources it narrows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from db.intervals import Intervals, intersect
from db.listing.streams import Source, Stream
from db.store import Bound, Key, Row, Store


@dataclass(frozen=True, slots=True)
class Position:
    """What rows are ordered by first: a column of integers, and what the clustering of rows begins with, up to that
    column, where it is such an integer.
    """

    column: str
    beginning: Callable[[int], Key]


MILESTONE = Position("milestone_index", lambda milestone_index: (milestone_index,))

POSITION_MAX = 2**62
"""Behind any position."""


class SpanStream:
    """The rows of a source whose milestones, or other `position`, lie in some intervals: at most one read goes beyond
    the end of each.
    """

    def __init__(
        self, store: Store, source: Source, spans: Intervals, start: Bound | None, position: Position, *, newest: bool
    ) -> None:
        self._store, self._source, self._start, self._newest = store, source, start, newest
        self._position = position
        self._started_at = start.values[len(position.beginning(0)) - 1] if start else None
        if self._started_at is not None:
            assert isinstance(self._started_at, int)
            spans = intersect(spans, [(0, self._started_at) if newest else (self._started_at, POSITION_MAX)])
        self._left = spans if newest else spans[::-1]
        self._stream: Stream | None = None

    @property
    def ended(self) -> bool:
        """Whether the last interval is at its end."""
        if len(self._left) == 1:
            return self._stream is not None and self._stream.ended
        return not self._left

    async def next(self, limit: int) -> list[Row]:
        """The next rows, of one interval."""
        while self._left:
            first, last = self._left[-1]
            if self._stream is None:
                self._stream = self._open(last if self._newest else first)
            rows = await self._stream.next(limit)
            # They begin inside and are in order: where the last one is, all are.
            if rows and first <= rows[-1][self._position.column] <= last:
                return rows
            self._left, self._stream = self._left[:-1], None
            inside = [row for row in rows if first <= row[self._position.column] <= last]
            if inside:
                return inside
        return []

    def _open(self, edge: int) -> Stream:
        if self._started_at == edge:
            start = self._start
        else:
            # Nothing is before the beginning, which no hint has to be asked for.
            start = Bound(self._position.beginning(edge)) if edge or self._newest else None
        return self._source(self._store, start, self._newest)


def within(source: Source, spans: Intervals, position: Position = MILESTONE) -> Source:
    """Of a source the rows whose milestones, or other `position`, lie in those intervals."""
    return lambda store, start, newest: SpanStream(store, source, spans, start, position, newest=newest)
