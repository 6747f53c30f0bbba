"""Loads while `permanode fsck --deep` compares rows: what they change is no fault, and faults are still named."""

import shutil
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.connect import open_adapter
from db.schema.migration_files import Migratable
from db.store import Lease
from etl.deep_check.check import Setup, check_rows
from etl.deep_check.compare import Compared
from etl.runs import lake_path
from tests.etl.archives import oracle, pending, write
from tests.etl.conftest import Loading, Stores
from tests.etl.deep_check.checking import GEOMETRY
from tests.etl.deep_check.faults import native
from tests.etl.test_two_eras import GENESIS

pytestmark = pytest.mark.loads

BEFORE = 30
"""Milestones that the store has when a check begins."""


@pytest.fixture(scope="module")
def first_load(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """A store of the first milestones of the oracle."""
    loading, folder = stores(GEOMETRY, analytics=True), tmp_path_factory.mktemp("first")
    files = write(folder / "first.jsonl", [*oracle()][:BEFORE]), write(folder / "pending.jsonl", pending())
    assert loading.load(*files, genesis=GENESIS).exit_code == 0
    return loading


@pytest.fixture
def growing(first_load: Loading, stores: Stores, tmp_path: Path) -> Loading:
    """A copy of that store. The other milestones are in files NUMBER.jsonl."""
    milestones = [*oracle()]
    for at in range(BEFORE, len(milestones)):
        write(tmp_path / f"{at}.jsonl", milestones[at : at + 1])
    loading = stores(GEOMETRY, analytics=True)
    shutil.rmtree(loading.folder)
    shutil.copytree(first_load.folder, loading.folder)
    return loading


def check(loading: Loading, meanwhile: dict[str, Any], waits: Any = lambda _: None) -> list[Compared]:
    """The results of a check, before whose comparison of a table something happens."""
    setup = Setup(loading.store, lake_path(loading.store, loading.settings))

    def read(name: str, rows: int) -> None:
        if rows == 0 and name in meanwhile:
            meanwhile.pop(name)()

    with closing(open_adapter(loading.store, writable=False)) as store:
        found = [*check_rows(setup, store, read, waits)]
    assert meanwhile == {}
    return found


def upsert(store: Migratable, row: dict[str, Any]) -> None:
    with store.batch() as batch:
        batch.upsert(schema.milestones, schema.milestones.names, [native(schema.milestones, row)])


def test_rows_that_a_load_changes_are_no_faults(growing: Loading, tmp_path: Path) -> None:
    def load(*numbers: int) -> None:
        growing.load(*(tmp_path / f"{number}.jsonl" for number in numbers))

    tables = ("outputs", "ms_analytics")
    meanwhile = {name: lambda number=number: load(BEFORE + number) for number, name in enumerate(tables)}
    found = check(growing, meanwhile)
    assert [each.table for each in found if each.differing] == []


def test_a_fault_is_named_once_although_loads_run(growing: Loading, tmp_path: Path) -> None:
    with closing(open_adapter(growing.store, writable=True)) as store:
        row = next(each for each in store.read_all(schema.milestones) if each["milestone_index"] == 7)
        upsert(store, row | {"timestamp": row["timestamp"] + 1})
    found = check(growing, {"outputs": lambda: growing.load(tmp_path / f"{BEFORE}.jsonl")})
    (fault,) = [fault for each in found for fault in each.faults]
    assert (fault.table, fault.kind, fault.milestone_index) == ("milestones", "wrong", 7)
    assert fault.columns == {"timestamp": (row["timestamp"], row["timestamp"] + 1)}


def test_it_waits_until_a_load_ends_before_it_names_faults(growing: Loading) -> None:
    waited: list[str] = []
    with closing(open_adapter(growing.store, writable=True)) as store:
        row = next(each for each in store.read_all(schema.milestones) if each["milestone_index"] == 7)

        def load() -> None:
            lease = store.acquire("elsewhere:1", "run", 60)
            upsert(store, row | {"timestamp": row["timestamp"] + 1})

            def end() -> None:
                upsert(store, row)
                store.release(lease)

            timers.append(threading.Timer(0.5, end))

        def waits(lease: Lease) -> None:
            waited.append(lease.run)
            if len(waited) == 1:
                timers[0].start()

        timers: list[threading.Timer] = []
        found = check(growing, {"messages": load}, waits)
        timers[0].join()
    assert set(waited) == {"run"}
    assert [each.table for each in found if each.differing] == []
