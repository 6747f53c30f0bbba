"""Limits of connections that granian has no settings for: their number, their times, and what streams may buffer.

granian limits the bytes of heads (`max_buffer_size`), and the kernel ends connections whose clients do not read
(`TCP_USER_TIMEOUT`, which the listener passes on). The rest is here: a tick looks at the connections that the kernel
has, and knows from the requests that pass through `Limiter.serve` which of them wait for their clients. granian's time
for heads is not used: it includes the time in which the client takes the response before, which it then may not get.

Invariants:
1. A connection without a request for its time is ended. Beyond `connections`, the one that has waited longest is ended
   for a new one; if all have requests, new ones get a 503.
2. An exception of the application ends the connection. granian would end the body as if it were complete.
3. What a stream has given to granian and the client has not taken is bounded: granian keeps four parts of a body.
4. The listener, which all workers share, never becomes blocking. A worker that lost a connection to another one between
   its wait and its `accept` would stay in `accept`, and with it all its connections, until the next one comes.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from api.http.sending import ABORT
from cli.accepted_sockets import Accepted, Client, accepted, queued
from cli.connection_limits import Limits, RejectionLog
from cli.connections import HEADERS_MAX, SWEEP_S
from cli.websocket import WEBSOCKET_MAX_BYTES

log = logging.getLogger("permanode.connections")

TICK_S = 0.05
"""Seconds between two looks at the connections that wait to be accepted."""

SWEEP_WEBSOCKETS_S = 0.25
"""Seconds between two checks of all connections while there are WebSockets."""

CLOCKS_S = 0.1
"""How far the kernel's time of the last bytes may differ from the event loop's."""

PART_BYTES = 16_384
"""Maximum size of a part of a stream."""

LATE = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
REJECTED = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Limiter:
    """Enforces the limits of one process.

    Args:
        app: the application (ASGI).
        listener: the listening socket, of which it keeps a copy.
        limits: of each connection and of their number.
        keep_alive_s: seconds for which a connection waits for another request.
    """

    def __init__(self, app: Any, listener: socket.socket, limits: Limits, keep_alive_s: float) -> None:
        self.app, self.limits, self.keep_alive_s = app, limits, keep_alive_s
        # Not `listener.dup()`, which makes the listener blocking again.
        self.listener = socket.socket(listener.family, listener.type, listener.proto, os.dup(listener.fileno()))
        self.port: int = listener.getsockname()[1]
        self.loop = asyncio.get_running_loop()
        self.serving: dict[Client, asyncio.Task[None] | None] = {}
        """Clients with a request or WebSocket under way → its task."""
        self.waiting: dict[Client, float] = {}
        """Clients with a response → since when the server waits for another request."""
        self.new: dict[Client, float] = {}
        """Clients without a request so far → since when."""
        self.websockets: dict[Client, int] = {}
        """Clients with a WebSocket → the bytes that had come when its last message came, or 0."""
        self.gone: set[Client] = set()
        """Clients that had ended their connections at the last check."""
        self.swept_at = self.loop.time()
        self.rejections = RejectionLog(limits.connections)
        self.timer = self.loop.call_later(TICK_S, self.tick)

    # Requests

    async def serve(self, watcher: Any) -> None:
        """Calls the application with a request or WebSocket of granian."""
        scope, protocol = watcher.scope, watcher.proto
        client, task = scope["client"], asyncio.current_task()
        self.serving[client] = task
        send = protocol.send
        try:
            if len(self.serving) > self.limits.connections:
                self.rejections.report("a new one was rejected", self.loop.time())
                await reject(scope, send, 503)
            elif scope["type"] == "websocket":
                await self.serve_websocket(scope, protocol)
            elif self.is_too_long(scope):
                await reject(scope, send, 431)
            else:
                scope["extensions"] = {ABORT: {"call": lambda: self.abort(client)}}
                scope["root_path"] = ""
                await self.app(
                    scope,
                    protocol.receive,
                    lambda message: (
                        send(message)
                        if len(message.get("body", b"")) <= PART_BYTES or not message.get("more_body", False)
                        else send_parts(send, message["body"])
                    ),
                )
        except asyncio.CancelledError:
            self.abort(client)
            watcher.done()
            raise
        except Exception as error:  # noqa: BLE001  (granian logs it)
            self.abort(client)
            watcher.err(error)
        else:
            watcher.done()
        finally:
            # Otherwise the next request of the connection has come, after the end of this response.
            if self.serving.get(client) is task:
                del self.serving[client]
                self.waiting[client] = self.loop.time()

    async def serve_websocket(self, scope: Any, protocol: Any) -> None:
        """Serves a WebSocket, and notes when a message of it is complete."""
        client = scope["client"]

        async def receive() -> Any:
            message = await protocol.receive()
            self.websockets[client] = 0
            return message

        self.websockets[client] = 0
        try:
            scope["root_path"] = ""
            await self.app(scope, receive, protocol.send)
        finally:
            del self.websockets[client]

    def is_too_long(self, scope: Any) -> bool:
        """Whether a head is longer than allowed. granian reads up to twice as much before it rejects one."""
        headers = scope["headers"]
        size = len(scope["raw_path"]) + len(scope["query_string"])
        for name, value in headers:
            size += len(name) + len(value)
        return size > self.limits.head_bytes or len(headers) > HEADERS_MAX

    def abort(self, client: Client) -> None:
        """Ends the connection of a client without sending what waits for it."""
        for each in accepted(self.port):
            if each.client == client:
                each.end()
                return

    # Connections

    def tick(self) -> None:
        """Checks the connections if some wait to be accepted, or if the last check was long ago."""
        self.timer = self.loop.call_later(TICK_S, self.tick)
        waiting = queued(self.listener)
        pause_s = SWEEP_WEBSOCKETS_S if self.websockets else SWEEP_S
        if waiting or self.loop.time() - self.swept_at >= pause_s:
            self.sweep(waiting)

    def sweep(self, queued_now: int) -> None:
        """Ends connections whose time is over, and the oldest ones without a request if there are too many."""
        self.swept_at = now = self.loop.time()
        idle: list[tuple[float, Accepted]] = []
        present, gone, count = set(), set(), 0
        for each in accepted(self.port):
            client = each.client
            present.add(client)
            if client not in self.waiting:
                self.new[client] = min(self.new.get(client, now), now - each.quiet_s)
            if not each.is_open:
                gone.add(client)
                self.give_up(each)
            elif not self.end_if_over(each, now):
                count += 1
                if client not in self.serving and not each.unsent:
                    idle.append((self.since(client), each))
        self.gone = gone
        self.waiting = {client: since for client, since in self.waiting.items() if client in present}
        self.new = {client: since for client, since in self.new.items() if client in present - self.waiting.keys()}
        if count >= self.limits.connections and (excess := count + queued_now - self.limits.connections) > 0:
            self.make_room([each for _, each in sorted(idle)[:excess]], queued_now)

    def since(self, client: Client) -> float:
        """Since when a connection without a request waits for its client."""
        return self.waiting[client] if client in self.waiting else self.new[client]

    def give_up(self, connection: Accepted) -> None:
        """Ends a connection whose client had already ended it at the last check. granian does not see that while it has
        bytes of another request, and the application then waits for it.
        """
        if connection.client in self.gone:
            connection.end()
            if task := self.serving.get(connection.client):
                task.cancel()

    def end_if_over(self, connection: Accepted, now: float) -> bool:
        """Ends a connection if its time without a request is over, or if it is a WebSocket that sent too much."""
        client = connection.client
        if client in self.websockets:
            return self.end_if_too_much(connection)
        if client in self.serving:
            return False
        is_first, waited_s = client not in self.waiting, now - self.since(client)
        # A response is complete for the application before its client has taken it.
        if waited_s < min(self.limits.head_s, self.keep_alive_s) or connection.unsent:
            return False
        if is_first:
            is_head, allowed_s = connection.received > 0, self.limits.head_s
        else:
            is_head = connection.quiet_s < waited_s - CLOCKS_S
            allowed_s = self.keep_alive_s + (self.limits.head_s if is_head else 0)
        if waited_s < allowed_s:
            return False
        connection.end(LATE if is_head else b"")
        return True

    def end_if_too_much(self, connection: Accepted) -> bool:
        """Ends a WebSocket if its client sent too much since its last message."""
        counted = self.websockets[connection.client] = self.websockets[connection.client] or connection.received
        if connection.received - counted <= WEBSOCKET_MAX_BYTES:
            return False
        log.warning("a WebSocket sent more than %d bytes without a message", WEBSOCKET_MAX_BYTES)
        connection.end()
        return True

    def make_room(self, oldest: Sequence[Accepted], queued_now: int) -> None:
        """Ends these connections. Without any, rejects those that wait to be accepted."""
        if oldest:
            self.rejections.report("the one that waited longest was closed", self.loop.time())
            for each in oldest:
                each.end()
            return
        for _ in range(queued_now):
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.rejections.report("a new one was rejected", self.loop.time())
            with connection, contextlib.suppress(OSError):
                connection.setblocking(False)
                connection.send(REJECTED)

    def close(self) -> None:
        """Ends the checks."""
        self.timer.cancel()
        self.listener.close()

    def end_all(self) -> None:
        """Ends all connections, and cancels their requests."""
        for each in accepted(self.port):
            each.end()
        for task in self.serving.values():
            if task is not None:
                task.cancel()


async def reject(scope: Any, send: Callable[[dict[str, Any]], Awaitable[None]], status: int) -> None:
    """Sends an empty response with that status, after which the connection is closed."""
    prefix = "websocket." if scope["type"] == "websocket" else ""
    headers = [(b"connection", b"close")]
    await send({"type": f"{prefix}http.response.start", "status": status, "headers": headers})
    await send({"type": f"{prefix}http.response.body", "body": b""})


async def send_parts(send: Callable[[dict[str, Any]], Awaitable[None]], body: bytes) -> None:
    """Sends a part of a stream in smaller ones."""
    for start in range(0, len(body), PART_BYTES):
        await send({"type": "http.response.body", "body": body[start : start + PART_BYTES], "more_body": True})
