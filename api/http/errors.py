"""What can go wrong with a request, which status each cause has, and the error bodies: the nodes',
inx-chronicle's and Wormhole's.

Rules of this file: every exception that may leave a handler has its status in STATUS; a cause that stands there for a
client's own mistake is answered in its own words, which name the parameter and what was expected; anything else is
answered in ours, which tell nothing, and the log has the rest.
"""

import orjson

from db.listing.cursor import CursorError
from db.store import DeadlinePassed, LedgerUnknown, NotFound, StoreUnavailable

SHOWN_MAX = 80
"""How much of what a client sent is shown back."""


def shown(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


class RequestError(Exception):
    """Root of what a request can be refused for; str() is what the client reads, `headers` go with it."""

    headers: tuple[tuple[bytes, bytes], ...] = ()


class BadParameter(RequestError):
    """A parameter is missing, repeated or not what was expected."""

    def __init__(self, name: str, expected: str, found: str | None) -> None:
        """`found` None: it is missing."""
        seen = "nothing" if found is None else repr(shown(found))
        super().__init__(f"parameter {name}: expected {expected}, found {seen}")
        self.name = name


class BadBody(RequestError):
    """The body is not of the form that was expected."""

    def __init__(self, path: str, expected: str) -> None:
        """`path`: to the field that is wrong; empty: the whole."""
        super().__init__(f"body{f', field {shown(path)}' if path else ''}: expected {expected}")


class BodyTooLarge(RequestError):
    """The body has more bytes than any right one."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"body: expected at most {most_bytes} bytes")


class NoProof(RequestError):
    """No milestone proves what is asked of this message; the message says why."""


class NoSuchRoute(RequestError):
    """No endpoint has that path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"no endpoint {shown(path)}")


class NoSuchNetwork(RequestError):
    """No network is mounted under that name."""

    def __init__(self, name: str) -> None:
        """`name` empty: none of the protocol that the path is of."""
        super().__init__(f"no network {shown(name)} here" if name else "no network that this path could answer for")


class OtherProtocol(RequestError):
    """The network is here, but other families answer for it."""

    def __init__(self, name: str, protocol: str) -> None:
        super().__init__(f"network {shown(name)} is one of {protocol}, which this path does not answer for")


class OtherEra(RequestError):
    """What was asked for is here, but of the era that another family answers; the message says which."""


class MethodNotAllowed(RequestError):
    """The path exists, for other methods."""

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"method {method} is not allowed here, only {allowed}")
        self.headers = ((b"allow", allowed.encode()),)


class Unauthorized(RequestError):
    """The server answers only who shows a key or a token."""

    def __init__(self) -> None:
        super().__init__("header Authorization: expected Bearer and a key or a token of this server")
        self.headers = ((b"www-authenticate", b'Bearer realm="permanode"'),)


class TooManyRequests(RequestError):
    """The client asked more often than this server lets it."""

    def __init__(self, allowed: str, wait_s: int) -> None:
        super().__init__(f"no more than {allowed}: ask again in {wait_s} s")
        self.headers = ((b"retry-after", b"%d" % wait_s),)


class NotReady(RequestError):
    """The server can answer, but has nothing to tell yet."""


class NotKept(RequestError):
    """A node would answer this, an archive has nothing to answer; the message says why."""


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
    NotKept: 501,
    LedgerUnknown: 501,
    DeadlinePassed: 503,
    NotReady: 503,
    StoreUnavailable: 503,
}

SILENT: dict[type[Exception], str] = {
    DeadlinePassed: "the answer took longer than this server allows; ask for less at once, or later",
    StoreUnavailable: "the store does not answer, try again later",
}
"""What a client reads where the cause is none of its business."""


RETRY_AFTER_S = 2
"""How long a client is asked to wait for a store that is away or slow."""


def headers_of(error: Exception) -> tuple[tuple[bytes, bytes], ...]:
    """Headers that go with an error's body."""
    if isinstance(error, (StoreUnavailable, DeadlinePassed)):
        return ((b"retry-after", b"%d" % RETRY_AFTER_S),)
    return error.headers if isinstance(error, RequestError) else ()


def status_of(error: Exception) -> int:
    """The status of an exception: its own or its nearest ancestor's in STATUS, else 500."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def message_of(error: Exception, cursor: str = "state") -> str:
    """What a client reads of an exception. `cursor`: how the family calls the parameter that leads to the next page."""
    silent = next((SILENT[kind] for kind in type(error).__mro__ if kind in SILENT), None)
    if silent is not None:
        return silent
    if status_of(error) == 500:
        return "internal server error"
    if isinstance(error, CursorError):
        return f"parameter {cursor}: {error}"
    return f"{error} is not in this archive" if isinstance(error, NotFound) else str(error)


def error_body(error: Exception, cursor: str = "state") -> bytes:
    """The body of an error as nodes have it: the ErrorResponse of TIP-13, 25 and 26, its code a string."""
    return orjson.dumps({"error": {"code": str(status_of(error)), "message": message_of(error, cursor)}})


def flat_error_body(error: Exception) -> bytes:
    """The same as inx-chronicle has it: without an envelope, its code a number."""
    return orjson.dumps({"code": status_of(error), "message": message_of(error, "cursor")})


GRPC_CODES = {400: 3, 401: 16, 404: 5, 405: 12, 413: 3, 429: 8, 500: 13, 501: 12, 503: 14}
"""Status → the code of gRPC that goes with it."""


def grpc_error_body(error: Exception) -> bytes:
    """The same as guardians and wormholescan have it: gRPC's code, and details, of which there are none."""
    return grpc_body(status_of(error), message_of(error, "cursor"))


def guardian_error_body(error: Exception) -> bytes:
    """The same, but that guardians have one sentence about whatever they have not, which clients look for."""
    missing = isinstance(error, NotFound)
    return grpc_body(status_of(error), "requested VAA not found in store" if missing else message_of(error))


def grpc_body(status: int, message: str) -> bytes:
    """An error of that status."""
    return orjson.dumps({"code": GRPC_CODES[status], "message": message, "details": []})
