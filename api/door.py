"""What every request passes on its way in and out: its id, cross-origin headers, and errors.

Rules of this file: plain ASGI, one frame; whatever an application raises is answered here and nowhere else; each
answer, an error too, carries X-Request-Id, and the log names a failure by the same id.
"""

import logging
import os
import re
import time
from collections.abc import Awaitable
from itertools import count

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import MethodNotAllowed, error_body, status_of

log = logging.getLogger("permanode.api")

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""A client's own request id is kept when it looks like one."""

CORS = [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"X-Request-Id")]
"""Everything here may be read from any page."""


class Door:
    """ASGI middleware before `app` for http; what is not http (lifespan, websocket) goes to `others`."""

    def __init__(self, app: ASGIApp, others: ASGIApp, *, access_log: bool = False) -> None:
        self.app = app
        self.others = others
        self.access_log = access_log
        self.prefix = os.urandom(4).hex().encode()
        self.numbers = count(1)

    def request_id(self, scope: Scope) -> bytes:
        """The client's X-Request-Id, or a new one: unique to this process and counted."""
        for name, value in scope["headers"]:
            if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
                return bytes(value)
        return b"%s-%x" % (self.prefix, next(self.numbers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request; nothing but a broken connection gets past."""
        if scope["type"] != "http":
            await self.others(scope, receive, send)
            return
        request_id = self.request_id(scope)
        begun = time.perf_counter() if self.access_log else 0.0
        sent = 0

        def answer(message: Message) -> Awaitable[None]:
            nonlocal sent
            if message["type"] == "http.response.start":
                sent = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id), *CORS]
            return send(message)

        try:
            await self.app(scope, receive, answer)
        except Exception as error:
            status = status_of(error)
            where = f"{request_id.decode()} {scope['method']} {scope['path']}"
            if status == 500:
                log.exception("%s failed", where)
            elif status > 500:
                log.warning("%s: %s", where, error)
            if sent:
                raise
            body = error_body(error)
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            if isinstance(error, MethodNotAllowed):
                headers.append((b"allow", error.allowed.encode()))
            await answer({"type": "http.response.start", "status": status, "headers": headers})
            await answer({"type": "http.response.body", "body": body})
        if self.access_log:
            spent_ms = 1000 * (time.perf_counter() - begun)
            log.info("%s %s %s %d %.1f ms", request_id.decode(), scope["method"], scope["path"], sent, spent_ms)
