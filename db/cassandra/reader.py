"""Reads through acsylla, a faster driver: the C++ driver under asyncio. Same results as `CassandraSession.query`.

Invariants:
1. Only this module imports acsylla. Its errors become the port's errors.
2. It only reads. If a node fails to answer a query, the query is sent again through the other driver. While a node
   hangs,
   all queries use the other driver.
3. A connection belongs to one event loop. The loop's first query opens it, and the end of the loop closes it.
"""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import acsylla
from acsylla import errors

from db.cassandra.address import Address, ClusterSettings
from db.cassandra.errors import OutOfRange
from db.cassandra.policies import LATE_S
from db.cassandra.session import (
    CONNECT_S,
    HEARTBEAT_S,
    PROTOCOL,
    RECONNECT_S,
    SPECULATIVE_ATTEMPTS,
    CassandraSession,
)
from db.listing.deadline import is_over, remaining_s
from db.model import Type
from db.schema.protocols import TABLES
from db.store import DeadlinePassed, Row, StoreError, StoreMismatch, StoreUnavailable, Value
from db.together import together

T = TypeVar("T")

LEAST_S = 0.001
"""The shortest timeout of a query: 0 would mean no timeout."""

GRACE_S = 0.2
"""Seconds to wait for a response beyond the query's timeout."""

TIMES = frozenset(column.name for table in TABLES for column in table.columns if column.type is Type.TIMESTAMP)
"""Columns that acsylla returns as a datetime, which cannot exceed the year 9999. The server returns them as numbers."""

REJECTED = (
    errors.CassErrorServerInvalidQuery,
    errors.CassErrorServerSyntaxError,
    errors.CassErrorServerUnauthorized,
    errors.CassErrorServerBadCredentials,
    errors.CassErrorServerProtocolError,
    errors.CassErrorSourceSsl,
)
"""Errors that another node, or a later attempt, would return as well."""


class _Verify(Enum):
    """What to check in a node's certificate, as in the C++ driver. acsylla's PEER_IDENTITY has the value of PEER_CERT,
    which does not check the name.
    """

    SIGNED = 1
    SIGNED_AND_NAMED = 1 | 2


class AcsyllaReader:
    """Reads a cluster through acsylla. `other` is the session of the other driver."""

    def __init__(self, address: Address, settings: ClusterSettings, other: CassandraSession) -> None:
        self._address, self._settings, self._other = address, settings, other
        self._clients = _Clients()

    async def query(self, cql: str, values: Sequence[Value], consistency: str) -> list[Row]:
        """Runs a query and returns its rows. Raises DeadlinePassed if the deadline of the request passes first."""
        remaining = remaining_s()
        if remaining is not None and remaining <= 0:
            raise DeadlinePassed("no time left")
        client = self._client()
        if client.is_wary:
            return await self._other.query(cql, values, consistency)
        try:
            prepared = client.prepared.get(cql)
            if prepared is None:
                prepared = await _in_time(client.prepare(cql), remaining)
            return await client.execute(prepared, values, consistency, remaining)
        except OverflowError as error:
            raise OutOfRange(str(error)) from error
        except (errors.CassErrorLibRequestTimedOut, TimeoutError) as error:
            if is_over():
                raise DeadlinePassed("the cluster did not answer in time") from error
            raise _translated(self._address, error) from error
        except REJECTED as error:
            raise _translated(self._address, error) from error
        except errors.CassErrorLibNoHostsAvailable:
            # The driver closes a connection on which a node reported an error, and reconnects later.
            return await self._other.query(cql, values, consistency)
        except errors.CassException as error:
            if len(self._other.known()) > 1:
                return await self._other.query(cql, values, consistency)
            raise _translated(self._address, error) from error

    def _client(self) -> "_Client":
        loop = asyncio.get_running_loop()
        client = self._clients.client
        if client is None or client.loop is not loop:
            client = self._clients.client = _Client(loop, self._address, self._settings, self._other)
        return client


class _Prepared:
    """A prepared statement and the names of its columns."""

    def __init__(self, statement: Any, names: list[str]) -> None:
        self.statement, self.names = statement, names


class _Client:
    """The client of one event loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, address: Address, settings: ClusterSettings, other: CassandraSession
    ) -> None:
        self.loop = loop
        self.prepared: dict[str, _Prepared] = {}
        self._address, self._settings, self._other = address, settings, other
        self._delay_s, self._timeout_s = settings.speculative_delay_s, settings.query_timeout_s
        self._session: Any = None
        self._life: AsyncGenerator[Any] | None = None
        self._opening: asyncio.Future[Any] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._trusted_until = 0.0

    @property
    def is_wary(self) -> bool:
        """Whether a node seems to hang. Then the other driver is used, which tries such a node last."""
        return self._watching is not None

    async def prepare(self, cql: str) -> _Prepared:
        """Prepares a statement once."""
        columns, _, rest = cql.removeprefix("SELECT ").partition(" FROM ")
        names = columns.split(", ")
        spelt = ", ".join(f"toUnixTimestamp({name}) AS {name}" if name in TIMES else name for name in names)
        # Prepare with the other driver now: it prepares on every node, and waits if one hangs.
        if not self._other.knows(cql):
            await self.loop.run_in_executor(None, self._other.prepare, cql)
        session = self._session or await self._open()
        statement = await session.create_prepared(f"SELECT {spelt} FROM {rest}", native_types=True)
        prepared = self.prepared[cql] = _Prepared(statement, names)
        return prepared

    async def execute(
        self, prepared: _Prepared, values: Sequence[Value], consistency: str, remaining: float | None
    ) -> list[Row]:
        """Runs a statement within the timeout and returns its rows."""
        timeout_s = self._timeout_s if remaining is None else min(self._timeout_s, max(remaining, LEAST_S))
        bound = prepared.statement.bind([*values], consistency=acsylla.Consistency[consistency], timeout=timeout_s)
        # Every read may be repeated.
        bound.set_is_idempotent(True)
        begun = time.monotonic()
        try:
            # The driver has its own timeout, but can wait forever for the only node if that hangs.
            async with asyncio.timeout(timeout_s + GRACE_S):
                result = await self._session.execute(bound)
        finally:
            if self._delay_s and time.monotonic() - begun > self._delay_s:
                self._suspect()
        names = prepared.names
        return [dict(zip(names, row.values(), strict=True)) for row in result]

    async def _open(self) -> Any:
        """Opens the connection. Concurrent queries wait for the same one."""
        if self._opening is None or (self._opening.done() and self._session is None):
            self._life = self._connected()
            self._opening = asyncio.ensure_future(anext(self._life))
        try:
            self._session = await asyncio.shield(self._opening)
        except errors.CassException as error:
            raise _translated(self._address, error) from error
        return self._session

    async def _connected(self) -> AsyncGenerator[Any]:
        """The connection, until the event loop closes its generators."""
        address, settings = self._address, self._settings
        cluster = acsylla.create_cluster(
            list(address.hosts),
            port=address.port,
            # The driver requires both or neither. A server that requires no client certificate accepts either.
            username=address.user if settings.password else None,
            password=settings.password if address.user and settings.password else None,
            protocol_version=PROTOCOL,
            connect_timeout=CONNECT_S,
            request_timeout=settings.query_timeout_s,
            load_balance_dc_aware=await self.loop.run_in_executor(None, self._other.datacenter),
            retry_policy="fallthrough",
            speculative_execution_policy=acsylla.SpeculativeExecutionPolicy(
                round(1000 * self._delay_s), SPECULATIVE_ATTEMPTS
            )
            if self._delay_s
            else None,
            constant_reconnect_delay_ms=round(1000 * RECONNECT_S),
            heartbeat_interval_sec=round(HEARTBEAT_S),
            idle_timeout_sec=round(2 * HEARTBEAT_S),
            monitor_reporting_interval_sec=0,
            # Its log messages would pass through the event loop, and its errors contain the same text.
            log_level="disabled",
            **(_tls(settings) if settings.tls_ca else {}),
        )
        try:
            session = await cluster.create_session()
            try:
                yield session
            finally:
                await session.close()
        finally:
            cluster.destroy()

    def _suspect(self) -> None:
        """Records that a query took so long that it was also sent to another node."""
        nodes = self._other.known()
        if self._watching is None and len(nodes) > 1 and time.monotonic() > self._trusted_until:
            self._watching = self.loop.create_task(self._watch())

    async def _watch(self) -> None:
        """Returns when no node hangs. If none did, there was another reason, and nodes are trusted for a while."""
        try:
            while await self._is_any_late():
                await asyncio.sleep(LATE_S)
            self._trusted_until = time.monotonic() + LATE_S
        finally:
            self._watching = None

    async def _is_any_late(self) -> bool:
        return any(await together(*(self._is_late(*node) for node in self._other.known())))

    async def _is_late(self, host: str, port: int) -> bool:
        """Whether a connected node does not respond. The driver measures the time, because the event loop may be
        late.
        """
        statement = acsylla.create_statement("SELECT key FROM system.local", timeout=self._delay_s)
        statement.set_host(host, port)
        try:
            async with asyncio.timeout(self._delay_s + GRACE_S):
                await self._session.execute(statement)
        except (errors.CassErrorLibRequestTimedOut, TimeoutError):
            return True
        except errors.CassException:
            # nobody awaits the result
            return False
        return False


class _Clients(threading.local):
    """The client of the event loop in this thread."""

    client: _Client | None = None


async def _in_time(work: Awaitable[T], remaining: float | None) -> T:
    try:
        return await asyncio.wait_for(work, remaining)
    except TimeoutError as error:
        raise DeadlinePassed("the cluster did not answer in time") from error


def _translated(address: Address, error: Exception) -> Exception:
    """The port's error for acsylla's."""
    text = f"{address}: {type(error).__name__}: {error}"
    if isinstance(error, errors.CassErrorServerInvalidQuery) and "does not exist" in str(error):
        return StoreMismatch(f"{address}: a migration is missing; run `permanode migrate` ({error})")
    return StoreError(text) if isinstance(error, REJECTED) else StoreUnavailable(text)


def _tls(settings: ClusterSettings) -> dict[str, Any]:
    own = settings.tls_cert and Path(settings.tls_cert).read_text()
    return {
        "ssl_enabled": True,
        "ssl_trusted_cert": Path(settings.tls_ca).read_text(),
        "ssl_verify_flags": _Verify.SIGNED_AND_NAMED if settings.tls_hostnames else _Verify.SIGNED,
        "ssl_cert": own or None,
        "ssl_private_key": (Path(settings.tls_key).read_text() if settings.tls_key else own) or None,
    }
