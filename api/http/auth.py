"""ASGI middleware that requires an API key or a JWT.

It runs only when the setting `keys` or `jwt_secret` is set. /health and OPTIONS stay open, because load balancers and
browsers send them without credentials. Keys are compared by hash, so the response time does not depend on how much of
a key is correct.
"""

from collections.abc import Awaitable, Collection
from hashlib import sha256

import jwt
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.errors import Unauthorized

JWT_SECRET_BYTES_MIN = 32
"""RFC 7518 3.2: an HS256 secret is at least as long as its hash."""

ALGORITHM = "HS256"

OPEN_PATH = "/health"
"""The path that needs no credentials and does not count against the rate limit."""


def header(scope: Scope, wanted: bytes) -> str | None:
    """Returns the first value of a header."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == wanted), None)


def is_open(scope: Scope) -> bool:
    """Whether a request needs no credentials and does not count against the rate limit."""
    return bool(scope["method"] == "OPTIONS" or scope["path"].removeprefix(scope.get("root_path", "")) == OPEN_PATH)


class Credentials:
    """Accepts requests that carry one of the keys or a JWT signed with the secret.

    A key comes as `Authorization: Bearer` or `X-API-Key`, a JWT as `Authorization: Bearer`.
    """

    def __init__(self, app: ASGIApp, keys: Collection[str], jwt_secret: str | None) -> None:
        self.app = app
        self.digests = frozenset(sha256(key.encode()).digest() for key in keys)
        self.jwt_secret = jwt_secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request. Raises Unauthorized if it has no valid credentials. No shared cache may keep the response
        to one that has (RFC 9111 3.5).
        """
        if is_open(scope):
            await self.app(scope, receive, send)
            return
        if not self.has_credentials(scope):
            raise Unauthorized

        def private(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, value.replace(b"public", b"private") if name == b"cache-control" else value)
                    for name, value in message["headers"]
                ]
            return send(message)

        await self.app(scope, receive, private)

    def has_credentials(self, scope: Scope) -> bool:
        """Whether the request carries a known key or a valid JWT."""
        scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        return self.is_key(header(scope, b"x-api-key") or "") or self.is_known(bearer)

    def is_known(self, text: str) -> bool:
        """Whether a text is a known key or a valid JWT."""
        if self.is_key(text):
            return True
        return self.jwt_secret is not None and bool(text) and self.is_valid(text, self.jwt_secret)

    def is_key(self, text: str) -> bool:
        """Whether a text is a known key."""
        return bool(text) and sha256(text.encode()).digest() in self.digests

    def is_valid(self, token: str, secret: str) -> bool:
        """Whether the secret signed this JWT and it has not expired. A JWT without `exp` is rejected."""
        try:
            jwt.decode(token, secret, algorithms=[ALGORITHM], options={"require": ["exp"], "verify_aud": False})
        except jwt.InvalidTokenError:
            return False
        return True
