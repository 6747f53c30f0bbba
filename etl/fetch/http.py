"""HTTP requests and the faults of their responses, for all kinds of servers.

Each call sends one request. Any unexpected response is a Fault of a kind in FAULTS. Nothing is retried here.
"""

import asyncio
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx
import orjson

from etl.fetch.plain_http import BadResponse, PlainHttp, Response, TooLarge

TIMEOUT = "timeout"
BROKEN = "broken connection"
BAD_STATUS = "status"
UNREADABLE = "unreadable body"
WRONG_ID = "wrong id"
UNPROVED = "not proved"
NOT_THERE = "not there"
FAULTS = (TIMEOUT, BROKEN, BAD_STATUS, UNREADABLE, WRONG_ID, UNPROVED, NOT_THERE)
"""The kinds of faults. The last two concern the requested item: it does not match its proof (Merkle root of a
milestone, signatures of a VAA), or it is not available yet or any more.
"""

NOT_OFFERED = frozenset({400, 403, 405, 410, 501})
"""Statuses of routes that a node does not have, in addition to 404."""

RETRY_AFTER_MOST_S = 60.0

MAX_BODY_BYTES = 16 * 2**20
"""Maximum size of a response. Messages have at most 32 KiB, a signed VAA or a list of tips less than 1 MiB. The
responses of 16 concurrent requests fit into memory.
"""


class Fault(Exception):
    """A request failed. `kind` is one of FAULTS. `status` is the status of an error response; `wait_s` is how long the
    node requests to wait. `has_no_listener`: nothing listens at that address and port.
    """

    def __init__(
        self, kind: str, message: str, *, status: int = 0, wait_s: float = 0.0, has_no_listener: bool = False
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.wait_s = wait_s
        self.has_no_listener = has_no_listener

    @property
    def is_for_good(self) -> bool:
        """Whether the node does not offer the route at all."""
        return self.kind == NOT_THERE or self.status in NOT_OFFERED


def base_url(text: str) -> str:
    """Normalizes the URL of a server, without a slash at its end. Raises ValueError for an invalid URL."""
    try:
        parts = urlsplit(text)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return str(httpx.URL(text)).rstrip("/")
    except (ValueError, httpx.InvalidURL):
        pass
    raise ValueError(f"invalid URL {text!r}; expected e.g. http://HOST:14265")


class Http:
    """A server, identified by its URL. Sends at most `at_once` concurrent requests with a timeout of `timeout_s`.
    Raises ValueError for an invalid URL.
    """

    def __init__(self, url: str, *, at_once: int, timeout_s: float) -> None:
        self.url = base_url(url)
        self.path = urlsplit(self.url).path
        self._in_flight = asyncio.Semaphore(at_once)
        self._timeout_s = timeout_s
        self._client: PlainHttp | httpx.AsyncClient
        if _is_plain(self.url):
            self._client = PlainHttp(self.url, MAX_BODY_BYTES)
        else:
            limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
            self._client = httpx.AsyncClient(timeout=timeout_s, limits=limits)

    async def __aenter__(self) -> "Http":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await (self._client.close() if isinstance(self._client, PlainHttp) else self._client.aclose())

    async def get(self, url: str, accept: str) -> bytes:
        """The body of a response with status 200. Raises Fault."""
        # Compressed responses could expand without limit. The requested data is small and hardly compresses.
        headers = {"accept": accept, "accept-encoding": "identity"}
        async with self._in_flight:
            try:
                # The timeout of httpx restarts with each byte.
                async with asyncio.timeout(self._timeout_s):
                    answer = await self._send(url, headers)
            except (TimeoutError, httpx.TimeoutException) as error:
                raise Fault(TIMEOUT, f"{url}: no complete response within {self._timeout_s:g} s") from error
            except (httpx.TransportError, OSError, BadResponse) as error:
                text = f"{url}: {str(error) or type(error).__name__}"
                raise Fault(BROKEN, text, has_no_listener=_has_no_listener(error)) from error
            except TooLarge:
                raise Fault(UNREADABLE, f"{url}: more than {MAX_BODY_BYTES} bytes") from None
        if (encoding := answer.headers.get("content-encoding", "identity")) != "identity":
            raise Fault(UNREADABLE, f"{url}: unexpected content encoding {encoding[:40]!r}")
        if answer.status == httpx.codes.NOT_FOUND:
            raise Fault(NOT_THERE, f"{url}: 404")
        if answer.status != httpx.codes.OK:
            raise Fault(BAD_STATUS, f"{url}: {answer.status}", status=answer.status, wait_s=_retry_after(answer))
        return answer.body

    async def _send(self, url: str, headers: dict[str, str]) -> Response:
        if isinstance(self._client, PlainHttp):
            return await self._client.get(url, headers)
        async with self._client.stream("GET", url, headers=headers) as answer:
            body = bytearray()
            if answer.headers.get("content-encoding", "identity") != "identity":
                return Response(answer.status_code, dict(answer.headers), b"")
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise TooLarge
            return Response(answer.status_code, dict(answer.headers), bytes(body))

    async def json(self, url: str, inside: str | None = None) -> dict[str, Any]:
        """A JSON response, or the object in its field `inside`. Raises Fault."""
        data = await self.get(url, "application/json")
        try:
            found = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise Fault(UNREADABLE, f"{url}: {error}") from None
        if inside is not None and isinstance(found, dict):
            found = found.get(inside)
        if not isinstance(found, dict):
            raise Fault(UNREADABLE, f"{url}: expected a JSON object")
        return found


def _is_plain(url: str) -> bool:
    """Whether a server needs neither encryption nor a proxy nor a password, for which httpx is used."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.username is None and not {"http", "all"} & getproxies().keys()


def _has_no_listener(error: BaseException | None) -> bool:
    """Whether nothing listens at the port of a URL: the cause of an error, or of one that it was raised from."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, ConnectionRefusedError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _retry_after(answer: Response) -> float:
    """The seconds of the header Retry-After; 0 without it or for a date."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), RETRY_AFTER_MOST_S) if text.isascii() and text.isdecimal() else 0.0
