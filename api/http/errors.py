"""Request errors, the status of each, and the error bodies of nodes, inx-chronicle and Wormhole.

STATUS has every exception that may leave a handler. For a mistake of the client, the body has the message of the
exception, which names the parameter and the expected value. For all other exceptions, the body has a general message,
and the log has the details.
"""

import orjson

from db.listing.cursor import CursorError
from db.store import (
    DeadlinePassed,
    LedgerUnknown,
    NotFound,
    NotKeptHere,
    StoreDamaged,
    StoreMismatch,
    StoreUnavailable,
    WrongBalance,
)

SHOWN_MAX = 80
"""Maximum characters of client input in an error message."""


def shown(text: str) -> str:
    """Returns the beginning of a text."""
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


class RequestError(Exception):
    """Base of errors in a request. `str()` is the message for the client, `headers` are added to the response."""

    headers: tuple[tuple[bytes, bytes], ...] = ()


class BadParameter(RequestError):
    """A parameter is missing, repeated or invalid."""

    def __init__(self, name: str, expected: str, found: str | None, reason: str = "") -> None:
        """`found` is None if the parameter is missing. `reason`: what is wrong, if `expected` does not say so."""
        seen = "nothing" if found is None else repr(shown(found))
        # The client chose the name of an unknown parameter.
        printable = shown(name).encode(errors="backslashreplace").decode()
        why = f" ({reason})" if reason else ""
        super().__init__(f"parameter {printable}: expected {expected}, found {seen}{why}")
        self.name = name


class BadBody(RequestError):
    """The request body is invalid."""

    def __init__(self, path: str, expected: str) -> None:
        """`path` leads to the invalid field. Empty means the whole body."""
        super().__init__(f"body{f', field {shown(path)}' if path else ''}: expected {expected}")


class BodyTooLarge(RequestError):
    """The request body is larger than the maximum size."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"body: expected at most {most_bytes} bytes")


class HeaderTooLong(RequestError):
    """A header is longer than the maximum."""

    def __init__(self, name: str, most_bytes: int) -> None:
        super().__init__(f"header {name}: expected at most {most_bytes} bytes")


class NoProof(RequestError):
    """No milestone proves the claim about this message. The message of the error states why."""


class NoSuchRoute(RequestError):
    """No endpoint has this path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"no endpoint {shown(path)}")


class NoSuchNetwork(RequestError):
    """No network has this name."""

    def __init__(self, name: str) -> None:
        """An empty `name` means that no network has the protocol of the path."""
        super().__init__(f"no network {shown(name)} here" if name else "no network has the protocol of this path")


class OtherProtocol(RequestError):
    """The network exists, but has another protocol than the path."""

    def __init__(self, name: str, protocol: str) -> None:
        super().__init__(f"network {shown(name)} has the protocol {protocol}, which this path does not serve")


class OtherEra(RequestError):
    """The object exists, but belongs to the era that another family serves. The message of the error names the
    family.
    """


class MethodNotAllowed(RequestError):
    """The path exists, but not for this method."""

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"method {method} is not allowed here, only {allowed}")
        self.headers = ((b"allow", allowed.encode()),)


class Unauthorized(RequestError):
    """The request has no valid key or token."""

    def __init__(self) -> None:
        super().__init__("header Authorization: expected Bearer and a key or a token of this server")
        self.headers = ((b"www-authenticate", b'Bearer realm="permanode"'),)


class TooManyRequests(RequestError):
    """The client has exceeded the rate limit."""

    def __init__(self, allowed: str, wait_s: int) -> None:
        super().__init__(f"rate limit of {allowed} exceeded: retry in {wait_s} s")
        self.headers = ((b"retry-after", b"%d" % wait_s),)


class NotReady(RequestError):
    """The server runs, but has no data yet."""


class NotKept(RequestError):
    """A node could respond to this request, but an archive cannot. The message of the error states why."""


STATUS: dict[type[Exception], int] = {
    BadParameter: 400,
    BadBody: 400,
    NoProof: 400,
    CursorError: 400,
    Unauthorized: 401,
    NoSuchRoute: 404,
    NoSuchNetwork: 404,
    OtherProtocol: 404,
    NotFound: 404,
    OtherEra: 404,
    MethodNotAllowed: 405,
    BodyTooLarge: 413,
    TooManyRequests: 429,
    WrongBalance: 500,
    HeaderTooLong: 431,
    NotKept: 501,
    LedgerUnknown: 501,
    DeadlinePassed: 503,
    NotReady: 503,
    StoreUnavailable: 503,
    StoreDamaged: 503,
    StoreMismatch: 503,
}

SILENT: dict[type[Exception], str] = {
    DeadlinePassed: "the request took longer than this server allows; request less at once, or retry later",
    StoreUnavailable: "the store does not respond; retry later",
    StoreDamaged: "stored data are damaged; the operator can find the damage with `permanode fsck`",
    StoreMismatch: "the store is missing, or of another version than this server",
}
"""Messages that replace details which clients should not see."""


RETRY_AFTER_S = 2
"""Retry-After of a 503, in seconds."""


def headers_of(error: Exception) -> tuple[tuple[bytes, bytes], ...]:
    """Returns the additional headers of an error response."""
    if isinstance(error, (StoreUnavailable, DeadlinePassed)):
        return ((b"retry-after", b"%d" % RETRY_AFTER_S),)
    return error.headers if isinstance(error, RequestError) else ()


def status_of(error: Exception) -> int:
    """Returns the status of an exception: of its class or its nearest base class in STATUS, else 500."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def message_of(error: Exception, cursor: str = "state") -> str:
    """Returns the message for the client. `cursor` is the family's name of the parameter for the next page."""
    silent = next((SILENT[kind] for kind in type(error).__mro__ if kind in SILENT), None)
    if silent is not None:
        return silent
    if status_of(error) == 500 and not isinstance(error, WrongBalance):
        return "internal server error"
    if isinstance(error, CursorError):
        return f"parameter {cursor}: {error}"
    if isinstance(error, NotFound) and not isinstance(error, NotKeptHere):
        return f"{error} is not in this archive"
    return str(error)


def error_body(error: Exception, cursor: str = "state") -> bytes:
    """Returns the error body of nodes: the ErrorResponse of TIP-13, 25 and 26. The code is text."""
    return orjson.dumps({"error": {"code": str(status_of(error)), "message": message_of(error, cursor)}})


def flat_error_body(error: Exception) -> bytes:
    """Returns the error body of inx-chronicle: no envelope, and the code is a number."""
    return orjson.dumps({"code": status_of(error), "message": message_of(error, "cursor")})


GRPC_CODES = {400: 3, 401: 16, 404: 5, 405: 12, 413: 3, 429: 8, 431: 8, 500: 13, 501: 12, 503: 14}
"""HTTP status → gRPC code."""


def grpc_error_body(error: Exception) -> bytes:
    """Returns the error body of guardians and wormholescan: the gRPC code, the message, and an empty list of
    details.
    """
    return grpc_body(status_of(error), message_of(error, "cursor"))


def guardian_error_body(error: Exception) -> bytes:
    """Returns the error body of guardians."""
    return grpc_body(status_of(error), guardian_message(error))


def guardian_message(error: Exception) -> str:
    """Returns the message of guardians. That for a missing VAA is fixed, and clients compare it."""
    return "requested VAA not found in store" if isinstance(error, NotFound) else message_of(error)


def grpc_body(status: int, message: str) -> bytes:
    """Returns an error body with the gRPC code of that status."""
    return orjson.dumps({"code": GRPC_CODES[status], "message": message, "details": []})
