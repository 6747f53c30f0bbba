"""The lease of a run: acquired before the first write, renewed while the run lasts, released at its end.

A follower holds the lease only while it loads, and pauses before its next load. Other runs therefore wait for the load
to end, and not for each other. A follower itself never waits: it tries again later.
"""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from db.lease_renewal import renewed
from db.store import Lease, LeaseHeld, WritableStore

LEASE_S = 60

AT_HEAD = "head-"
"""Prefix of the ids of a follower's runs."""

WAIT_S, RETRY_S = 300.0, 0.05
"""How long a run waits for the end of one load of a follower, and how often it tries. A follower pauses longer between
two loads than RETRY_S.
"""

QUIET_S = 1.0
"""A run says that it waits if that takes longer."""

log = logging.getLogger("permanode")


@contextmanager
def held_lease(store: WritableStore, run: str) -> Iterator[Callable[[], None]]:
    """Holds the store's lease and renews it. Yields a function that raises LeaseHeld if the lease was lost.

    Raises LeaseHeld if another run holds it, for a follower's run only after WAIT_S.
    """
    with renewed(store, _acquire(store, run), LEASE_S) as check:
        yield check


def _acquire(store: WritableStore, run: str) -> Lease:
    owner = f"{socket.gethostname()}:{os.getpid()}"
    begun = time.monotonic()
    waits_for, since, is_reported = "", begun, False
    while True:
        try:
            return store.acquire(owner, run, LEASE_S)
        except LeaseHeld as error:
            now, holder = time.monotonic(), store.holder()
            if run.startswith(AT_HEAD) or (holder is not None and not holder.run.startswith(AT_HEAD)):
                raise
            if holder is not None and holder.run != waits_for:
                waits_for, since = holder.run, now
            if now - since > WAIT_S:
                raise
            if now - begun > QUIET_S and not is_reported:
                log.info("waiting until the follower's load ends: %s", error)
                is_reported = True
            time.sleep(RETRY_S)
