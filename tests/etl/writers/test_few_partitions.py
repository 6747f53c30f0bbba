"""Splits, partitions and hints of small runs, which this process computes from the rows and the store."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from db import schema
from db.connect import StoreSettings, open_store
from db.intervals import of_indices
from db.partitions import WINDOW
from etl.store_reads import StoreReads
from etl.tables.splits import Growth, Splits
from etl.writers.few_partitions import FewPartitions
from etl.writers.few_rows import hint_rows
from tests import partition_model as model
from tests.etl.tables.test_placement import GEOMETRIES, cases
from tests.sqlite_stores import create

TAG = bytes.fromhex("c0ffee")
TAGS = next(lookup for lookup in schema.LOOKUPS if lookup.table is schema.tags)


@pytest.mark.parametrize(("chunk_size", "partition_size"), GEOMETRIES)
def test_keys_grow_as_in_the_model(chunk_size: int, partition_size: int) -> None:
    grown = 0
    drawn = cases(random.Random(f"{chunk_size} {partition_size}"), chunk_size, partition_size)
    for range_id, case in enumerate(drawn):
        growth = Growth(of_indices(case.run), chunk_size, partition_size, WINDOW)
        for key in case.rows:
            selected, before = dict(case.of_run(key, chunk_size)), case.before.get(key)
            sizes = {"chunk_size": chunk_size, "partition_size": partition_size}
            expected = model.grow(before, selected.items(), case.run, case.tail, **sizes)
            splits = None if before is None else Splits(before.first_milestones, before.open_count, before.counted_to)
            found = growth.after(range_id, [*selected], [*selected.values()], case.tail, splits)
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:
                grown += 1
                assert tuple(found.first_milestones) == expected.first_milestones
                assert (found.open_count, found.counted_to) == (expected.open_count, expected.counted_to)
    assert grown


class Store:
    """A store whose lookup `tags` gets the rows of one key, milestone by milestone."""

    def __init__(self, folder: Path) -> None:
        self.settings = StoreSettings(url=f"sqlite:///{folder}", network="permatest-1", chunk_size=20, partition_size=6)
        create(self.settings)
        self.store = open_store(self.settings, writable=True)
        self.reads = StoreReads(self.store, self.settings.network)

    def add(self, milestones: dict[int, int]) -> pa.Table:
        """Writes that many rows of the key to each milestone, in one run. Returns the rows."""
        rows = pa.table(
            {
                "tag": [TAG for count in milestones.values() for _ in range(count)],
                "milestone_index": [index for index, count in milestones.items() for _ in range(count)],
                "message_id": [bytes([n]) * 32 for count in milestones.values() for n in range(count)],
            }
        )
        sizes = (self.settings.chunk_size, self.settings.partition_size)
        partitions = FewPartitions(self.reads, of_indices(milestones), [TAGS], *sizes, lambda *_: None)
        placed = partitions.place(schema.tags, rows)
        with self.store.batch() as batch:
            partitions.record(batch, schema.tags)
            batch.upsert(schema.tags, placed.column_names, zip(*placed.to_pydict().values(), strict=True))
        return placed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    with closing(made.store), closing(made.reads):
        yield made


def test_runs_place_rows_as_the_model(store: Store) -> None:
    rng = random.Random(3)
    counts = {index: rng.randrange(4) for index in range(60)}
    splits: dict[int, model.Splits | None] = dict.fromkeys(range(3))
    started, at = dict.fromkeys(range(3), -1), 0
    while at < 60:
        size = rng.choice([1, 1, 2, 7])
        run = {index: counts[index] for index in range(at, min(at + size, 60))}
        placed = store.add({index: count for index, count in run.items() if count}) if any(run.values()) else None
        at += size
        if placed is None:
            continue
        begun = sorted(index for index, count in run.items() if count)
        for range_id in {index // 20 for index in begun}:
            in_range = [index for index in begun if index // 20 == range_id]
            known = [(index, counts[index]) for index in range(range_id * 20, at) if counts.get(index)]
            sizes = {"chunk_size": 20, "partition_size": 6}
            splits[range_id] = model.grow(splits[range_id], known, in_range, started[range_id], **sizes)
            started[range_id] = max(in_range)
        for row in placed.to_pylist():
            firsts = splits[row["ms_range_id"]]
            expected = model.place(() if firsts is None else firsts.first_milestones, row["milestone_index"])
            assert (row["ms_range_id"], row["partition_id"]) == (row["milestone_index"] // 20, expected)
    assert {len(each.first_milestones) > 1 for each in splits.values() if each is not None} == {True}


def test_hints_list_each_partition_once() -> None:
    tags = pa.table({"tag": [TAG, TAG, b"x"], "ms_range_id": [0, 0, 1], "partition_id": [0, 0, 7]})
    hints = hint_rows({schema.tags: tags}.__getitem__, schema.tag_hints, {schema.tags})
    columns = ("tag", "table_kind", "ms_range_id", "partition_id")
    found = sorted(tuple(row[name] for name in columns) for row in hints.to_pylist())
    assert found == [(b"x", "message", 1, 7), (TAG, "message", 0, 0)]
