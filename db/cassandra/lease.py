"""The lease of a cluster's store: one row, changed by lightweight transactions only.

Rules of this file: the row expires by the cluster's own clocks (TTL), so that no client's clock takes a lease away;
a lease that expired and that nobody took may be renewed; reads are serial, so they see what was decided. A TTL of 0
would mean for ever, so it is at least 1.
"""

import time

from db import schema
from db.cassandra.session import CassandraSession
from db.leases import NAME, held_by, is_dead, is_same, lost
from db.store import Lease, Row, Value

SERIAL = "LOCAL_SERIAL"
APPLIED = "[applied]"


class CassandraLease:
    """Who may write to one keyspace."""

    def __init__(self, session: CassandraSession, keyspace: str) -> None:
        self._session = session
        self._table = f"{keyspace}.{schema.lease.name}"

    def acquire(self, owner: str, run: str, ttl_s: int) -> Lease:
        """The lease; LeaseHeld names a holder whose row has not expired and who is not known to be dead."""
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
        """The same lease with a later end; LeaseHeld when another run took it."""
        longer = _lease(lease.owner, lease.run, ttl_s)
        if not self._replace(lease, longer, ttl_s):
            found = self._insert(longer, ttl_s)
            if found is not None:
                raise lost(lease, _held(found))
        return longer

    def release(self, lease: Lease) -> None:
        """Gives the lease back, if it is still this run's."""
        cql = f"DELETE FROM {self._table} WHERE name = ? IF owner = ? AND run = ?"
        self._session.run(cql, (NAME, lease.owner, lease.run))

    def holder(self) -> Lease | None:
        """Whom the lease names; None when nobody does, or whoever did has expired."""
        cql = f"SELECT owner, run, expires_at FROM {self._table} WHERE name = ?"
        rows = self._session.run(cql, (NAME,), SERIAL)
        return _held(rows[0]) if rows else None

    def refuse_others(self) -> None:
        """LeaseHeld when a run that lives holds the lease: whoever writes without one must not disturb it."""
        held = self.holder()
        if held and not is_dead(held):
            raise held_by(held)

    def _insert(self, lease: Lease, ttl_s: int) -> Row | None:
        """None when the lease was free and is ours now, else the row that stands there."""
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
