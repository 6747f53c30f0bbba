"""Compresses responses for clients that accept it (RFC 9110 12.5.3).

Requests without Accept-Encoding pass through, and so do responses that are small, partial, already encoded or streamed.
A compressed response has a weak ETag, because the ETag is that of the uncompressed bytes.
"""

import zlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Protocol

import brotli
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.content_negotiation import accepted, weights
from db.listing.turns import give_way

BROTLI_QUALITY = 3
"""Ids are random, so a higher quality takes twice the time and saves nothing."""

GZIP_LEVEL = 1


PART_BYTES = 262_144
"""Bytes that are compressed in one turn of the request."""

PARTIAL_CONTENT = 206
"""The status of ranges, which count the bytes before compression."""


class Coder(Protocol):
    """Compresses a body in parts."""

    def compress(self, part: bytes, /) -> bytes: ...  # noqa: D102

    def flush(self) -> bytes: ...  # noqa: D102


class Brotli:
    """A Coder of brotli (RFC 7932)."""

    def __init__(self) -> None:
        coder = brotli.Compressor(quality=BROTLI_QUALITY)
        self.compress: Callable[[bytes], bytes] = coder.process
        self.flush: Callable[[], bytes] = coder.finish


def gzip() -> Coder:
    """Returns a Coder of gzip (RFC 1952), without a timestamp, so that equal bodies stay equal."""
    return zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)


CODINGS: dict[str, Callable[[], Coder]] = {"br": Brotli, "gzip": gzip}
"""The codings that this server offers, the preferred one first."""


async def compress(make: Callable[[], Coder], body: bytes) -> bytes:
    """Returns the compressed body. Gives way to other requests between its parts."""
    coder, parts = make(), []
    for start in range(0, len(body), PART_BYTES):
        if start:
            await give_way()
        parts.append(coder.compress(body[start : start + PART_BYTES] if len(body) > PART_BYTES else body))
    return b"".join([*parts, coder.flush()])


@lru_cache(maxsize=256)
def choose(header: str) -> str | None:
    """Returns the coding with the highest weight in Accept-Encoding, the preferred one among equals. None means no
    coding.
    """
    wanted = weights(header)
    rest = wanted.get("*", 0.0)
    best = max(CODINGS, key=lambda name: wanted.get(name, rest))
    # An identity coding that is not named has the lowest preference.
    return best if wanted.get(best, rest) > 0 and wanted.get(best, rest) >= wanted.get("identity", 0.0) else None


class Compression:
    """ASGI middleware that compresses complete responses of `least_bytes` or more."""

    def __init__(self, app: ASGIApp, least_bytes: int) -> None:
        self.app = app
        self.least_bytes = least_bytes

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serves one request. Without Accept-Encoding it adds no stack frame."""
        for name, _ in scope["headers"]:
            if name == b"accept-encoding":
                return self.serve(scope, receive, send)
        return self.app(scope, receive, send)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request with Accept-Encoding."""
        coding = choose(accepted(scope, b"accept-encoding"))
        if coding is None:
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                message = await self.encoded(start, message, coding)
                await send(start)
                start = None
            await send(message)

        await self.app(scope, receive, compressed)

    async def encoded(self, start: Message, message: Message, coding: str) -> Message:
        """Returns the message of the body in that coding, if compression applies, and updates the headers in
        `start`.
        """
        body: bytes = message.get("body", b"")
        headers = dict(start["headers"])
        is_partial = start["status"] == PARTIAL_CONTENT
        if len(body) < self.least_bytes or is_partial or message.get("more_body") or b"content-encoding" in headers:
            return message
        body = await compress(CODINGS[coding], body)
        headers |= {b"content-length": b"%d" % len(body), b"content-encoding": coding.encode()}
        if b"etag" in headers:
            headers[b"etag"] = b"W/" + headers[b"etag"].removeprefix(b"W/")
        start["headers"] = list(headers.items())
        return {**message, "body": body}
