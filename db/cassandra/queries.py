"""Which driver reads a cluster, and how long a read waits."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from db.cassandra.address import Address, ClusterSettings
from db.cassandra.errors import ReplicasFailed
from db.cassandra.session import CassandraSession
from db.listing.deadline import remaining_s
from db.retry import Backoff
from db.store import Row, StoreError, StoreUnavailable, Value

Query: TypeAlias = Callable[[str, Sequence[Value], str], Awaitable[list[Row]]]
"""(statement, values, consistency) → rows."""


def reading(
    address: Address, settings: ClusterSettings, session: CassandraSession, *, writable: bool
) -> tuple[Query, Query]:
    """The function for reads, and one that never waits for a cluster that is unavailable.

    What writes waits for `write_patience_s`, unless it answers a request.
    """
    query = _query_of(address, settings, session, writable=writable)
    return (_patient(query, settings.write_patience_s) if writable else query), query


def _query_of(address: Address, settings: ClusterSettings, session: CassandraSession, *, writable: bool) -> Query:
    """The session's function, or acsylla's."""
    # What writes reads little, and each of its event loops would open connections of its own.
    if settings.reader == "cassandra" or (writable and not settings.reader):
        return session.query
    try:
        from db.cassandra.reader import AcsyllaReader
    except ModuleNotFoundError as error:
        if not settings.reader:
            return session.query
        session.close()
        raise StoreError("reader = acsylla needs acsylla: install permanode[acsylla]") from error
    return AcsyllaReader(address, settings, session).query


def _patient(query: Query, retry_s: float) -> Query:
    """Repeats a read while the cluster is unavailable. Raises ReplicasFailed at once."""

    async def repeated(cql: str, values: Sequence[Value], consistency: str) -> list[Row]:
        backoff = Backoff(retry_s)
        while True:
            try:
                return await query(cql, values, consistency)
            except ReplicasFailed:
                raise
            except StoreUnavailable as error:
                if remaining_s() is not None:
                    raise
                await asyncio.sleep(backoff.next_s(error))

    return repeated
