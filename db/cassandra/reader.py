"""Reads through acsylla, the C++ driver under asyncio: what CassandraSession.ask answers, sooner.

Rules of this file: acsylla is named here and nowhere else, its errors leave as the port's. It reads and does nothing
more; what it cannot do as well as the driver that writes, it leaves to that one: a question that a node could not
answer is asked there once more, and all are while a node stands still. A connection belongs to one event loop, is made
by its first question and ends when the loop does.
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
from db.cassandra.policies import LATE_S
from db.cassandra.session import (
    CONNECT_S,
    HEARTBEAT_S,
    PROTOCOL,
    RECONNECT_S,
    SPECULATIVE_ATTEMPTS,
    CassandraSession,
    Misfit,
)
from db.listing.deadline import is_over, remaining_s
from db.model import Type
from db.schema.protocols import TABLES
from db.store import DeadlinePassed, Row, StoreError, StoreMismatch, StoreUnavailable, Value

T = TypeVar("T")

LEAST_S = 0.001
"""The shortest time that can be given to a question: 0 would mean for ever."""

GRACE_S = 0.2
"""How much longer than a question may take its answer is waited for."""

TIMES = frozenset(column.name for table in TABLES for column in table.columns if column.type is Type.TIMESTAMP)
"""Columns that acsylla gives as a datetime, which ends with the year 9999; the server gives them as the number."""

REFUSED = (
    errors.CassErrorServerInvalidQuery,
    errors.CassErrorServerSyntaxError,
    errors.CassErrorServerUnauthorized,
    errors.CassErrorServerBadCredentials,
    errors.CassErrorServerProtocolError,
    errors.CassErrorSourceSsl,
)
"""What another node, or the same one later, would answer alike."""


class _Verify(Enum):
    """What of a node's certificate is checked, in the numbers of the library beneath; acsylla's PEER_IDENTITY has the
    number of PEER_CERT, which asks for no name.
    """

    SIGNED = 1
    SIGNED_AND_NAMED = 1 | 2


class AcsyllaReader:
    """A cluster's answers by acsylla, `other` being the session that writes."""

    def __init__(self, address: Address, settings: ClusterSettings, other: CassandraSession) -> None:
        self._address, self._settings, self._other = address, settings, other
        self._clients = _Clients()

    async def ask(self, cql: str, values: Sequence[Value], consistency: str) -> list[Row]:
        """The rows of a statement; DeadlinePassed when the question's time is over before they come."""
        remaining = remaining_s()
        if remaining is not None and remaining <= 0:
            raise DeadlinePassed("no time left")
        client = self._client()
        if client.is_wary:
            return await self._other.ask(cql, values, consistency)
        try:
            prepared = client.prepared.get(cql)
            if prepared is None:
                prepared = await _in_time(client.prepare(cql), remaining)
            return await client.execute(prepared, values, consistency, remaining)
        except OverflowError as error:
            raise Misfit(str(error)) from error
        except (errors.CassErrorLibRequestTimedOut, TimeoutError) as error:
            if is_over():
                raise DeadlinePassed("the cluster did not answer in time") from error
            raise _translated(self._address, error) from error
        except REFUSED as error:
            raise _translated(self._address, error) from error
        except errors.CassErrorLibNoHostsAvailable:
            # It ends a connection over which a node said that it is ill, and tries again later.
            return await self._other.ask(cql, values, consistency)
        except errors.CassException as error:
            if len(self._other.known()) > 1:
                return await self._other.ask(cql, values, consistency)
            raise _translated(self._address, error) from error

    def _client(self) -> "_Client":
        loop = asyncio.get_running_loop()
        client = self._clients.client
        if client is None or client.loop is not loop:
            client = self._clients.client = _Client(loop, self._address, self._settings, self._other)
        return client


class _Prepared:
    """A prepared statement, and the names of what it selects."""

    def __init__(self, statement: Any, names: list[str]) -> None:
        self.statement, self.names = statement, names


class _Client:
    """What one event loop asks a cluster with."""

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
        """Whether a node seems to stand still, so that the other driver is asked, which asks such a node last."""
        return self._watching is not None

    async def prepare(self, cql: str) -> _Prepared:
        """A statement, prepared once."""
        columns, _, rest = cql.removeprefix("SELECT ").partition(" FROM ")
        names = columns.split(", ")
        spelt = ", ".join(f"toUnixTimestamp({name}) AS {name}" if name in TIMES else name for name in names)
        # The other driver prepares on every node: not when the first one stands still.
        if not self._other.knows(cql):
            await self.loop.run_in_executor(None, self._other.prepare, cql)
        session = self._session or await self._open()
        statement = await session.create_prepared(f"SELECT {spelt} FROM {rest}", native_types=True)
        prepared = self.prepared[cql] = _Prepared(statement, names)
        return prepared

    async def execute(
        self, prepared: _Prepared, values: Sequence[Value], consistency: str, remaining: float | None
    ) -> list[Row]:
        """The rows, as long as there is time."""
        timeout_s = self._timeout_s if remaining is None else min(self._timeout_s, max(remaining, LEAST_S))
        bound = prepared.statement.bind([*values], consistency=acsylla.Consistency[consistency], timeout=timeout_s)
        # Every read may be sent twice without harm.
        bound.set_is_idempotent(True)
        begun = time.monotonic()
        try:
            # It minds the time itself, but was seen to wait for ever for the only node, which stood still.
            async with asyncio.timeout(timeout_s + GRACE_S):
                result = await self._session.execute(bound)
        finally:
            if self._delay_s and time.monotonic() - begun > self._delay_s:
                self._suspect()
        names = prepared.names
        return [dict(zip(names, row.values(), strict=True)) for row in result]

    async def _open(self) -> Any:
        """The connection; several questions may wait for one."""
        if self._opening is None or (self._opening.done() and self._session is None):
            self._life = self._connected()
            self._opening = asyncio.ensure_future(anext(self._life))
        try:
            self._session = await asyncio.shield(self._opening)
        except errors.CassException as error:
            raise _translated(self._address, error) from error
        return self._session

    async def _connected(self) -> AsyncGenerator[Any]:
        """The connection, until the event loop ends its generators."""
        address, settings = self._address, self._settings
        cluster = acsylla.create_cluster(
            list(address.hosts),
            port=address.port,
            # It refuses one without the other; a server that asks for neither takes both or none.
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
            # What it would say goes through the event loop, and its errors say it all again.
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
        """A question took so long that another node was asked as well."""
        nodes = self._other.known()
        if self._watching is None and len(nodes) > 1 and time.monotonic() > self._trusted_until:
            self._watching = self.loop.create_task(self._watch())

    async def _watch(self) -> None:
        """Returns when no node stands still; it was another reason then if none did, and trusted for a while."""
        try:
            while await self._is_any_late():
                await asyncio.sleep(LATE_S)
            self._trusted_until = time.monotonic() + LATE_S
        finally:
            self._watching = None

    async def _is_any_late(self) -> bool:
        return any(await asyncio.gather(*(self._is_late(*node) for node in self._other.known())))

    async def _is_late(self, host: str, port: int) -> bool:
        """Whether a node that is connected does not answer; the driver minds the time, as our loop may be late."""
        asked = acsylla.create_statement("SELECT key FROM system.local", timeout=self._delay_s)
        asked.set_host(host, port)
        try:
            async with asyncio.timeout(self._delay_s + GRACE_S):
                await self._session.execute(asked)
        except (errors.CassErrorLibRequestTimedOut, TimeoutError):
            return True
        except errors.CassException:
            # Nobody asks it.
            return False
        return False


class _Clients(threading.local):
    """The client of the event loop that runs in a thread."""

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
        return StoreMismatch(f"{address}: the store lacks a migration, run `permanode migrate` ({error})")
    return StoreError(text) if isinstance(error, REFUSED) else StoreUnavailable(text)


def _tls(settings: ClusterSettings) -> dict[str, Any]:
    own = settings.tls_cert and Path(settings.tls_cert).read_text()
    return {
        "ssl_enabled": True,
        "ssl_trusted_cert": Path(settings.tls_ca).read_text(),
        "ssl_verify_flags": _Verify.SIGNED_AND_NAMED if settings.tls_hostnames else _Verify.SIGNED,
        "ssl_cert": own or None,
        "ssl_private_key": (Path(settings.tls_key).read_text() if settings.tls_key else own) or None,
    }
