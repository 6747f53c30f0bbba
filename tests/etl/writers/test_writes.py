"""A load that dies between two writes and is run again, on a store where each write is durable by itself.

The store is SQLite behind a port without transactions, like a cluster: nothing is rolled back.
"""

import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.connect import StoreSettings, open_store
from db.model import Table
from db.store import LeaseHeld, Value, WritableStore
from etl import runs
from tests.conftest import SAMPLE
from tests.etl.conftest import Loading, Stores
from tests.etl.store_rows import ANALYTICS, stored_rows

pytestmark = pytest.mark.loads

SOURCE = SAMPLE / "1to21.log"
TINY = (7, 3)
"""chunk_size, partition_size: three ranges, and most keys hot."""


class Death(Exception):
    """The end of a process, from a store's point of view."""


class WriteByWrite:
    """A store whose batches guarantee only the order of writes; it dies after `writes` of them."""

    def __init__(self, store: WritableStore, writes: float = float("inf")) -> None:
        self._store = store
        self._left = writes
        self.log: list[str] = []
        self._counting = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def batch(self, *, publish: bool = False) -> Iterator["WriteByWrite"]:
        yield self

    def upsert(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Value]], **options: bool) -> int:
        """First one half of the rows, then the other: a death between them leaves a table half written."""
        whole = list(rows)
        middle = len(whole) // 2
        for part in (whole[:middle], whole[middle:]):
            self._count(table)
            with self._store.batch() as batch:
                batch.upsert(table, columns, part, **options)
        return len(whole)

    def delete(self, table: Table, key: Sequence[Value], *, fact: int | None = None) -> None:
        self._count(table)
        with self._store.batch() as batch:
            batch.delete(table, key, fact=fact)

    def last_fact(self, table: Table, key: Sequence[Value]) -> int:
        with self._store.batch() as batch:
            return batch.last_fact(table, key)

    def clear(self, table: Table) -> None:
        self._count(table)
        with self._store.batch() as batch:
            batch.clear(table)

    def _count(self, table: Table) -> None:
        with self._counting:
            if self._left < 1:
                raise Death
            self._left -= 1
            self.log.append(table.name)


@dataclass(frozen=True)
class Clean:
    """An undisturbed load: its rows, and its writes by table, in order."""

    rows: dict[str, list[dict[str, Any]]]
    analytics: dict[str, list[dict[str, Any]]]
    log: list[str]


def load_dying(loading: Loading, monkeypatch: pytest.MonkeyPatch, writes: float = float("inf")) -> WriteByWrite:
    """A load into that store, observed write by write."""
    made: list[WriteByWrite] = []

    def opened(settings: StoreSettings, *, writable: bool) -> WriteByWrite:
        made.append(WriteByWrite(open_store(settings, writable=writable), writes))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(runs, "open_store", opened)
        if writes < float("inf"):
            with pytest.raises(Death):
                loading.load(SOURCE)
        else:
            loading.load(SOURCE)
    return made[-1]


@pytest.fixture(scope="module")
def clean(stores: Stores) -> Clean:
    whole = stores(TINY, analytics=True, bulk_share=0.0)
    whole.load(SOURCE)
    seen = stores(TINY, analytics=True, bulk_share=0.0)
    with pytest.MonkeyPatch.context() as patch:
        log = load_dying(seen, patch).log
    assert seen.rows() == whole.rows(), "a port without transactions gives the same rows"
    analytics = stored_rows(whole.folder, ANALYTICS)
    assert stored_rows(seen.folder, ANALYTICS) == analytics
    return Clean(whole.rows(), analytics, log)


def test_nothing_is_complete_before_its_rows_are_written(clean: Clean) -> None:
    steps = [name for name, _ in itertools.groupby(clean.log)]
    after = len(before_analytics(steps))
    assert set(steps[after:]) <= {table.name for table in ANALYTICS} | {schema.keyspace_info.name}
    assert steps[-1] == schema.keyspace_info.name, "what is analysed is noted last"
    steps = steps[:after]
    assert steps[-3:] == [schema.sync.name, schema.proofs.name, schema.ranges.name]
    assert len(steps) > 15
    assert {schema.sync.name, schema.proofs.name, schema.ranges.name}.isdisjoint(steps[:-3])
    first = min(steps.index(lookup.table.name) for lookup in schema.LOOKUPS)
    assert steps[first - 2 : first] == [schema.splits.name, schema.tails.name], "where rows go is noted before they go"
    assert steps.count(schema.splits.name) == steps.count(schema.tails.name) == 1
    for lookup in schema.LOOKUPS:
        assert steps.index(lookup.table.name) < steps.index(lookup.hints.name), "a hint is never ahead of its rows"


@pytest.mark.parametrize(
    ("table", "into"),
    [
        ("tags", 1),
        ("ms_analytics", 1),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("splits", 1), ("sync", 1), ("ranges", 0), ("metrics_cache", 2))
        ),
    ],
)
def test_a_load_goes_on_after_any_write(
    clean: Clean, stores: Stores, monkeypatch: pytest.MonkeyPatch, table: str, into: int
) -> None:
    loading = stores(TINY, analytics=True, bulk_share=0.0)
    writes = clean.log.index(table) + into
    done = load_dying(loading, monkeypatch, writes)
    assert len(done.log) == writes
    assert before_analytics(done.log) == before_analytics(clean.log)[:writes], "its steps run side by side"
    assert complete_messages(loading) <= {row["message_id"] for row in loading.rows()["messages"]}
    loading.load(SOURCE)
    assert loading.rows() == clean.rows
    assert stored_rows(loading.folder, ANALYTICS) == clean.analytics


def before_analytics(log: list[str]) -> list[str]:
    """The writes before the first one of the analytics."""
    return [*itertools.takewhile(lambda name: name not in {table.name for table in ANALYTICS}, log)]


def complete_messages(loading: Loading) -> set[str]:
    """Ids of all messages of complete milestones, from the table by milestone."""
    rows = loading.rows()
    complete = {row["milestone_index"] for row in rows["sync"] if row["synced_by"] is not None}
    return {row["message_id"] for row in rows["messages_by_milestone"] if row["milestone_index"] in complete}


def test_a_store_that_was_left_behind_is_written_by_nobody(clean: Clean, stores: Stores) -> None:
    loading = stores(TINY, bulk_share=0.0)
    with closing(open_store(loading.store, writable=True)) as other:
        lease = other.acquire("elsewhere:1", "another", 60)
        with pytest.raises(LeaseHeld, match="process 1 on elsewhere, run another"):
            loading.load(SOURCE)
        other.release(lease)
    assert not any(loading.rows().values())
    assert not Path(loading.folder, "lake").exists()
