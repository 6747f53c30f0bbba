"""Compaction of unspent_outputs: readers see the same rows with and without outputs spent long ago, after any crash.

The expected unspent outputs come from the oracle. WriteByWrite is a store without transactions.
"""

import asyncio
import itertools
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cassandra.timestamps import MonotonicTimestampGenerator

from db import schema
from db.connect import StoreSettings, open_store
from db.queries import outputs
from etl import runs
from etl.ledger_state import compaction
from etl.ledger_state.compaction import clean_partitions
from etl.store_reads import StoreReads
from tests.api.test_time_travel import held_at
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE, Json
from tests.etl.conftest import AS_BULK, CASSANDRA, Loading, Stores, on
from tests.etl.ledger_state.test_ledger import GENESIS, milestones, reference
from tests.etl.listings import check, whole_oracle
from tests.etl.store_rows import stored_rows
from tests.etl.writers.test_writes import Death, WriteByWrite

pytestmark = pytest.mark.loads

TINY = (7, 3)
MARGIN = 3
DEAD_TO = 50 - MARGIN
PAST = (0, 5, 17, 29, 30, 31, DEAD_TO - 1, DEAD_TO)
"""Some ledger states, with and without outputs that are missing by now."""

TABLES = (schema.unspent_outputs, schema.unspent_hints)
PARTITION = schema.unspent_outputs.partition
CELLS = ("milestone_index", "output_id", "ms_timestamp", "spent_milestone_index", "output_type", "amount")


@cache
def replayed() -> list[Json]:
    """Every row that unspent_outputs ever had, from the plain replay."""
    return reference(TINY)["unspent_outputs"]


def most_dead(rows: list[Json]) -> set[Any]:
    """Partitions in which more rows than in others were spent up to DEAD_TO."""
    sides: dict[Any, Counter[bool]] = defaultdict(Counter)
    for row in rows:
        sides[tuple(row[name] for name in PARTITION)][(row["spent_milestone_index"] or 51) <= DEAD_TO] += 1
    return {partition for partition, sizes in sides.items() if sizes[True] > sizes[False]}


def check_state(rows: dict[str, list[Json]]) -> None:
    """Every unspent output is there once, every row is one of the replay's, and hints lead to unspent outputs."""
    expected = replayed()
    found = rows["unspent_outputs"]
    by_id = {(row["lookup"], row["output_id"]): row for row in expected}
    for row in found:
        same = by_id[row["lookup"], row["output_id"]]
        assert {name: row[name] for name in CELLS} == {name: same[name] for name in CELLS}
    ids = [(row["lookup"], row["output_id"]) for row in found]
    assert len(ids) == len(set(ids))
    late = {(row["lookup"], row["output_id"]) for row in expected if (row["spent_milestone_index"] or 51) > DEAD_TO}
    assert late <= set(ids)
    living = [row for row in found if (row["lookup"], row["output_id"]) in late]
    assert {tuple(row[name] for name in PARTITION) for row in living} <= {
        tuple(row[name] for name in PARTITION) for row in rows["unspent_hints"]
    }


async def check_unspent(settings: StoreSettings) -> None:
    """At every page size, the listing of every address equals the oracle's unspent outputs, now and in past states."""

    async def ask(store: Any, address: str, as_of: int = 50, **page: Any) -> Any:
        return await outputs.list_outputs_by_address(
            store, address, include_spent=False, as_of=as_of, is_fixed=as_of < 50, **page
        )

    oracle, store = whole_oracle(), open_store(settings)
    try:
        for address in oracle.addresses:
            ids = oracle.address_outputs(address, output_type=None, include_spent=False)
            await check(ask, store, f"00{address}", "output_id", ids)
            for as_of in PAST:
                page = await ask(store, f"00{address}", as_of, newest=True, page_size=1000, cursor=None)
                assert ([row["output_id"] for row in page.rows], page.cursor) == (held_at(oracle, address, as_of), None)
    finally:
        store.close()


@pytest.fixture(scope="module")
def whole(stores: Stores) -> Loading:
    """The oracle ledger with every spent row kept: loaded from genesis, nothing compacted."""
    return stores.loaded("chrysalis from genesis", TINY, ledger_near=10_000)[0]


@pytest.mark.parametrize("ledger_near", [pytest.param(0, marks=pytest.mark.slow), 10_000], ids=["far", "near"])
def test_loads_compact_as_they_go_on(
    stores: Stores, tmp_path: Path, ledger_near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each partition is examined once in a load, although outputs of many milestones are in it."""
    monkeypatch.setattr(compaction, "MILESTONES_AT_ONCE", 4)
    examined = list[Any]()
    own = compaction._cleaned

    def cleaned(batch: Any, reads: Any, partition: Any, dead_to: int) -> int:
        examined.append(partition)
        return own(batch, reads, partition, dead_to)

    monkeypatch.setattr(compaction, "_cleaned", cleaned)
    loading = stores(TINY, ledger_near=ledger_near, ledger_margin=MARGIN, bulk_share=0.5)
    files = milestones(tmp_path, *range(1, 51))
    for start, end in ((0, 30), (30, 50)):
        assert loading.load(*files[start:end], genesis=GENESIS).ledger_index == end
        assert len(examined) == len(set(examined)) > 0
        examined.clear()
    rows = loading.rows()
    check_state(rows)
    asyncio.run(check_unspent(loading.store))
    assert not most_dead(rows["unspent_outputs"])
    left = Counter((row["spent_milestone_index"] or 51) <= DEAD_TO for row in replayed())
    assert left[True] > left[False], "most of what was ever created is long spent"
    assert len(rows["unspent_outputs"]) < 2 * left[False]
    partitions = {tuple(row[name] for name in PARTITION) for row in rows["unspent_outputs"]}
    assert {tuple(row.values()) for row in rows["unspent_hints"]} == partitions


def test_killed_between_any_two_writes_it_revives_and_loses_nothing(whole: Loading) -> None:
    before = whole.rows()["unspent_outputs"]
    partitions = sorted({tuple(row[name] for name in PARTITION) for row in before})
    dead = sum((row["spent_milestone_index"] or 51) <= DEAD_TO for row in before)
    assert len(most_dead(before)) > 30
    with closing(open_store(whole.store, writable=True)) as store, closing(StoreReads(store, "permatest-1")) as reads:
        for run in itertools.count():
            # Neither of the two writes at the start of every run deletes.
            dying: Any = WriteByWrite(store, 3 + run % 5)
            try:
                clean_partitions(dying, reads, iter(partitions[::6]), DEAD_TO)
            except Death:
                check_state(stored_rows(whole.folder, TABLES))
                if run % 100 == 0:
                    asyncio.run(check_unspent(whole.store))
                continue
            break
        clean_partitions(store, reads, iter(partitions), DEAD_TO)
    assert run > dead / 60
    rows = whole.rows()
    check_state(rows)
    asyncio.run(check_unspent(whole.store))
    assert not most_dead(rows["unspent_outputs"])
    assert {tuple(row[name] for name in PARTITION) for row in rows["unspent_outputs"]} == {
        tuple(row.values()) for row in rows["unspent_hints"]
    }
    again = whole.load(SAMPLE / ARCHIVE[0], force=True, genesis=GENESIS)
    assert (again.complete, again.ledger_index) == (20, 50)
    assert whole.rows()["unspent_outputs"] == rows["unspent_outputs"], "loading an old milestone again revives nothing"


def test_the_command_compacts_all(stores: Stores) -> None:
    loading, _ = stores.loaded("chrysalis from genesis", TINY, ledger_near=10_000)
    dead = sum((row["spent_milestone_index"] or 51) <= DEAD_TO for row in loading.rows()["unspent_outputs"])
    settings = replace(loading.settings, ledger_margin=MARGIN)
    deleted = runs.compact(loading.store, settings)
    assert dead / 2 < deleted <= dead
    rows = loading.rows()
    check_state(rows)
    assert not most_dead(rows["unspent_outputs"])
    assert runs.compact(loading.store, settings) == 0
    assert loading.rows() == rows


@on(CASSANDRA, AS_BULK)
def test_no_clock_decides_what_is_unspent(everywhere: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deleting process's clock is an hour ahead of the executors, which write into the deleted partitions."""
    ahead = int(3600e6)
    now = MonotonicTimestampGenerator.__call__
    monkeypatch.setattr(MonotonicTimestampGenerator, "__call__", lambda self: now(self) + ahead)
    geometry, margin, cut, last = (100_000, 100_000), 2, 6, 25
    loading = everywhere(geometry, ledger_margin=margin)
    files = milestones(tmp_path, *range(1, last + 1))
    loading.load(*files[:cut], genesis=GENESIS)
    first = {partition_of(row) for row in loading.rows()["unspent_outputs"]}
    loading.load(*files[cut:])
    rows, expected = loading.rows(), reference(geometry, last)["unspent_outputs"]

    def living(found: list[Json]) -> list[Json]:
        return [row for row in found if (row["spent_milestone_index"] or last + 1) > last - margin]

    assert living(rows["unspent_outputs"]) == living(expected)
    held = {partition_of(row) for row in living(expected)}
    assert held <= {partition_of(row) for row in rows["unspent_hints"]}
    deleted = {partition_of(row) for row in expected if row["milestone_index"] <= cut} - first
    assert deleted & held, "a partition that was deleted came to life again, or this proves nothing"


def partition_of(row: Json) -> tuple[Any, ...]:
    return tuple(row[name] for name in PARTITION)
