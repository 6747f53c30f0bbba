"""What the limits of both HTTP servers have in common: their settings, the headers of proxies, a log of rejections."""

import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

log = logging.getLogger("permanode.connections")

LOG_EVERY_S = 10.0


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
