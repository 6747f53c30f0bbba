"""Restricts a listing to rows in intervals of milestones, or of another position that orders them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from db.intervals import Intervals, intersect
from db.listing.streams import Source, Stream
from db.store import Bound, Key, Row, Store


@dataclass(frozen=True, slots=True)
class Position:
    """The column that orders rows first. It must be an integer, and so must the clustering columns before it."""

    column: str
    beginning: Callable[[int], Key]


MILESTONE = Position("milestone_index", lambda milestone_index: (milestone_index,))

POSITION_MAX = 2**62
"""Greater than any position."""


class SpanStream:
    """The rows of a source whose `position` (default: milestone) lies in some intervals. At most one read goes beyond
    the end of each interval.
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

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows, all in one interval."""
        while self._left:
            first, last = self._left[-1]
            if self._stream is None:
                self._stream = self._open(last if self._newest else first)
            rows = await self._stream.next(limit)
            # The rows begin inside the interval and are in order, so if the last one is inside, all are.
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
            # Nothing precedes the first position, so no hint needs to be read.
            start = Bound(self._position.beginning(edge)) if edge or self._newest else None
        return self._source(self._store, start, self._newest)


def within(source: Source, spans: Intervals, position: Position = MILESTONE) -> Source:
    """Restricts a source to rows whose `position` (default: milestone) lies in the intervals."""

    def restricted(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        if newest and start is None and len(spans) == 1 and spans[0][0] == 0:
            # Nothing follows the interval, so it is enough to begin in it.
            return source(store, Bound(position.beginning(spans[0][1])), newest)
        return SpanStream(store, source, spans, start, position, newest=newest)

    return restricted
