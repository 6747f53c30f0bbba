"""What a load asks of its store, answered outside an event loop.

Rules of this file: a thin bridge; the questions are db/queries', each a bounded number of partition reads.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

from db import schema, sync
from db.intervals import Intervals
from db.model import Order, Table
from db.store import Bound, Key, Row, Store

PAGE = 10_000


class StoreReads:
    """Synchronous reads of one store."""

    def __init__(self, store: Store, network: str) -> None:
        self._store = store
        self._network = network
        self._runner = asyncio.Runner()

    def close(self) -> None:
        """Ends the event loop."""
        self._runner.close()

    def complete(self) -> Intervals:
        """Complete milestones, ascending."""
        return self._runner.run(sync.complete(self._store, self._network))

    def message_count(self) -> int:
        """Messages of complete milestones."""
        return sum(int(row["message_count"] or 0) for row in self._partition(schema.ranges, (self._network,)))

    def newest_milestone(self) -> int | None:
        """The highest complete milestone."""
        return self._runner.run(sync.find_newest_milestone(self._store, self._network))

    def splits(self, ranges: Sequence[int]) -> list[tuple[str, int, str, list[int], int, int]]:
        """Splits of every lookup in those ranges, as etl.placement.SPLITS."""
        rows = (
            row
            for lookup in schema.LOOKUPS
            for each in ranges
            for row in self._partition(schema.splits, (lookup.table.name, each))
        )
        return [
            (
                row["lookup"],
                row["ms_range_id"],
                row["key"],
                json.loads(row["first_milestones"]),
                row["open_count"],
                row["counted_to"],
            )
            for row in rows
        ]

    def tails(self, ranges: Sequence[int]) -> list[tuple[str, int, int]]:
        """(lookup, ms_range_id, tail) of those ranges, where there is one."""
        wanted = set(ranges)
        rows = (row for lookup in schema.LOOKUPS for row in self._partition(schema.tails, (lookup.table.name,)))
        found = ((row["lookup"], row["ms_range_id"], row["milestone_index"]) for row in rows)
        return [each for each in found if each[1] in wanted]

    def sync_rows(self, ms_range_id: int) -> list[Row]:
        """The range's slice of `sync`."""
        return list(self._partition(schema.sync, (ms_range_id,)))

    def _partition(self, table: Table, partition: Key) -> Iterator[Row]:
        after: Bound | None = None
        descending = table.order is Order.DESC
        while True:
            bound: dict[str, Any] = {} if after is None else {"upper" if descending else "lower": after}
            page = self._runner.run(self._store.slice(table, partition, limit=PAGE, **bound))
            yield from page
            if len(page) < PAGE:
                return
            after = Bound(tuple(page[-1][name] for name in table.clustering), inclusive=False)
