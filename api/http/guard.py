"""Optional protection of the whole API: who may ask, and how often. Without its settings no request gets here.

Rules of this file: ASGI middleware behind the Door, which answers what is raised here; /health and OPTIONS stay open,
as load balancers and browsers ask them without credentials. Keys are compared as hashes, so that the time of an
answer does not tell how much of one was right.
"""

import math
import time
from collections.abc import Collection
from hashlib import sha256

import jwt
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.errors import TooManyRequests, Unauthorized

JWT_SECRET_BYTES_MIN = 32
"""RFC 7518 3.2: a secret of HS256 is no shorter than its hash."""

ALGORITHM = "HS256"


def header(scope: Scope, wanted: bytes) -> str | None:
    """The first value of a header."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == wanted), None)


def is_open(scope: Scope) -> bool:
    """Whether anybody may ask this, as often as they like."""
    return bool(scope["method"] == "OPTIONS" or scope["path"].removeprefix(scope.get("root_path", "")) == "/health")


class Credentials:
    """Lets in who shows one of the keys (Authorization: Bearer, or X-API-Key) or a JWT signed with the secret."""

    def __init__(self, app: ASGIApp, keys: Collection[str], jwt_secret: str | None) -> None:
        self.app = app
        self.digests = frozenset(sha256(key.encode()).digest() for key in keys)
        self.jwt_secret = jwt_secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request; Unauthorized without credentials that hold."""
        if not is_open(scope) and not self.is_known(scope):
            raise Unauthorized
        await self.app(scope, receive, send)

    def is_known(self, scope: Scope) -> bool:
        """Whether the request shows credentials that hold."""
        scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
        shown = [header(scope, b"x-api-key"), token.strip() if scheme.lower() == "bearer" else None]
        if any(text and sha256(text.encode()).digest() in self.digests for text in shown):
            return True
        return self.jwt_secret is not None and bool(shown[1]) and self.is_signed(str(shown[1]), self.jwt_secret)

    def is_signed(self, token: str, secret: str) -> bool:
        """Whether a JWT is ours and its time is not over; one without `exp` is refused."""
        try:
            jwt.decode(token, secret, algorithms=[ALGORITHM], options={"require": ["exp"], "verify_aud": False})
        except jwt.InvalidTokenError:
            return False
        return True


class RateLimit:
    """Lets each client address ask so often in a moving window; each worker process counts on its own."""

    def __init__(self, app: ASGIApp, limit: str) -> None:
        """`limit` as "100/minute"; ValueError for what is none."""
        self.app = app
        self.limit = parse(limit)
        self.limiter = MovingWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request; TooManyRequests when the client's share is used up."""
        client = scope["client"][0] if scope.get("client") else "unknown"
        if not is_open(scope) and not self.limiter.hit(self.limit, client):
            reset_at = self.limiter.get_window_stats(self.limit, client).reset_time
            raise TooManyRequests(str(self.limit), max(1, math.ceil(reset_at - time.time())))
        await self.app(scope, receive, send)
