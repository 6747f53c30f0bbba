"""Checks a loaded store, or one into which faults are injected."""

import random
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db import schema
from db.connect import open_adapter
from db.model import Table
from db.schema.migration_files import Migratable
from db.store import Row
from etl.deep_check.check import DeepCheck, Setup, check_rows
from etl.deep_check.compare import Compared
from etl.deep_check.engine import Database, files_of
from etl.deep_check.queries import compared
from etl.runs import lake_path
from tests.etl.conftest import Loading
from tests.etl.deep_check.faults import Injected, every_fault, native, native_key

GEOMETRY = (7, 3)

FACTS = {
    schema.splits,
    schema.sync,
    schema.ranges,
    schema.pending,
    schema.distribution,
    schema.rich_list,
    schema.address_balances,
    schema.treasury,
    schema.messages,
}
"""Tables that a check reads before it compares others."""


def checked(loading: Loading, **options: Any) -> list[Compared]:
    setup = Setup(loading.store, lake_path(loading.store, loading.settings), **options)
    with closing(open_adapter(loading.store, writable=False)) as store:
        return [*check_rows(setup, store)]


def differing(found: list[Compared]) -> list[Compared]:
    return [each for each in found if each.differing]


@dataclass
class Faulty:
    """A store into which faults are injected one at a time."""

    store: Migratable
    check: DeepCheck
    is_outdated: bool = False

    def inject(self, fault: Injected) -> Compared:
        """The result for the table of a fault. The store is as before afterwards."""
        table = fault.table
        with self.store.batch() as batch:
            if fault.removed:
                batch.delete(table, native_key(table, fault.before))
            if fault.added or not fault.removed:
                batch.upsert(table, table.names, [native(table, fault.after)])
        found = self._compare(table)
        with self.store.batch() as batch:
            # A cluster keeps the value of a column that is written as null.
            if fault.added or (fault.column is not None and fault.before[fault.column] is None):
                batch.delete(table, native_key(table, fault.after))
        with self.store.batch() as batch:
            batch.upsert(table, table.names, [native(table, fault.before)])
        return found

    def differing_rows(self, table: Table, before: Row, after: Row | None, compared: str) -> Compared:
        """The result for another table while a row is another one, or is missing."""
        with self.store.batch() as batch:
            batch.delete(table, native_key(table, before))
            if after is not None:
                batch.upsert(table, table.names, [native(table, after)])
        self.check.read_store()
        found = self.check.compare(compared)
        with self.store.batch() as batch:
            batch.upsert(table, table.names, [native(table, before)])
        self.is_outdated = True
        return found

    def _compare(self, table: Table) -> Compared:
        if table in FACTS or self.is_outdated:
            self.check.read_store()
        self.is_outdated = table in FACTS
        return self.check.compare(table.name)


@contextmanager
def faulty(loading: Loading, folder: Path) -> Iterator[Faulty]:
    lake = lake_path(loading.store, loading.settings)
    with (
        closing(open_adapter(loading.store, writable=True)) as store,
        closing(Database(":memory:", "1GB", 2, str(folder))) as database,
    ):
        yield Faulty(store, DeepCheck(Setup(loading.store, lake), store, database, files_of(lake)))


def missed(
    loading: Loading,
    folder: Path,
    count: int,
    seed: int,
    tables: Sequence[Table] | None = None,
    *,
    is_checked: bool = True,
) -> list[str]:
    """Injects faults and returns those that are not named. `tables`: those that get faults. Default: all.

    Not `is_checked`: compares all rows before.
    """
    with faulty(loading, folder) as store:
        if not is_checked:
            assert [name for name in store.check.names if store.check.compare(name).differing] == []
        rows = {table: store.store.read_all(table) for table in tables or compared(loading.store.protocol)}
        # A cluster keeps the value of a column that is written as null.
        keeps = store.store.dialect != "sqlite"
        faults = (
            each
            for each in every_fault(rows, random.Random(seed))
            if not (keeps and each.column is not None and each.after[each.column] is None)
        )
        return [
            str(fault)
            for fault, _ in zip(faults, range(count), strict=False)
            if not fault.is_named(store.inject(fault))
        ]
