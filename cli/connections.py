"""Limits of connections that uvicorn has no settings for: requests' heads, their number, and clients that do not read.

Invariants:
1. Of a request's head, no more than `head_bytes` and one read of the socket is ever kept. A request is counted, not
   parsed, from there on.
2. A connection without a complete head is closed after `head_s`. Beyond `connections`, the one that has waited longest
   is closed for a new one; if all have requests, the new one is rejected.
3. A connection whose client takes nothing of what waits for it for `send_s` is aborted, in whatever state it is.
4. WebSockets count as connections (`cli/websocket.py`).
5. In one turn of the event loop, a part of what a client sent is parsed (`cli/inbox.py`).
"""

import asyncio
import logging
from typing import Any, cast
from urllib.parse import unquote

import httptools
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from api.http.sending import ABORT
from cli.connection_limits import Limits, ProxyHeaders, RejectionLog
from cli.inbox import Inbox
from cli.response_cycle import ResponseCycle, set_reset
from cli.websocket import LimitedWebSocket

log = logging.getLogger("permanode.connections")

HEADERS_MAX = 100
"""Maximum of headers of a request. A head of short ones takes fifty times its size in memory. granian has the same
maximum, which cannot be set.
"""

PIPELINED_MAX = 32
"""Maximum of requests that wait on one connection behind another one."""

PART_BYTES = 4_096
"""Bytes of requests that a connection parses in one turn. As chunks of one byte they take about a millisecond."""

SWEEP_S = 1.0
"""Seconds between two checks of all connections."""

SEND_BUFFER_BYTES = 262_144
"""Bytes of a response that the kernel keeps for each client. It reports that some were taken only when a third of them
were, and by itself it would keep up to 4 MB.
"""


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
                set_reset(each.transport, is_on=True)
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
        part_bytes = min(PART_BYTES, self.limits.head_bytes)
        self.inbox = Inbox(transport, self.loop, self.parse, lambda: not self.flow.read_paused, part_bytes)
        self.flow = FlowControl(cast("asyncio.Transport", self.inbox))
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
        if self.transport.get_write_buffer_size():
            set_reset(self.transport, is_on=True)
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
        """Parses data, in parts no longer than a head may be."""
        self.inbox.put(data)

    def parse(self, part: bytes) -> None:
        """Parses a part. Rejects the request if neither a head nor trailers nor the head of a chunk ended in time."""
        if self.is_rejected:
            return
        self.part_bytes = len(part)
        self.unparsed_bytes += len(part)
        self.request_bytes += len(part)
        self.feed(part)
        if self.is_in_head and not self.is_answering and self not in self.config.waiting:
            self.config.waiting[self] = self.loop.time()
        if self.unparsed_bytes > self.limits.head_bytes or len(self.headers) > HEADERS_MAX:
            self.reject(431)

    def feed(self, part: bytes) -> None:
        """Gives a part to the parser, which stops after the head of a request with the header Upgrade."""
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserUpgrade as upgrade:
            self.is_in_head, self.unparsed_bytes = False, 0
            self.config.waiting.pop(self, None)
            if self.is_too_long:
                self.reject(431)
            elif not self.is_handshake:
                self.read_without_upgrade(part[upgrade.args[0] :])
            elif self.is_answering:
                self.reject(400)
            else:
                self.scope["method"] = "GET"
                self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            self.reject(400)

    @property
    def is_handshake(self) -> bool:
        """Whether a request is the handshake of a WebSocket: a GET without a body (RFC 6455 4.1)."""
        has_body = any(name in {b"content-length", b"transfer-encoding"} for name, _ in self.headers)
        return self.parser.get_method() == b"GET" and not has_body and self._should_upgrade()

    def read_without_upgrade(self, rest: bytes) -> None:
        """Reads a request again without the header Upgrade, which a server may ignore (RFC 9110 7.8).

        With it, the parser would take the body for the next request. `rest`: what came after the head.
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.reject(400)
        if self.is_rejected:
            return
        lines = [b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode())]
        lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.feed(b"\r\n".join([*lines, b"", rest]))

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
        """Starts the request, unless `feed` decides about it."""
        if self.parser.should_upgrade():
            return
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
        if self.parser.should_upgrade():
            return
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
