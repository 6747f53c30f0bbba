"""A session of the Cassandra or ScyllaDB driver: connect, prepare, query, write.

Invariants:
1. Only this module and the batch use the driver. Its errors become the port's errors, without bound values.
2. Responses arrive on the driver's thread and are passed to the event loop of the caller in batches, so requests need
   no
   threads.
3. The protocol version is 4, which both Cassandra and ScyllaDB support.
"""

import asyncio
import os
import re
import ssl
import struct
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from cassandra import (
    AuthenticationFailed,
    ConsistencyLevel,
    DriverException,
    InvalidRequest,
    OperationTimedOut,
    ReadFailure,
    RequestExecutionException,
    Unauthorized,
    UnresolvableContactPoints,
    type_codes,
)
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.connection import ConnectionException, ProtocolError
from cassandra.cqltypes import LongType, SimpleDateType
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
)
from cassandra.protocol import ProtocolHandler, ResultMessage
from cassandra.query import BoundStatement, PreparedStatement, SimpleStatement, dict_factory

from db.cassandra.address import Address, ClusterSettings
from db.cassandra.driver_log import shorten, silent
from db.cassandra.errors import OutOfRange, ReplicasFailed
from db.cassandra.policies import LateLast, OnceMore
from db.listing.deadline import is_over, remaining_s
from db.store import DeadlinePassed, Row, StoreError, StoreMismatch, StoreUnavailable, Value

PROTOCOL = 4
CONNECT_S = 5.0
RECONNECT_S = 2.0
"""Seconds between attempts to reconnect to a node, without limit. The driver's default grows, and then it stops."""

HEARTBEAT_S = 10.0
SPECULATIVE_ATTEMPTS = 2
SCHEMA_S = 60.0
FETCH_ROWS = 1_000
DISTRUSTED = re.compile(r"certificate verify failed: (.+?)(?: \(_ssl|$)")
"""The driver's message after a failed TLS handshake. It keeps the text of the error but not its class."""

EPOCH_DAY = date(1970, 1, 1).toordinal() - (1 << 31)


class _IsoDate(SimpleDateType):  # type: ignore[misc]
    """Decodes a date as text."""

    @staticmethod
    def deserialize(value: bytes, protocol_version: int) -> str:  # noqa: ARG004
        """The date that is this many days after -5877641-06-23."""
        (days,) = struct.unpack(">I", value)
        return date.fromordinal(EPOCH_DAY + days).isoformat()


_Compiled = ProtocolHandler.message_types_by_opcode[ResultMessage.opcode]


class _Rows(_Compiled):  # type: ignore[misc,valid-type]
    """Decodes rows to the port's types: milliseconds stay numbers, dates become texts."""

    type_codes = {**_Compiled.type_codes, type_codes.DateType: LongType, type_codes.SimpleDateType: _IsoDate}  # noqa: RUF012


class _Handler(ProtocolHandler):  # type: ignore[misc]
    message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, ResultMessage.opcode: _Rows}  # noqa: RUF012


class _Answers(threading.local):
    """The event loop of a thread, and the responses to pass to it."""

    inbox: "_Inbox | None" = None


class _Inbox:
    """Responses for one event loop. The driver's thread wakes the loop once for all responses that arrived
    meanwhile.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._come: deque[tuple[asyncio.Future[list[Row]], list[Row] | None, Exception | None]] = deque()
        self._woken = False

    def put(self, rows: list[Row] | None, waiting: "asyncio.Future[list[Row]]", error: Exception | None = None) -> None:
        """Called by the driver's thread."""
        self._come.append((waiting, rows, error))
        if not self._woken:
            self._woken = True
            # The loop was closed, and nobody waits any more.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        # Reset before reading, so that later responses wake the loop again.
        self._woken = False
        while self._come:
            waiting, rows, error = self._come.popleft()
            if waiting.done():
                continue
            if error is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(rows or [])


class CassandraSession:
    """A client of a cluster. Each statement is prepared once and kept."""

    def __init__(self, address: Address, settings: ClusterSettings) -> None:
        """Connects. Raises StoreUnavailable if no node responds, StoreError if the login is rejected."""
        self.address = address
        self._datacenter = address.dc
        self._timeout_s = settings.query_timeout_s
        self._answers = _Answers()
        self._prepared: dict[str, PreparedStatement] = {}
        self._nodes = LateLast(address.dc or "")
        delay_s = settings.speculative_delay_s
        profile = ExecutionProfile(
            load_balancing_policy=self._nodes,
            retry_policy=OnceMore(),
            consistency_level=ConsistencyLevel.name_to_value[settings.consistency],
            serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
            request_timeout=settings.query_timeout_s,
            row_factory=dict_factory,
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(delay_s, SPECULATIVE_ATTEMPTS)
            if delay_s
            else None,
        )
        shorten()
        with silent():
            try:
                self._cluster = Cluster(
                    address.hosts,
                    port=address.port,
                    auth_provider=PlainTextAuthProvider(address.user, settings.password) if address.user else None,
                    ssl_context=_tls(settings) if settings.tls_ca else None,
                    execution_profiles={EXEC_PROFILE_DEFAULT: profile},
                    reconnection_policy=ConstantReconnectionPolicy(RECONNECT_S, max_attempts=None),
                    protocol_version=PROTOCOL,
                    connect_timeout=CONNECT_S,
                    control_connection_timeout=CONNECT_S,
                    idle_heartbeat_interval=HEARTBEAT_S,
                    idle_heartbeat_timeout=HEARTBEAT_S,
                    monitor_reporting_enabled=False,
                )
            except UnresolvableContactPoints as error:
                raise StoreUnavailable(f"{address}: no address of {', '.join(address.hosts)} is known") from error
            try:
                self._session = self._cluster.connect()
            except Exception as error:
                self._cluster.shutdown()
                raise self.translated(error) from error
        self._session.client_protocol_handler = _Handler
        # A query has a limit. If the server split the result into pages, it could end incomplete.
        self._session.default_fetch_size = None

    def close(self) -> None:
        """Closes the connections and the driver's threads."""
        self._cluster.shutdown()

    def prepare(self, cql: str) -> PreparedStatement:
        """Prepares a statement once. All statements except conditional ones may be repeated."""
        found = self._prepared.get(cql)
        if found is None:
            try:
                found = self._session.prepare(cql)
            except Exception as error:
                raise self.translated(error) from error
            found.is_idempotent = " IF " not in cql
            self._prepared[cql] = found
        return found

    def knows(self, cql: str) -> bool:
        """Whether the statement is already prepared."""
        return cql in self._prepared

    def run(self, cql: str, values: Sequence[Value] = (), consistency: str | None = None) -> list[Row]:
        """Runs a statement and returns its rows. Blocks the calling thread."""
        bound = self._bound(self.prepare(cql), values, consistency)
        try:
            return list(self._session.execute(bound))
        except Exception as error:
            raise self.translated(error) from error

    def run_local(self, cql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Runs a query of system tables, which each node has for itself."""
        return self.run(cql, values, "ONE")

    def pages(self, cql: str, values: Sequence[Value]) -> Iterator[Row]:
        """Runs a statement and yields its rows, which come in pages. Blocks the calling thread."""
        bound = self._bound(self.prepare(cql), values, None)
        bound.fetch_size = FETCH_ROWS
        try:
            yield from self._session.execute(bound)
        except (DriverException, NoHostAvailable, ConnectionException, OSError) as error:
            raise self.translated(error) from error

    def define(self, cql: str) -> None:
        """Changes the schema and returns when the nodes agree on it."""
        # The driver has read the schema while connecting. It would read that of each new table too, which nothing uses.
        self._cluster.schema_metadata_enabled = False
        try:
            self._session.execute(SimpleStatement(cql), timeout=SCHEMA_S)
        except Exception as error:
            raise self.translated(error) from error

    def next_timestamp(self) -> int:
        """A write time in µs, after those of all earlier statements of this session."""
        timestamp: int = self._cluster.timestamp_generator()
        return timestamp

    def send(self, statement: PreparedStatement, values: Sequence[Any]) -> Any:
        """Sends a write and returns the driver's future without waiting."""
        return self._session.execute_async(self._bound(statement, values, None))

    async def query(self, cql: str, values: Sequence[Value], consistency: str) -> list[Row]:
        """Runs a query and returns its rows. Raises DeadlinePassed if the deadline of the request passes first."""
        remaining = remaining_s()
        if remaining is not None and remaining <= 0:
            raise DeadlinePassed("no time left")
        statement = self._prepared.get(cql)
        loop = asyncio.get_running_loop()
        if statement is None:
            # Once per statement and process. The driver can only prepare while blocking.
            statement = await self._in_time(loop.run_in_executor(None, self.prepare, cql), remaining)
        inbox = self._answers.inbox
        if inbox is None or inbox.loop is not loop:
            inbox = self._answers.inbox = _Inbox(loop)
        waiting: asyncio.Future[list[Row]] = loop.create_future()
        timeout_s = self._timeout_s if remaining is None else min(self._timeout_s, remaining)
        try:
            answer = self._session.execute_async(self._bound(statement, values, consistency), timeout=timeout_s)
            answer.add_callbacks(inbox.put, lambda error: inbox.put(None, waiting, error), callback_args=(waiting,))
            rows = await waiting
        except (DriverException, NoHostAvailable, ConnectionException, OSError) as error:
            if isinstance(error, OperationTimedOut) and is_over():
                raise DeadlinePassed("the cluster did not answer in time") from error
            raise self.translated(error) from error
        if len(answer.attempted_hosts) > 1:
            self._nodes.note(answer.attempted_hosts, answer.coordinator_host)
        return rows

    def hosts(self) -> list[Any]:
        """The nodes that are up."""
        return [host for host in self._cluster.metadata.all_hosts() if host.is_up]

    def known(self) -> list[tuple[str, int]]:
        """Address and port of all known nodes, up or not."""
        return [(host.endpoint.address, host.endpoint.port) for host in self._cluster.metadata.all_hosts()]

    def run_on(self, host: Any, cql: str, values: Sequence[Value]) -> list[Row]:
        """Runs a statement on one node and returns its rows."""
        try:
            return list(self._session.execute(self._bound(self.prepare(cql), values, "ONE"), host=host))
        except Exception as error:
            raise self.translated(error) from error

    def datacenter(self) -> str:
        """The datacenter in the URL, else that of the node that responds."""
        if self._datacenter is None:
            self._datacenter = str(self.run_local("SELECT data_center FROM system.local")[0]["data_center"])
        return self._datacenter

    def translated(self, error: BaseException) -> Exception:
        """The port's error for the driver's."""
        if isinstance(error, NoHostAvailable):
            causes = error.errors.values() if isinstance(error.errors, dict) else ()
            if any(isinstance(cause, AuthenticationFailed) for cause in causes):
                return StoreError(f"{self.address}: {self._rejected()}")
            distrusted = [found[1] for cause in causes if (found := DISTRUSTED.search(str(cause)))]
            if distrusted:
                return StoreError(
                    f"{self.address}: tls_ca and tls_hostnames reject the node's certificate: {distrusted[0]}"
                )
            kinds = ", ".join(sorted({_cause_text(cause) for cause in causes}))
            return StoreUnavailable(f"{self.address}: no node responds ({kinds or 'none is known to be up'})")
        if isinstance(error, Unauthorized):
            return StoreError(f"{self.address}: user {self.address.user} is not authorized: {error}")
        if isinstance(error, InvalidRequest):
            text = str(error)
            if "does not exist" in text or "unconfigured table" in text:
                return StoreMismatch(f"{self.address}: a migration is missing; run `permanode migrate` ({text})")
            return StoreError(f"{self.address}: {text}")
        away = (OperationTimedOut, RequestExecutionException, ConnectionException, OSError)
        kind = ReplicasFailed if isinstance(error, ReadFailure) else StoreUnavailable
        text = f"{self.address}: {type(error).__name__}: {error}"
        return kind(text) if isinstance(error, away) else StoreError(text)

    def _rejected(self) -> str:
        if self.address.user is None:
            return "authentication is required: add a user to the URL, as USER@HOST, and set `password`"
        return f"wrong user {self.address.user} or password"

    async def _in_time(self, work: "asyncio.Future[PreparedStatement]", remaining: float | None) -> PreparedStatement:
        try:
            return await asyncio.wait_for(work, remaining)
        except TimeoutError as error:
            raise DeadlinePassed("the cluster did not answer in time") from error

    @staticmethod
    def _bound(statement: PreparedStatement, values: Sequence[Value], consistency: str | None) -> BoundStatement:
        try:
            bound = statement.bind(values)
        except TypeError as error:
            raise OutOfRange(str(error)) from error
        if consistency is not None:
            bound.consistency_level = ConsistencyLevel.name_to_value[consistency]
        return bound


def _cause_text(cause: BaseException) -> str:
    """Why a node does not respond: the system's text, or the name of the driver's error."""
    if isinstance(cause, OSError) and cause.errno:
        text = os.strerror(cause.errno)
        return text[:1].lower() + text[1:]
    return f"{type(cause).__name__}: {cause}" if isinstance(cause, ProtocolError) else type(cause).__name__


def _tls(settings: ClusterSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.tls_ca)
        context.check_hostname = settings.tls_hostnames
        if settings.tls_cert:
            context.load_cert_chain(settings.tls_cert, settings.tls_key or None)
    except OSError as error:
        raise StoreError(f"tls_ca, tls_cert, tls_key: {error}") from error
    return context
