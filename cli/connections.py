"""Limits of connections that uvicorn has no settings for: requests' heads, their number, and clients that do not read.

Invariants:
1. Of a request's head, no more than `head_bytes` and one read of the socket is ever kept. A request is counted, not
   parsed, from there on.
2. A connection without a complete head is closed after `head_s`. Beyond `connections`, the one that has waited longest
   is closed for a new one; if all have requests, the new one is rejected.
3. A connection whose client takes nothing of what waits for it for `send_s` is aborted, in whatever state it is.
4. WebSockets count as connections. What they may send is limited by `api.mqtt`.
"""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import httptools
import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from api.http.sending import ABORT
from cli.response_cycle import ResponseCycle

log = logging.getLogger("permanode.connections")

HEADERS_MAX = 100
"""Maximum of headers of a request. A head of short ones takes fifty times its size in memory. granian has the same
maximum, which cannot be set.
"""

PIPELINED_MAX = 32
"""Maximum of requests that wait on one connection behind another one."""

SWEEP_S = 1.0
"""Seconds between two checks of all connections."""

LOG_EVERY_S = 10.0

SEND_BUFFER_BYTES = 262_144
"""Bytes of a response that the kernel keeps for each client. It reports that some were taken only when a third of them
were, and by itself it would keep up to 4 MB.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the connections of a process. `send_s`, `head_s`: seconds."""

    connections: int
    head_bytes: int
    head_s: float
    send_s: float


class ProxyHeaders(ProxyHeadersMiddleware):
    """uvicorn's middleware for trusted proxies, without a stack frame for requests that no proxy forwarded."""

    def __call__(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]:  # type: ignore[override]
        """Serves one request, with the client's address and scheme that a trusted proxy names."""
        for name, _ in scope.get("headers", ()):
            if name.startswith(b"x-forwarded-"):
                return super().__call__(scope, receive, send)
        return self.app(scope, receive, send)


class RejectionLog:
    """Logs that connections were closed for their limit, at most every LOG_EVERY_S."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._count, self._logged_at = 0, -LOG_EVERY_S

    def report(self, what: str, now: float) -> None:
        """Counts a connection, and logs the count. `what`: what was done. `now`: the time of the event loop."""
        self._count += 1
        if now - self._logged_at >= LOG_EVERY_S:
            log.warning(
                "more than %d connections: %d times since the last message, %s", self._connections, self._count, what
            )
            self._count, self._logged_at = 0, now


class LimitedConfig(uvicorn.Config):
    """uvicorn's configuration, and the connections of this process with their limits."""

    def __init__(self, app: Any, limits: Limits, **settings: Any) -> None:
        super().__init__(app, http=LimitedHttp, ws=LimitedWebSocket, proxy_headers=False, **settings)
        self.limits = limits
        self.waiting: dict[LimitedHttp, float] = {}
        """Connections without a complete head → since when, in this order."""
        self.stalled: dict[LimitedHttp | LimitedWebSocket, tuple[int, float]] = {}
        """Connections with unsent bytes → how many, and since when none were taken."""
        self.is_sweeping = False
        self.rejections = RejectionLog(limits.connections)

    def load(self) -> None:
        """Loads the application, with the headers of proxies in front of it."""
        super().load()
        self.loaded_app = ProxyHeaders(self.loaded_app, self.forwarded_allow_ips)

    def sweep(self, connections: Any, loop: asyncio.AbstractEventLoop) -> None:
        """Ends connections whose time is over, and comes back as long as there are connections."""
        now = loop.time()
        for connection, since in [*self.waiting.items()]:
            if now - since >= (self.timeout_keep_alive if connection.is_between_requests else self.limits.head_s):
                connection.end_waiting()
        left: dict[LimitedHttp | LimitedWebSocket, tuple[int, float]] = {}
        for each in [*connections]:
            unsent = each.transport.get_write_buffer_size()
            if not unsent:
                continue
            before, since = self.stalled.get(each, (unsent, now))
            since = now if unsent < before else max(since, each.resumed_at)
            if now - since < self.limits.send_s:
                left[each] = unsent, since
            else:
                log.warning("a client read nothing for %d s and was disconnected", self.limits.send_s)
                each.transport.abort()
        self.stalled = left
        self.is_sweeping = bool(connections)
        if self.is_sweeping:
            loop.call_later(SWEEP_S, self.sweep, connections, loop)


class LimitedHttp(HttpToolsProtocol):
    """uvicorn's protocol of a connection, with the limits of its configuration."""

    config: LimitedConfig

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.limits = self.config.limits
        self.resumed_at = 0.0
        self.headers = []
        self.part_bytes = self.unparsed_bytes = self.request_bytes = 0
        """Bytes of the present read, of what the parser has not finished (at least) and of the request (at most)."""
        self.is_in_head = self.is_message_complete = self.is_rejected = False
        self.active: RequestResponseCycle | None = None
        """The request that is being answered, or was last. Others may wait behind it."""
        self.extensions: dict[str, dict[object, object]] = {ABORT: {"call": self.abort}}

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Counts the connection. Makes room for it if there are too many."""
        super().connection_made(transport)
        config, now = self.config, self.loop.time()
        if not config.is_sweeping:
            config.is_sweeping = True
            self.loop.call_later(SWEEP_S, config.sweep, self.connections, self.loop)
        if len(self.connections) > self.limits.connections:
            oldest = next(iter(config.waiting), None)
            if oldest is None:
                config.rejections.report("a new one was rejected", now)
                self.reject(503)
                return
            config.rejections.report("the one that waited longest was closed", now)
            oldest.abort()
        config.waiting[self] = now

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self.config.waiting.pop(self, None)
        self.end_request()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Notes that the client takes what waits for it."""
        self.resumed_at = self.loop.time()
        super().resume_writing()

    def abort(self) -> None:
        """Closes the connection without sending what waits for the client."""
        # connection_lost comes in a later turn, and until then the connection counts.
        self.connections.discard(self)
        self.config.waiting.pop(self, None)
        self.is_rejected = True
        self.end_request()
        self.transport.abort()

    def end_request(self) -> None:
        """Lets what the application still sends go nowhere."""
        if self.active is not None:
            self.active.disconnected = True

    @property
    def is_between_requests(self) -> bool:
        """Whether a request was answered completely and nothing came after it."""
        return self.is_message_complete and not self.is_in_head

    @property
    def is_answering(self) -> bool:
        """Whether a request is under way."""
        return self.active is not None and not self.active.response_complete

    def end_waiting(self) -> None:
        """Closes a connection whose client did not send the next part of a request in time."""
        if self.is_in_head:
            self.reject(408)
        else:
            self.config.waiting.pop(self, None)
            self.transport.close()

    def reject(self, status: int) -> None:
        """Sends an empty response with that status and ignores what else comes."""
        if self.is_answering:
            # The client would take it for the response to another request.
            self.abort()
        self.is_rejected = True
        self.config.waiting.pop(self, None)
        if not self.transport.is_closing():
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    # What comes in

    def data_received(self, data: bytes) -> None:
        """Parses data in parts no longer than a head may be."""
        most = self.limits.head_bytes
        if len(data) <= most:
            self.parse(data)
        else:
            for start in range(0, len(data), most):
                self.parse(data[start : start + most])

    def parse(self, part: bytes) -> None:
        """Parses a part. Rejects the request if neither a head nor trailers nor the head of a chunk ended in time."""
        if self.is_rejected:
            return
        self.part_bytes = len(part)
        self.unparsed_bytes += len(part)
        self.request_bytes += len(part)
        super().data_received(part)
        if self.is_in_head and not self.is_answering and self not in self.config.waiting:
            self.config.waiting[self] = self.loop.time()
        if self.unparsed_bytes > self.limits.head_bytes or len(self.headers) > HEADERS_MAX:
            self.reject(431)

    def on_message_begin(self) -> None:
        """Begins a head."""
        super().on_message_begin()
        self.scope["extensions"] = self.extensions
        self.is_in_head, self.is_message_complete = True, False
        # At most: the part may begin with an earlier request.
        self.request_bytes = self.part_bytes
        if self.active is not None and not self.is_answering:
            # The time for the head begins.
            self.config.waiting.pop(self, None)

    @property
    def is_too_long(self) -> bool:
        """Whether the head with the trailers is longer than allowed. Counts them only if the request might be."""
        most = self.limits.head_bytes
        return len(self.headers) > HEADERS_MAX or (
            self.request_bytes > most
            and len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > most
        )

    def on_headers_complete(self) -> None:
        """Starts the request."""
        self.is_in_head, self.unparsed_bytes = False, 0
        self.config.waiting.pop(self, None)
        if self.is_too_long:
            self.reject(431)
        elif len(self.pipeline) >= PIPELINED_MAX:
            self.abort()
        if not self.is_rejected:
            self.start_request()

    def start_request(self) -> None:
        """Calls the application, after the response to the request before this one."""
        parser, scope = self.parser, self.scope
        scope["method"], scope["http_version"] = parser.get_method().decode("ascii"), parser.get_http_version()
        if parser.should_upgrade() and self._should_upgrade():
            return
        url = httptools.parse_url(self.url)
        scope["raw_path"], scope["query_string"] = url.path, url.query or b""
        path = url.path.decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        self.cycle = cycle = ResponseCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=scope["http_version"] != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if self.is_answering:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))
        else:
            self._start_asgi_task(cycle, self.app)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.active = cycle
        super()._start_asgi_task(cycle, app)

    def on_chunk_header(self) -> None:
        """Notes that the parser goes on."""
        self.unparsed_bytes = 0

    def on_body(self, body: bytes) -> None:
        """Adds a part of the body."""
        self.unparsed_bytes = 0
        if not self.is_rejected:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends the request."""
        self.unparsed_bytes, self.is_message_complete = 0, True
        if self.is_too_long:
            self.reject(431)
        if not self.is_rejected:
            super().on_message_complete()

    # What goes out

    def on_response_complete(self) -> None:
        """Starts the next request, or waits for it, or for the rest of the body of this one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self.config.waiting[self] = self.loop.time()


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol of a WebSocket, which notes when its client takes something."""

    resumed_at = 0.0

    def resume_writing(self) -> None:
        """Notes that the client takes what waits for it."""
        self.resumed_at = self.loop.time()
        super().resume_writing()
