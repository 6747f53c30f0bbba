"""Renews an acquired lease in the background until a block ends, then releases it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from db.store import Lease, LeaseHeld, StoreUnavailable, WritableStore

RENEWALS = 4
"""How often a lease is renewed in the time after which it expires."""


@contextmanager
def renewed(store: WritableStore, lease: Lease, ttl_s: int) -> Iterator[Callable[[], None]]:
    """Holds this lease. Yields a function that raises LeaseHeld if the lease was lost."""
    done = threading.Event()
    lost: list[LeaseHeld] = []

    def renew() -> None:
        held = lease
        while not done.wait(ttl_s / RENEWALS):
            try:
                held = store.renew(held, ttl_s)
            except StoreUnavailable:
                # No other run can reach the store either. Writes wait for it.
                continue
            except LeaseHeld as error:
                lost.append(error)
                return

    def check() -> None:
        if lost:
            raise lost[0]

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield check
    finally:
        done.set()
        thread.join()
        # If the store is unavailable, the lease expires.
        with suppress(StoreUnavailable):
            store.release(lease)
