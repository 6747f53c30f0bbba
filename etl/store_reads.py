"""Synchronous reads of a store for loads. Each runs one query of db/queries, a bounded number of partition reads.

It has more than 350 lines because it lists all reads; most of them have few lines.
"""

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

from db import schema, sync
from db.admin.wormhole_status import get_holdings
from db.intervals import Intervals
from db.model import Lookup, Order, Table
from db.queries import calendar, ledger, log, log_records
from db.queries.wormhole.holdings import Holdings
from db.roles import LEGACY
from db.store import Bound, Key, Row, Store
from ledger.chrysalis.values import TreasuryOutput
from ledger.stardust.codec import decode_output
from ledger.stardust.named import named

T = TypeVar("T")

PAGE = 10_000
OWNERS_AT_ONCE = 32

ALL_ROWS = 2**31 - 1
"""A limit above every number of rows."""


class StoreReads:
    """Synchronous reads of one store. Threads may share it."""

    def __init__(self, store: Store, network: str) -> None:
        self._store = store
        self.network = network
        self._runner = asyncio.Runner()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Ends the event loop."""
        self._runner.close()

    def _answer(self, query: Coroutine[Any, Any, T]) -> T:
        """Runs a query; other threads wait. The loop turns once more, so that the store can end the turn's work."""

        async def answered() -> T:
            answer = await query
            await asyncio.sleep(0)
            return answer

        with self._lock:
            return self._runner.run(answered())

    def held(self) -> sync.Held:
        """The milestones in the store."""
        return self._answer(sync.held(self._store, self.network))

    def row_counts(self, tables: Sequence[Table]) -> dict[Table, int]:
        """The numbers of rows of tables. Omits those whose number the store does not know."""
        sizes = {each.table: each.rows for each in self._answer(self._store.describe(tables))} if tables else {}
        return {table: rows for table in tables if (rows := sizes.get(table.name)) is not None}

    def complete(self) -> Intervals:
        """Complete milestones, ascending."""
        return self.held().complete

    def missing(self) -> Intervals:
        """The missing milestones, as `permanode status` defines them."""
        return sync.missing(self.held(), self.genesis())

    def newest_milestone(self) -> int | None:
        """The highest complete milestone."""
        return self._answer(sync.find_newest_milestone(self._store, self.network))

    def ledger_index(self) -> int | None:
        """The milestone whose ledger state the store has; None if genesis was never applied."""
        return self._answer(ledger.find_ledger_index(self._store, self.network))

    def genesis(self) -> int | None:
        """The milestone of the genesis; None if it was never applied."""
        return self._answer(ledger.find_genesis(self._store, self.network))

    def log_head(self) -> log.LogHead | None:
        """The head of the transparency log; None without a log."""
        return self._answer(log.find_head(self._store, self.network))

    def proved(self) -> range:
        """The milestones that have records for the transparency log; empty without any."""
        return self._answer(log_records.find_proved(self._store)) or range(0)

    def closed_records(self, first: int, after: int, to: int) -> Iterator[bytes]:
        """Runs db.queries.log_records.closed_records, for PAGE milestones at a time."""

        async def read(some: range) -> list[bytes]:
            found = log_records.closed_records(self._store, first, some.start, some.stop)
            return [bytes(each) async for each in found]

        for start in range(after, to, PAGE):
            yield from self._answer(read(range(start, min(start + PAGE, to))))

    def holdings(self) -> Holdings:
        """The holdings of a Wormhole network, as in `permanode status`."""
        return self._answer(get_holdings(self._store))

    def owners(self, output_ids: Sequence[bytes], genesis: int) -> dict[bytes, tuple[Any, ...]]:
        """etl.ledger_state.changes.OWNED of the outputs whose creator is in the store.

        The state has genesis outputs at the milestone `genesis`, even if the milestone that created them is loaded.
        """
        return {
            output_id: (
                row["data"][0],
                bytes.fromhex(row["address"]),
                row["amount"],
                max(row["created_milestone_index"], genesis),
                _named(output_id, row),
                None if row["output_kind"] == LEGACY else row["data"],
            )
            for output_id, row in self._created(output_ids)
        }

    def booked(self, output_ids: Sequence[bytes]) -> dict[bytes, int]:
        """The milestones that booked these outputs of the genesis, as far as they are known."""
        found: dict[bytes, int] = {}
        for start in range(0, len(output_ids), PAGE):
            some = output_ids[start : start + PAGE]
            rows = self.many(schema.booked_outputs, [(output_id.hex(),) for output_id in some])
            found |= {output_id: row["milestone_index"] for output_id, row in zip(some, rows, strict=True) if row}
        return found

    def facts(self, output_ids: Sequence[bytes]) -> list[tuple[Any, ...]]:
        """etl.ledger_state.conflict_reasons.FACTS of those outputs that were created here."""
        return [
            (
                output_id,
                row["data"][0],
                bytes.fromhex(row["address"]),
                row["amount"],
                row["created_milestone_index"],
                row["created_white_flag_index"],
                row["spent_milestone_index"],
                row["spent_white_flag_index"],
                row["data"],
            )
            for output_id, row in self._created(output_ids)
        ]

    def balances(self, addresses: Sequence[bytes], ledger_index: int) -> list[tuple[Any, ...]]:
        """etl.ledger_state.changes.BALANCES of the addresses after a milestone. Omits unknown addresses."""
        return [
            (
                address,
                ledger_index,
                *(row[name] for name in ("balance", "unspent_count", "dust_allowance", "dust_outputs")),
            )
            for address in addresses
            if (row := self._answer(ledger.find_balance(self._store, address.hex(), ledger_index))) is not None
        ]

    def begun_intervals(self, days: Iterable[int], genesis: int, last: int) -> list[calendar.Interval]:
        """Runs db.queries.calendar.list_begun."""
        return self._answer(calendar.list_begun(self._store, days, genesis, last))

    def interval_counts(
        self, chunk_size: int, intervals: Sequence[calendar.Interval], last: int
    ) -> Mapping[str, Mapping[int, int]]:
        """Runs db.queries.calendar.find_counts."""
        return self._answer(calendar.find_counts(self._store, chunk_size, intervals, last))

    def active(
        self, owners: Sequence[bytes], intervals: Sequence[calendar.Interval], last: int
    ) -> list[tuple[Any, ...]]:
        """etl.analytics.calendar.ACTIVE of the owners that were active in the intervals, up to milestone `last`."""

        async def find_all(some: Sequence[bytes]) -> list[list[tuple[int, int]]]:
            each = (calendar.list_active(self._store, owner.hex(), intervals, last) for owner in some)
            return await asyncio.gather(*each)

        found: list[tuple[Any, ...]] = []
        for start in range(0, len(owners), OWNERS_AT_ONCE):
            some = owners[start : start + OWNERS_AT_ONCE]
            milestones = self._answer(find_all(some))
            found += [(*each, owner) for owner, of_owner in zip(some, milestones, strict=True) for each in of_owner]
        return found

    def ledger_steps(self, count: int) -> list[int]:
        """The last frontiers of the ledger state, newest first."""
        rows = self._answer(self._store.slice(schema.ledger_frontier, (self.network,), limit=count))
        return [row["ledger_index"] for row in rows]

    def wealth(self, ledger_index: int) -> tuple[list[tuple[bytes, int]], dict[int, tuple[int, int]]]:
        """The fields of etl.ledger_state.rich_list.Wealth at a frontier."""
        rows = self._answer(ledger.get_distribution(self._store, self.network, ledger_index))
        richest = self.partition(schema.rich_list, (self.network, ledger_index))
        return (
            [(bytes.fromhex(row["address"]), row["balance"]) for row in richest],
            {row["power"]: (row["addresses"], row["amount"]) for row in rows},
        )

    def ranked_after(self, ledger_index: int) -> list[int]:
        """The later ledger indexes that have rows of `distribution`."""
        after = Bound((ledger_index,), inclusive=False)
        columns = ("ledger_index",)
        rows = self._answer(
            self._store.slice(schema.distribution, (self.network,), lower=after, limit=ALL_ROWS, columns=columns)
        )
        return sorted({row["ledger_index"] for row in rows})

    def treasury(self, frontier: int, to: int) -> list[tuple[int, int]]:
        """The milestone and amount of the treasury at a frontier (0, 0 without one), then those of each milestone of
        (frontier, to] that changed it, ascending.
        """

        async def read() -> list[Row]:
            at = Bound((frontier,))
            before = await self._store.slice(schema.treasury, (self.network,), upper=at, limit=1)
            low, high = Bound((frontier,), inclusive=False), Bound((to,))
            return [
                *(before or [{"milestone_index": 0, "amount": 0}]),
                *await self._store.slice(
                    schema.treasury, (self.network,), lower=low, upper=high, reverse=True, limit=ALL_ROWS
                ),
            ]

        return [(row["milestone_index"], row["amount"]) for row in self._answer(read())]

    def ledger_updates(self, first: int, last: int) -> Iterator[Row]:
        """Rows of ledger_updates_by_milestone of [first, last]: one partition per milestone."""
        for milestone_index in range(first, last + 1):
            yield from self.partition(schema.ledger_updates_by_milestone, (milestone_index,))

    def changes(self, first: int, last: int) -> list[tuple[int, int, int, bool, bytes, bytes]]:
        """The changes of [first, last], ascending in the order in which they took effect: milestone, white-flag index,
        index of the output or input, whether it was spent, output id, owner. One turn of the loop.
        """
        table = schema.ledger_updates_by_milestone
        columns = tuple(name for name in table.names if name != "amount")

        async def read() -> list[Row]:
            found: list[Row] = []
            for milestone_index in range(first, last + 1):
                after: Bound | None = None
                while True:
                    page = await self._store.slice(table, (milestone_index,), upper=after, limit=PAGE, columns=columns)
                    found += page
                    if len(page) < PAGE:
                        break
                    after = Bound((page[-1]["output_id"], page[-1]["is_spent"]), inclusive=False)
            return found

        return sorted(
            (
                row["milestone_index"],
                row["white_flag_index"],
                row["idx"],
                row["is_spent"],
                bytes.fromhex(row["output_id"]),
                bytes.fromhex(row["address"]),
            )
            for row in self._answer(read())
        )

    def tiles(self, level: int, number: int, columns: tuple[str, ...] | None = None) -> Iterator[Row]:
        """Rows of listing_tiles of an interval, in order. `columns` as in `partition`."""
        for part in count():
            rows = False
            for row in self.partition(schema.listing_tiles, (level, number, part), columns):
                rows = True
                yield row
            if not rows:
                return

    def splits(
        self, lookups: Sequence[Lookup], ranges: Sequence[int]
    ) -> list[tuple[str, int, str, list[int], int, int]]:
        """Splits of the lookups in these ranges, as etl.tables.partition_columns.SPLITS."""
        rows = (
            row
            for lookup in lookups
            for each in ranges
            for row in self.partition(schema.splits, (lookup.table.name, each))
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

    def tails(self, lookups: Sequence[Lookup], ranges: Sequence[int]) -> list[tuple[str, int, int]]:
        """(lookup, ms_range_id, tail) of the ranges that have a tail."""
        wanted = set(ranges)
        rows = (row for lookup in lookups for row in self.partition(schema.tails, (lookup.table.name,)))
        found = ((row["lookup"], row["ms_range_id"], row["milestone_index"]) for row in rows)
        return [each for each in found if each[1] in wanted]

    def positions(self, table: Table, column: str, partitions: Sequence[Key], first: int, last: int) -> list[int]:
        """The milestones in [first, last] of all rows of these partitions. `column`: the first clustering column."""

        async def read() -> list[Sequence[Row]]:
            low, high = Bound((first,)), Bound((last,))
            slices = (
                self._store.slice(table, each, lower=low, upper=high, limit=ALL_ROWS, columns=(column,))
                for each in partitions
            )
            return [await each for each in slices]

        return [row[column] for rows in self._answer(read()) for row in rows]

    def info(self, name: str) -> str | None:
        """The value of a key of keyspace_info; None if it is missing."""
        row = self._answer(self._store.get(schema.keyspace_info, (name,)))
        return None if row is None else row["value"]

    def many(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        """One result per key, in the order of the keys."""
        return self._answer(self._store.get_many(table, keys))

    def sync_rows(self, ms_range_id: int) -> list[Row]:
        """The range's slice of `sync`."""
        return list(self.partition(schema.sync, (ms_range_id,)))

    def partition(
        self, table: Table, partition: Key, columns: tuple[str, ...] | None = None, *, first: int | None = None
    ) -> Iterator[Row]:
        """All rows of a partition, in its order; of `columns`, including the clustering ones, where they are given.
        `first`: the lowest value of the first clustering column. Default: all rows.
        """
        descending = table.order is Order.DESC
        bound: dict[str, Any] = {} if first is None else {"lower": Bound((first,))}
        while True:
            page = self._answer(self._store.slice(table, partition, limit=PAGE, columns=columns, **bound))
            yield from page
            if len(page) < PAGE:
                return
            after = Bound(tuple(page[-1][name] for name in table.clustering), inclusive=False)
            bound["upper" if descending else "lower"] = after

    def _created(self, output_ids: Sequence[bytes]) -> Iterator[tuple[bytes, Row]]:
        """Rows of `outputs` whose creator is known."""
        for start in range(0, len(output_ids), PAGE):
            some = output_ids[start : start + PAGE]
            keys = [(output_id.hex(),) for output_id in some]
            for output_id, row in zip(some, self.many(schema.outputs, keys), strict=True):
                if row is not None and row["created_milestone_index"] is not None:
                    yield output_id, row


def _named(output_id: bytes, row: Row) -> dict[str, Any] | None:
    """The lake's struct of a Stardust output, from its row of `outputs`; None for Chrysalis outputs."""
    if row["output_kind"] == LEGACY:
        return None
    output = decode_output(row["data"])
    assert not isinstance(output, TreasuryOutput)
    return named(output, output_id)._asdict()
