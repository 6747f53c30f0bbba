"""Splits and partitions of a run of few messages, in this process: the rules of db/partitions.py.

The rows of such a run are here already, so its splits need neither a query nor the messages of its windows. Of earlier
rows only those of the run's own keys are counted, in the store.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import pyarrow as pa

from db import schema
from db.intervals import Intervals
from db.model import Lookup, Table
from db.partitions import WINDOW, lookup_key_text, place, ranges_of, window, window_size
from db.roles import LOOKUP_OF_TABLE
from db.store import Batch
from etl.store_reads import StoreReads
from etl.tables.splits import Growth, Splits

Key: TypeAlias = tuple[int, str]
"""A range, and a key of a lookup as in `splits`."""


@dataclass
class FewPartitions:
    """The partitions of the rows that a run adds to lookups.

    Attributes:
        reads: the store.
        run: its milestones. A position of a row is a milestone.
        counted: the lookups whose rows the run counts. Rows of others are only placed.
        chunk_size: positions per range.
        partition_size: rows per partition.
        wrote: receives table and number of written splits.
        first: the first milestone whose rows are counted. Genesis outputs are not.
    """

    reads: StoreReads
    run: Intervals
    counted: Collection[Lookup]
    chunk_size: int
    partition_size: int
    wrote: Callable[[str, int], None]
    first: int = 0
    _opened: dict[Table, dict[Key, Splits]] = field(default_factory=dict)
    _recorded: set[Table] = field(default_factory=set)

    def place(self, table: Table, rows: pa.Table) -> pa.Table:
        """Returns the rows of a lookup with their range and partition. The first rows of a counted lookup open its
        splits.
        """
        lookup = LOOKUP_OF_TABLE[table]
        positions = rows[lookup.position_column].to_pylist()
        ranges = [position // self.chunk_size for position in positions]
        keys = list(zip(ranges, _key_texts(lookup, rows), strict=True))
        splits = self._stored(table, keys)
        if lookup in self.counted and table not in self._opened:
            self._opened[table] = self._grown(lookup, rows, keys, positions, splits)
        splits |= self._opened.get(table, {})
        firsts = {key: each.first_milestones for key, each in splits.items()}
        partitions = [place(firsts.get(key, ()), position) for key, position in zip(keys, positions, strict=True)]
        placed = {name: rows[name] for name in rows.column_names}
        placed |= {lookup.range_column: pa.array(ranges, pa.int32()), "partition_id": pa.array(partitions, pa.int32())}
        return pa.table({name: placed[name] for name in table.names if name in placed})

    def record(self, batch: Batch, table: Table) -> None:
        """Writes the splits that the rows of a counted lookup opened, then its tails, before the first of these rows.

        A run that is killed between any two of these writes changes nothing when it is repeated.
        """
        if table in self._recorded or table not in self._opened:
            return
        self._recorded.add(table)
        rows = [
            (
                table.name,
                *key,
                json.dumps([*each.first_milestones], separators=(",", ":")),
                each.open_count,
                each.counted_to,
            )
            for key, each in sorted(self._opened[table].items())
        ]
        self.wrote(schema.splits.name, batch.upsert(schema.splits, schema.splits.names, rows))
        lookup = LOOKUP_OF_TABLE[table]
        before = self.reads.tails([lookup], sorted(self._ranges()))
        batch.upsert(schema.tails, schema.tails.names, tails_after([lookup], self.run, before, self.chunk_size))

    def _ranges(self) -> set[int]:
        return {each for first, last in self.run for each in ranges_of(first, last, self.chunk_size)}

    def _stored(self, table: Table, keys: Iterable[Key]) -> dict[Key, Splits]:
        """The splits in the store of those keys that have some."""
        wanted = sorted(set(keys))
        found = self.reads.many(schema.splits, [(table.name, *key) for key in wanted])
        return {
            key: Splits(json.loads(row["first_milestones"]), row["open_count"], row["counted_to"])
            for key, row in zip(wanted, found, strict=True)
            if row is not None
        }

    def _grown(
        self, lookup: Lookup, rows: pa.Table, keys: Sequence[Key], positions: Sequence[int], stored: dict[Key, Splits]
    ) -> dict[Key, Splits]:
        """The splits of all keys of the rows that are hot after the run."""
        counts, examples = defaultdict[Key, Counter[int]](Counter), dict[Key, int]()
        for number, (key, position) in enumerate(zip(keys, positions, strict=True)):
            counts[key][position] += 1
            examples[key] = number
        tails = {each: tail for _, each, tail in self.reads.tails([lookup], sorted(self._ranges()))}
        cold = {key: number for key, number in examples.items() if key not in stored and tails.get(key[0], -1) >= 0}
        earlier = dict(zip(cold, self._earlier(lookup, rows, cold), strict=True))
        growth, grown = Growth(self.run, self.chunk_size, self.partition_size, WINDOW), dict[Key, Splits]()
        for key, of_run in counts.items():
            found = sorted((of_run + earlier.get(key, Counter())).items())
            milestones, rows = zip(*found, strict=True)
            splits = growth.after(key[0], milestones, rows, tails.get(key[0], -1), stored.get(key))
            if splits is not None:
                grown[key] = splits
        return grown

    def _earlier(self, lookup: Lookup, rows: pa.Table, keys: Mapping[Key, int]) -> list[Counter[int]]:
        """The stored rows of each key in the windows of the run, by milestone, without those of the run. `keys` has the
        number of a row of each key. Rows of a key without splits are in partition 0.
        """
        named = lookup.table.partition[:-2]
        values = rows.select([name for name in named if name in lookup.key])
        values = values.take(pa.array(keys.values(), pa.int64())).to_pylist()
        found = []
        for (range_id, _), row in zip(keys, values, strict=True):
            milestones = self._milestones(range_id)
            first, last = window(milestones[0], self.chunk_size), window(milestones[-1], self.chunk_size)
            last += window_size(self.chunk_size) - 1
            parts = product(*((_in_store(row[name]),) if name in row else (False, True) for name in named))
            partitions = [(*part, range_id, 0) for part in parts]
            first = max(first, self.first)
            stored = self.reads.positions(lookup.table, lookup.position_column, partitions, first, last)
            found.append(Counter(index for index in stored if index not in milestones))
        return found

    def _milestones(self, range_id: int) -> Sequence[int]:
        """The milestones of the run in a range, ascending."""
        first, end = range_id * self.chunk_size, (range_id + 1) * self.chunk_size
        return [index for low, high in self.run for index in range(max(low, first), min(high + 1, end))]


def tails_after(
    lookups: Iterable[Lookup], run: Intervals, before: Iterable[tuple[str, int, int]], chunk_size: int
) -> list[tuple[str, int, int]]:
    """Rows of `tails`: the highest started milestone by lookup and range after the run."""
    highest = {(lookup, each): tail for lookup, each, tail in before}
    for lookup in lookups:
        for first, last in run:
            for each in ranges_of(first, last, chunk_size):
                key = (lookup.table.name, each)
                highest[key] = max(highest.get(key, -1), min(last, (each + 1) * chunk_size - 1))
    return [(lookup, each, tail) for (lookup, each), tail in sorted(highest.items())]


def _key_texts(lookup: Lookup, rows: pa.Table) -> list[str]:
    """The key of each row as in `splits`."""
    columns = (rows[name].to_pylist() for name in lookup.key)
    return [lookup_key_text(values) for values in zip(*columns, strict=True)]


def _in_store(value: Any) -> Any:
    """A value of a partition key in the form of the port of a store."""
    return value.hex() if isinstance(value, bytes) else value
