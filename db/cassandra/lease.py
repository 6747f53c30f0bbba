"""The lease of a cluster's store: one row, changed only by lightweight transactions.

Invariants:
1. The row expires by the cluster's clocks (TTL), so no client's clock can end a lease.
2. An expired lease that nobody took may be renewed.
3. Reads are serial, so they see decided transactions.
4. The TTL is at least 1, because 0 would mean no expiration.
"""

import time

from db import schema
from db.cassandra.session import CassandraSession
from db.leases import NAME, held_by, is_dead, is_same, lost
from db.store import Lease, Row, Value

SERIAL = "LOCAL_SERIAL"
APPLIED = "[applied]"


class CassandraLease:
    """The lease of one keyspace."""

    def __init__(self, session: CassandraSession, keyspace: str) -> None:
        self._session = session
        self._table = f"{keyspace}.{schema.lease.name}"

    def acquire(self, owner: str, run: str, ttl_s: int) -> Lease:
        """Acquires the lease. Raises LeaseHeld if its row has not expired and its holder is not known to be dead."""
        lease = _lease(owner, run, ttl_s)
        found = self._insert(lease, ttl_s)
        if found is None:
            return lease
        held = _held(found)
        if not is_same(lease, held) and not is_dead(held):
            raise held_by(held)
        if not self._replace(held, lease, ttl_s):
            raise lost(lease, self.holder())
        return lease

    def renew(self, lease: Lease, ttl_s: int) -> Lease:
        """Extends the lease. Raises LeaseHeld if another run took it."""
        longer = _lease(lease.owner, lease.run, ttl_s)
        if not self._replace(lease, longer, ttl_s):
            found = self._insert(longer, ttl_s)
            if found is not None:
                raise lost(lease, _held(found))
        return longer

    def release(self, lease: Lease) -> None:
        """Releases the lease if this run still holds it."""
        cql = f"DELETE FROM {self._table} WHERE name = ? IF owner = ? AND run = ?"
        self._session.run(cql, (NAME, lease.owner, lease.run))

    def holder(self) -> Lease | None:
        """The recorded holder; None without one or after expiration."""
        cql = f"SELECT owner, run, expires_at FROM {self._table} WHERE name = ?"
        rows = self._session.run(cql, (NAME,), SERIAL)
        return _held(rows[0]) if rows else None

    def check_free(self) -> None:
        """Raises LeaseHeld if a live run holds the lease. For writes without a lease."""
        held = self.holder()
        if held and not is_dead(held):
            raise held_by(held)

    def _insert(self, lease: Lease, ttl_s: int) -> Row | None:
        """Inserts the lease. Returns None if it was free, else the existing row."""
        cql = f"INSERT INTO {self._table} (name, owner, run, expires_at) VALUES (?, ?, ?, ?) IF NOT EXISTS USING TTL ?"
        (row,) = self._session.run(cql, (NAME, lease.owner, lease.run, lease.expires_at, max(1, ttl_s)))
        return None if row[APPLIED] else row

    def _replace(self, held: Lease, lease: Lease, ttl_s: int) -> bool:
        cql = (
            f"UPDATE {self._table} USING TTL ? SET owner = ?, run = ?, expires_at = ? WHERE name = ? "
            "IF owner = ? AND run = ?"
        )
        values: tuple[Value, ...] = (
            max(1, ttl_s),
            lease.owner,
            lease.run,
            lease.expires_at,
            NAME,
            held.owner,
            held.run,
        )
        return bool(self._session.run(cql, values)[0][APPLIED])


def _lease(owner: str, run: str, ttl_s: int) -> Lease:
    return Lease(owner, run, int(time.time() * 1000) + ttl_s * 1000)


def _held(row: Row) -> Lease:
    return Lease(row["owner"], row["run"], row["expires_at"])
