"""granian as the HTTP server of the processes that uvicorn starts, supervises and stops.

uvicorn's `Server` and its supervisor still run a process: signals, lifespan, readiness, workers, the time for open
requests after SIGTERM. The event loop's `create_server` is the border: here it starts granian on the listener, instead
of accepting connections in the loop. granian accepts, reads, parses and writes in a thread of its own, without Python's
lock, and calls the application in the loop.

granian's own servers (`Granian`, `granian.server.embed`) cannot take a listener that is already bound, so its worker is
used directly. granian is pinned; tests/cli/test_granian_server.py fails if an update changes what is used here.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
import uvloop
from granian._futures import _new_cbscheduler
from granian._granian import ASGIWorker, SocketHolder, WorkerSignal
from granian.http import HTTP1Settings

from cli.connection_limits import Limits, ProxyHeaders
from cli.granian_limits import Limiter

NO_TLS: tuple[Any, ...] = (False, None, None, None, "tls1.3", None, [], False)

BUFFER_MIN_BYTES = 8_192
"""The smallest `max_buffer_size` that granian accepts."""

END_S = 2.0
"""Seconds in which granian's thread ends after all connections were ended."""


class GranianConfig(uvicorn.Config):
    """uvicorn's configuration of a process whose connections granian serves."""

    def __init__(self, app: Any, limits: Limits, **settings: Any) -> None:
        super().__init__(app, proxy_headers=False, **settings)
        self.limits = limits

    def load(self) -> None:
        """Loads the application, with the headers of proxies in front of it."""
        super().load()
        self.loaded_app = ProxyHeaders(self.loaded_app, self.forwarded_allow_ips)

    def get_loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop]:
        """Returns what makes the event loop of the process."""
        return partial(GranianLoop, self)


class GranianServer:
    """granian on a listener, with the methods of asyncio's `Server` that uvicorn calls."""

    def __init__(self, config: GranianConfig, listener: socket.socket) -> None:
        loop, limits = asyncio.get_running_loop(), config.limits
        logging.getLogger("_granian").setLevel(logging.WARNING)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # In milliseconds. It also ends connections whose clients have no room for what waits for them.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * limits.send_s))
        self._limiter = Limiter(config.loaded_app, listener, limits, config.timeout_keep_alive)
        self._ended: asyncio.Future[None] = loop.create_future()
        self._signal = WorkerSignal()
        self._signal.add_cb(lambda: loop.call_soon_threadsafe(self._ended.set_result, None))
        heads = HTTP1Settings(
            # Longer than any time that the limiter allows.
            header_read_timeout=int(2000 * (limits.head_s + config.timeout_keep_alive + limits.send_s)),
            max_buffer_size=max(limits.head_bytes, BUFFER_MIN_BYTES),
        )
        # granian closes the number that it gets.
        holder = SocketHolder(os.dup(listener.fileno()), False, config.backlog)
        worker = ASGIWorker(
            1, (None, holder), None, 1, 512, 1, 30, limits.connections, "1", heads, None, True, None, *NO_TLS,
            (None, None),
        )  # fmt: skip
        scheduler = _new_cbscheduler(loop, self._limiter.serve, impl_asyncio=True)
        worker.serve_async(scheduler, loop, self._signal)

    def close(self) -> None:
        """Stops accepting connections, and closes those without a request."""
        self._signal.set()
        self._limiter.close()

    async def wait_closed(self) -> None:
        """Waits until all requests have their responses. If it is cancelled, it ends their connections."""
        try:
            await asyncio.shield(self._ended)
        except asyncio.CancelledError:
            self._limiter.end_all()
            await asyncio.wait((self._ended,), timeout=END_S)
            raise


class GranianLoop(uvloop.Loop):
    """An event loop whose servers are granian's."""

    def __init__(self, config: GranianConfig) -> None:
        super().__init__()
        self._config = config

    async def create_server(self, *_: Any, sock: socket.socket, **__: Any) -> Any:  # type: ignore[override]
        """Starts granian on a listening socket."""
        return GranianServer(self._config, sock)
