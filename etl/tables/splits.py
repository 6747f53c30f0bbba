"""The splits of hot keys after a run, by the rules of db/partitions.py, of one key or in a Python worker.

They are not an expression of the engine: Sail's `aggregate` of arrays computes each step for all rows at once, as often
as the longest array has items.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from db.intervals import Intervals
from db.partitions import hot_threshold, limit, window_size

COUNTED = pa.schema(
    {
        "lookup": pa.string(),
        "ms_range_id": pa.int32(),
        "key": pa.string(),
        "milestones": pa.list_(pa.int32()),
        "counts": pa.list_(pa.int64()),
        "tail": pa.int32(),
        "first_milestones": pa.list_(pa.int32()),
        "open_count": pa.int64(),
        "counted_to": pa.int32(),
    }
)
"""A key in a range: its milestones in the windows of the run, ascending, and their rows; `tail`, the highest milestone
of its lookup that was started before the run, or -1; its splits before the run, null for a key that was not hot.
"""

SPLITS = pa.schema([COUNTED.field(name) for name in COUNTED.names if name not in ("milestones", "counts", "tail")])
"""The splits of a key after the run."""


@dataclass(frozen=True)
class Splits:
    """The partitions of a hot key in a range: a row of `splits`."""

    first_milestones: Sequence[int]
    open_count: int
    counted_to: int


@dataclass(frozen=True)
class Growth:
    """The splits that one run adds.

    Attributes:
        run: its milestones, or days.
        chunk_size: positions per range.
        partition_size: rows per partition.
        window: the maximum size of a window.
    """

    run: Intervals
    chunk_size: int
    partition_size: int
    window: int

    def grow(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields SPLITS for COUNTED, without keys that are not hot."""
        for batch in batches:
            grown = list[dict[str, Any]]()
            # One row at a time: a key may have millions of milestones.
            for row in (batch.slice(at, 1).to_pylist()[0] for at in range(batch.num_rows)):
                before = None
                if row["counted_to"] is not None:
                    before = Splits(row["first_milestones"], row["open_count"], row["counted_to"])
                after = self.after(row["ms_range_id"], row["milestones"], row["counts"], row["tail"], before)
                if after is not None:
                    grown.append({name: row[name] for name in SPLITS.names} | vars(after))
            yield pa.RecordBatch.from_pylist(grown, SPLITS)

    def after(
        self, range_id: int, milestones: Sequence[int], counts: Sequence[int], tail: int, splits: Splits | None
    ) -> Splits | None:
        """The splits of a key after the run. None: it is not hot. The arguments are those of COUNTED. Without `splits`,
        the milestones have rows of earlier runs, too.
        """
        if splits is None:
            begin = self._first_hot(range_id, milestones, counts, tail)
            if begin is None:
                return None
            # Rows of earlier runs in the first hot window are in the first partition.
            end = min(tail + 1, begin + self._size)
            earlier = counts[bisect_left(milestones, begin) : bisect_left(milestones, end)]
            splits = Splits((), sum(earlier), max(tail, begin - 1))
        firsts, open_count, counted_to = list(splits.first_milestones), splits.open_count, splits.counted_to
        most = limit(self.partition_size)
        for at in range(bisect_right(milestones, max(tail, counted_to)), len(milestones)):
            milestone_index = milestones[at]
            if self._has_any(milestone_index, milestone_index):
                if open_count >= most:
                    firsts.append(milestone_index)
                    open_count = 0
                open_count += counts[at]
                counted_to = milestone_index
        return Splits(firsts, open_count, counted_to)

    def _first_hot(self, range_id: int, milestones: Sequence[int], counts: Sequence[int], tail: int) -> int | None:
        """The first window with enough rows and a milestone of the run above the tail."""
        range_end, at = (range_id + 1) * self.chunk_size, 0
        while at < len(milestones):
            begin = milestones[at] - milestones[at] % self.chunk_size % self._size
            # A range's last window may be cut short.
            end = min(begin + self._size, range_end)
            following = bisect_left(milestones, end, at)
            if sum(counts[at:following]) >= self.threshold and self._has_any(max(begin, tail + 1), end - 1):
                return begin
            at = following
        return None

    def _has_any(self, first: int, last: int) -> bool:
        """Whether the run has a milestone of [first, last]."""
        at = bisect_left(self.run, first, key=lambda interval: interval[1])
        return at < len(self.run) and max(first, self.run[at][0]) <= last

    @cached_property
    def threshold(self) -> int:
        """Rows in one window that make a key hot."""
        return hot_threshold(self.partition_size, self.chunk_size, self.window)

    @cached_property
    def _size(self) -> int:
        return window_size(self.chunk_size, self.window)
