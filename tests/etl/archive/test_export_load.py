"""Export → load: the resulting tables equal those of the oracle's input, in both eras."""

from contextlib import closing
from pathlib import Path

import pytest

from db.connect import StoreSettings, open_store
from etl.archive.export import export
from tests.api.conftest import fill, fill_stardust
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.etl import test_oracle, test_stardust_oracle
from tests.etl.archives import Json
from tests.etl.conftest import Stores
from tests.reference import ORACLE

pytestmark = pytest.mark.loads

GEOMETRY = (7, 3)
"""Cut at every possible place: an export reads every partition."""


def all_logged(rows: dict[str, list[Json]]) -> dict[str, list[Json]]:
    """The rows of a store that was loaded from closed files alone."""
    sync = [row | {"logged_by": 0} for row in rows["sync"]]
    return rows | {"sync": sync, "ranges": [row | {"logged": row["complete"]} for row in rows["ranges"]]}


def test_chrysalis_comes_back_whole(stores: Stores, tmp_path: Path) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path}/store", "permatest-1", *GEOMETRY)
    with closing(fill(settings, Oracle.read(ORACLE))) as store:
        done = export(settings, store, tmp_path / "archive")
    assert (done.milestones, done.faults, done.files) == (50, [], ["1to51.log"])
    loading = stores(GEOMETRY)
    report = loading.load(tmp_path / "archive")
    assert (report.exit_code, report.complete, report.rejects) == (0, 50, 0)
    expected = all_logged(test_oracle.reference(GEOMETRY))
    test_oracle.check(loading.rows(), expected | {name: [] for name in test_oracle.PENDING_TABLES})


def test_stardust_comes_back_whole(stores: Stores, tmp_path: Path) -> None:
    ledger = StardustLedger.read()
    settings = StoreSettings(f"sqlite:///{tmp_path}/store", ledger.network, *GEOMETRY)
    with closing(fill_stardust(settings, ledger)) as store:
        done = export(settings, store, tmp_path / "archive")
    assert (done.milestones, done.faults, done.files) == (50, [], ["1to51.log"])
    with closing(open_store(settings)) as store:
        again = export(settings, store, tmp_path / "archive", mark=False)
    assert (again.milestones, again.held) == (0, 50)
    loading = stores(GEOMETRY, ledger.network)
    report = loading.load(tmp_path / "archive")
    assert (report.exit_code, report.complete, report.rejects) == (0, 50, 0)
    test_oracle.check(loading.rows(), all_logged(test_stardust_oracle.expected(GEOMETRY, waiting=False)))
