"""ASGI middleware that limits how many requests a client address may send.

It runs only when the setting `rate_limit` is set. Paths and methods that `auth.is_open` names are not counted.
"""

import math
from time import monotonic

from limits import parse
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.auth import is_open
from api.http.errors import TooManyRequests
from api.http.moving_window import MovingWindow, key_of


class RateLimit:
    """Allows each client address, or IPv6 /64 network, `limit` requests in a moving window.

    Each worker process counts on its own.
    """

    def __init__(self, app: ASGIApp, limit: str) -> None:
        """`limit` is a text like "100/minute". Raises ValueError if it cannot be parsed."""
        self.app = app
        self.limit = parse(limit)
        self.window = MovingWindow(self.limit.amount, self.limit.get_expiry())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request. Raises TooManyRequests if the client has no requests left in the window."""
        if not is_open(scope):
            self.count(scope)
        await self.app(scope, receive, send)

    def count(self, scope: Scope) -> None:
        """Counts a request of the client. Raises TooManyRequests if it has none left in the window."""
        client = key_of(scope["client"][0]) if scope.get("client") else "unknown"
        wait_s = self.window.hit(client, monotonic())
        if wait_s is not None:
            raise TooManyRequests(str(self.limit), max(1, math.ceil(wait_s)))
