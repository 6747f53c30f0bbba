"""A lease is renewed while a block lasts, however long that is."""

import threading
import time
from collections.abc import Callable
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

TTL_S = 2
LEASE = Lease("elsewhere:1", "run-1", 0)


class Renewing:
    """A store that only renews and releases leases. `renewals`: what each renewal does, in order."""

    def __init__(self, *renewals: Callable[[], None]) -> None:
        self._renewals = iter(renewals)
        self.is_done = threading.Event()
        self.released: list[Lease] = []

    def renew(self, lease: Lease, ttl_s: int) -> Lease:
        renewal = next(self._renewals, None)
        if renewal is None:
            self.is_done.set()
        else:
            renewal()
        return lease

    def release(self, lease: Lease) -> None:
        self.released.append(lease)


def unavailable() -> None:
    raise StoreUnavailable("no node responds")


def test_a_lease_is_renewed_again_after_a_store_was_unavailable() -> None:
    store: Any = Renewing(unavailable, unavailable)
    with renewed(store, LEASE, ttl_s=0) as check:
        assert store.is_done.wait(9)
        check()
    assert store.released == [LEASE]


def test_a_lost_lease_is_reported_and_not_renewed_again() -> None:
    is_lost = threading.Event()

    def lose() -> None:
        is_lost.set()
        raise LeaseHeld("run-2")

    store: Any = Renewing(lose)
    with renewed(store, LEASE, ttl_s=0) as check:
        assert is_lost.wait(9)
        for thread in [each for each in threading.enumerate() if each.name == "lease"]:
            thread.join(9)
        with pytest.raises(LeaseHeld, match="run-2"):
            check()
        assert not store.is_done.is_set()


def test_a_migration_that_writes_a_store_again_keeps_its_lease(
    sqlite_settings: StoreSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(sqlite_settings.url.removeprefix("sqlite:///"))
    first_form(generation_of(folder))
    copy_rows, refused = building.copy_rows, []

    def slow(*arguments: Any) -> None:
        time.sleep(TTL_S + 1)
        with closing(SqliteStore(folder)) as other, pytest.raises(LeaseHeld, match="run migrate") as held:
            other.acquire("elsewhere:2", "run-2", TTL_S)
        refused.append(held.value)
        copy_rows(*arguments)

    monkeypatch.setattr(migrating, "LEASE_S", TTL_S)
    monkeypatch.setattr(building, "copy_rows", slow)
    assert migrating.migrate(sqlite_settings) == [migrating.REWRITTEN]
    assert len(refused) == 1
    with closing(reopened(sqlite_settings)) as store:
        assert store.holder() is None
