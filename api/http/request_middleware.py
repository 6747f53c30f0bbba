"""ASGI middleware around every request: request id, deadline, CORS headers, error responses, metrics, access log.

Errors raised by the application become responses here and nowhere else. Every response has X-Request-Id, and the log
names a request by the same id. The error body is that of the operation's family, which the scope names; without an
operation, that of the family with the longest matching prefix.
"""

import logging
import os
import re
import time
from collections.abc import Awaitable, Callable
from itertools import count
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.errors import headers_of, status_of
from api.http.metrics import OTHER, Metrics
from api.http.sending import PART_BYTES, ClientTooSlow, Sending
from db.listing import turns
from db.listing.deadline import DEADLINE
from db.listing.statement import LISTED

log = logging.getLogger("permanode.api")
access = logging.getLogger("permanode.access")

ACCESS = "%(request_id)s %(method)s %(path)s %(status)d %(ms).1f ms %(bytes)d bytes %(operation)s"
"""Format of the access log as text. As JSON, each of these is a field."""

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""A client's own request id is used if it matches."""

JSON_HEADERS = ((b"content-type", b"application/json"),)
"""Headers of errors, unless the scope has others as `error_headers`."""

SHARED_HEADERS = [
    # Any website may read this API.
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"ETag, Permanode-Kept, X-Request-Id, Retry-After"),
    (b"vary", b"accept-encoding"),
]


class RequestMiddleware:
    """ASGI middleware in front of `app` for HTTP requests. WebSockets go to `websockets`, the lifespan to `others`.

    `error_body_of` returns the function that writes errors below a path.
    """

    def __init__(
        self,
        app: ASGIApp,
        websockets: ASGIApp,
        others: ASGIApp,
        metrics: Metrics,
        error_body_of: Callable[[str], Callable[[Exception], bytes]],
        sending: Sending,
        *,
        deadline_s: float,
        access_log: bool,
    ) -> None:
        self.app = app
        self.websockets = websockets
        self.others = others
        self.error_body_of = error_body_of
        self.metrics = metrics
        self.sending = sending
        self.deadline_s = deadline_s
        self.access_log = access_log
        self.prefix = os.urandom(4).hex().encode()
        self.numbers = count(1)

    def request_id(self, scope: Scope) -> bytes:
        """Returns the client's X-Request-Id, or a new id: unique to this process, and counted."""
        for name, value in scope["headers"]:
            if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
                return bytes(value)
        return b"%s-%x" % (self.prefix, next(self.numbers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request. Only a broken connection raises."""
        if scope["type"] != "http":
            await (self.websockets if scope["type"] == "websocket" else self.others)(scope, receive, send)
            return
        request_id = self.request_id(scope)
        begun = time.monotonic()
        deadline = DEADLINE.set(begun + self.deadline_s)
        LISTED.set(None)
        present = turns.begin(begun)
        status = sent_bytes = 0

        def answer(message: Message) -> Awaitable[None]:
            nonlocal status, sent_bytes
            if present.is_long:
                # What is made until now waits for the client, with limits of its own.
                turns.end()
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id), *SHARED_HEADERS]
                if (listed := LISTED.get()) is not None and status < 400:
                    message["headers"].append((b"permanode-kept", listed.encode()))
                return send(message)
            size = len(message.get("body", b""))
            sent_bytes += size
            return send(message) if size <= PART_BYTES else self.sending.send(scope, send, message)

        try:
            await self.app(scope, receive, answer)
        except ClientTooSlow:
            raise
        except Exception as error:
            self.report(error, request_id, scope)
            if status:
                raise
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            body = (scope.get("error_body") or self.error_body_of(path))(error)
            headers = [*scope.get("error_headers", JSON_HEADERS), (b"content-length", b"%d" % len(body))]
            headers += headers_of(error)
            await answer({"type": "http.response.start", "status": status_of(error), "headers": headers})
            await answer({"type": "http.response.body", "body": body})
        finally:
            turns.close(present)
            DEADLINE.reset(deadline)
            spent_s = time.monotonic() - begun
            operation = scope.get("operation", OTHER)
            self.metrics.observe(operation, status, spent_s)
            if self.access_log:
                fields = {
                    "request_id": request_id.decode(),
                    "operation": operation,
                    "method": scope["method"],
                    "path": quote(scope["path"]),
                    "status": status,
                    "ms": round(1000 * spent_s, 3),
                    "bytes": 0 if scope["method"] == "HEAD" else sent_bytes,
                }
                access.info(ACCESS, fields)

    def report(self, error: Exception, request_id: bytes, scope: Scope) -> None:
        """Logs server errors."""
        status = status_of(error)
        where = f"{request_id.decode()} {scope['method']} {quote(scope['path'])}"
        if status == 500:
            log.exception("%s failed", where)
        elif status == 503:
            log.warning("%s: %s", where, error)
