"""The lease of a SQLite store, in its own file, because the generation may be switched while it is held.

Every change is one immediate transaction. Times are milliseconds since 1970, from the clock that the caller passes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from db import schema
from db.leases import NAME, held_by, is_dead, is_same, lost
from db.schema.dialects import create_table_sqlite
from db.sqlite.errors import PASSING, store_error
from db.store import Lease

BUSY_MS = 10_000


class LeaseFile:
    """The lease: one row."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock

    def acquire(self, owner: str, run: str, ttl_s: int) -> Lease:
        """Acquires the lease. Raises LeaseHeld if its holder is alive and the lease has not expired."""
        with self._transaction() as connection:
            held = _held(connection)
            lease = Lease(owner, run, self._now() + ttl_s * 1000)
            if held and not is_same(lease, held):
                self._raise_if_alive(held)
            connection.execute("DELETE FROM lease WHERE name = ?", (NAME,))
            connection.execute(
                "INSERT INTO lease (name, owner, run, expires_at) VALUES (?, ?, ?, ?)",
                (NAME, lease.owner, lease.run, lease.expires_at),
            )
            return lease

    def renew(self, lease: Lease, ttl_s: int) -> Lease:
        """Extends the lease. Raises LeaseHeld if another run took it."""
        with self.fence(lease) as connection:
            expires_at = self._now() + ttl_s * 1000
            connection.execute("UPDATE lease SET expires_at = ? WHERE name = ?", (expires_at, NAME))
            return Lease(lease.owner, lease.run, expires_at)

    def release(self, lease: Lease) -> None:
        """Releases the lease if this run still holds it."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM lease WHERE name = ? AND owner = ? AND run = ?", (NAME, lease.owner, lease.run)
            )

    def holder(self) -> Lease | None:
        """The recorded holder, even if expired; None without one."""
        if not self._path.exists():
            return None
        with self._transaction() as connection:
            return _held(connection)

    def check_free(self) -> None:
        """Raises LeaseHeld if a live run holds the lease. For writes without a lease."""
        held = self.holder()
        if held:
            self._raise_if_alive(held)

    @contextmanager
    def fence(self, lease: Lease) -> Iterator[apsw.Connection]:
        """A block in which nobody can take over the lease. Raises LeaseHeld if it was taken over before."""
        with self._transaction() as connection:
            held = _held(connection)
            if not is_same(lease, held):
                raise lost(lease, held)
            yield connection

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        connection = apsw.Connection(str(self._path))
        try:
            connection.set_busy_timeout(BUSY_MS)
            ddl = create_table_sqlite(schema.lease).replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(ddl)
            yield connection
            connection.execute("COMMIT")
        except PASSING as error:
            raise store_error(error, self._path) from error
        finally:
            connection.close()

    def _raise_if_alive(self, held: Lease) -> None:
        if held.expires_at > self._now() and not is_dead(held):
            raise held_by(held)

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _held(connection: apsw.Connection) -> Lease | None:
    row = connection.execute("SELECT owner, run, expires_at FROM lease WHERE name = ?", (NAME,)).fetchone()
    return Lease(*row) if row else None
