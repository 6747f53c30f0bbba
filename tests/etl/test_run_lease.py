"""Who waits for the lease: a manual run for a follower's load, nobody for a manual run, and a follower for nobody."""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.store import LeaseHeld, WritableStore
from etl import run_lease
from etl.run_lease import AT_HEAD, held_lease

FOLLOWER, MANUAL = f"{AT_HEAD}1", "2"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    settings = StoreSettings(f"sqlite:///{tmp_path}/store", "permatest-1")
    migrate(settings)
    with closing(open_store(settings, writable=True)) as opened:
        yield opened


def test_a_manual_run_waits_for_the_end_of_a_followers_load_and_says_so(
    store: WritableStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run_lease, "QUIET_S", 0.05)
    has_ended = threading.Event()
    with held_lease(store, FOLLOWER) as _, caplog.at_level(logging.INFO, "permanode"):
        waiting = threading.Thread(target=lambda: hold(store, MANUAL, has_ended))
        waiting.start()
        limit = time.monotonic() + 30
        while not caplog.messages and time.monotonic() < limit:
            time.sleep(0.01)
        assert not has_ended.is_set()
    waiting.join(30)
    assert has_ended.is_set()
    (line,) = caplog.messages
    assert line.startswith("waiting until the follower's load ends: ")
    assert (
        f"process {os.getpid()} on {socket.gethostname()}, run {FOLLOWER}; if it was killed, its lease ends at " in line
    )


def hold(store: WritableStore, run: str, has_ended: threading.Event) -> None:
    with held_lease(store, run):
        has_ended.set()


def test_a_follower_that_loads_for_too_long_is_not_waited_for(
    store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lease, "WAIT_S", 0.1)
    with held_lease(store, FOLLOWER), pytest.raises(LeaseHeld, match=FOLLOWER), held_lease(store, MANUAL):
        pass


@pytest.mark.parametrize(("holder", "run"), [(MANUAL, "3"), (MANUAL, FOLLOWER), (FOLLOWER, f"{AT_HEAD}2")])
def test_others_do_not_wait(store: WritableStore, holder: str, run: str) -> None:
    with held_lease(store, holder), pytest.raises(LeaseHeld), held_lease(store, run):
        pass
