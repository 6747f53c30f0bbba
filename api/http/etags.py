"""ETags, and how long clients may keep a response."""

from dataclasses import dataclass

from starlette.types import Scope

IMMUTABLE = b"public, max-age=31536000, immutable"
"""Cache-Control of what never changes."""

CURRENT = b"no-cache"
"""Cache-Control of what changes at any time: a cache compares the ETag before each use."""


@dataclass(frozen=True, slots=True)
class Cached:
    """A response that clients may keep.

    Attributes:
        value: what the handler returns otherwise.
        etag: with its quotes.
        cache_control: IMMUTABLE or CURRENT.
    """

    value: object
    etag: bytes
    cache_control: bytes


def known_etag(scope: Scope, etag: bytes) -> bytes | None:
    """Returns the ETag as If-None-Match contains it (RFC 9110 13.1.2), weak if the response was compressed, or None."""
    for name, value in scope["headers"]:
        if name == b"if-none-match":
            for each in value.split(b","):
                validator: bytes = each.strip()
                if validator.removeprefix(b"W/") == etag:
                    return validator
                if validator == b"*":
                    return etag
    return None
