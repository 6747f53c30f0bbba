"""A lease is renewed while a block lasts, however long that is."""

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from db.admin import migrate as migrating
from db.connect import StoreSettings
from db.lease_renewal import renewed
from db.sqlite import building
from db.sqlite.store import SqliteStore
from db.store import Lease, LeaseHeld, StoreUnavailable
from tests.db.stores import first_form, generation_of, reopened

TTL_S = 8


def test_a_lease_is_renewed_again_after_a_store_was_unavailable(
    sqlite_settings: StoreSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_renewed, faults = threading.Event(), iter(["no node responds"] * 2)
    with closing(reopened(sqlite_settings)) as store:
        lease, renew = store.acquire("elsewhere:1", "run-1", TTL_S), store.renew

        def renew_after_faults(held: Lease, _: int) -> Lease:
            for fault in faults:
                raise StoreUnavailable(fault)
            found = renew(held, TTL_S)
            is_renewed.set()
            return found

        monkeypatch.setattr(store, "renew", renew_after_faults)
        with renewed(store, lease, ttl_s=0) as check:
            assert is_renewed.wait(9)
            check()
        assert store.holder() is None


def test_a_lost_lease_is_reported_and_stays_with_its_successor(sqlite_settings: StoreSettings) -> None:
    with closing(reopened(sqlite_settings)) as first, closing(reopened(sqlite_settings)) as second:
        lease = first.acquire("elsewhere:1", "run-1", 0)
        second.acquire("elsewhere:2", "run-2", 60)
        with renewed(first, lease, ttl_s=0) as check:
            for thread in [each for each in threading.enumerate() if each.name == "lease"]:
                thread.join(9)
            with pytest.raises(LeaseHeld, match="run-2"):
                check()
        holder = second.holder()
        assert holder is not None
        assert holder.run == "run-2"


@pytest.mark.thorough
def test_a_migration_that_writes_a_store_again_keeps_its_lease(
    sqlite_settings: StoreSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(sqlite_settings.url.removeprefix("sqlite:///"))
    first_form(generation_of(folder))
    copy_rows, refused = building.copy_rows, []

    def slow(*arguments: Any) -> None:
        with closing(SqliteStore(folder)) as other:
            begun, limit = other.holder(), time.monotonic() + 60
            assert begun is not None
            while other.holder() == begun:
                assert time.monotonic() < limit
                time.sleep(0.05)
            with pytest.raises(LeaseHeld, match="run migrate") as held:
                other.acquire("elsewhere:2", "run-2", TTL_S)
        refused.append(held.value)
        copy_rows(*arguments)

    monkeypatch.setattr(migrating, "LEASE_S", TTL_S)
    monkeypatch.setattr(building, "copy_rows", slow)
    assert migrating.migrate(sqlite_settings) == [migrating.REWRITTEN]
    assert len(refused) == 1
    with closing(reopened(sqlite_settings)) as store:
        assert store.holder() is None
