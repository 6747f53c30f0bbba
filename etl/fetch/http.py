"""Questions over HTTP and what can be wrong with their answers, whoever is asked.

Rules of this file: one question, one request; what does not come as it should is a Fault of one of FAULTS, and nobody
here asks twice.
"""

import asyncio
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

TIMEOUT = "timeout"
BROKEN = "broken connection"
REFUSED = "status"
UNREADABLE = "unreadable body"
WRONG_ID = "wrong id"
UNPROVED = "not proved"
NOT_THERE = "not there"
FAULTS = (TIMEOUT, BROKEN, REFUSED, UNREADABLE, WRONG_ID, UNPROVED, NOT_THERE)
"""What can be wrong with an answer. The last two are said of what was asked for: a milestone is not what its Merkle
root says, a message is not signed by its guardians; or it is not there, not yet or no longer.
"""

NOT_OFFERED = frozenset({400, 403, 405, 410, 501})
"""Statuses, beside 404, of routes that a node does not have."""

RETRY_AFTER_MOST_S = 60.0

MAX_BODY_BYTES = 16 * 2**20
"""What an answer may have: messages have at most 32 KiB, a signed VAA or a list of tips less than a MiB. All that 16
questions at once may bring has room in memory.
"""


class Fault(Exception):
    """A question was not answered as it should be. `kind` is one of FAULTS; `status`: of an answer that was refused,
    `wait_s`: how long the node asks to wait.
    """

    def __init__(self, kind: str, message: str, *, status: int = 0, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.wait_s = wait_s

    @property
    def is_for_good(self) -> bool:
        """Whether the node does not offer what was asked, now or later."""
        return self.kind == NOT_THERE or self.status in NOT_OFFERED


def base_url(text: str) -> str:
    """A server's URL in the one form that it has, without a slash at its end. Raises ValueError."""
    try:
        parts = urlsplit(text)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return str(httpx.URL(text)).rstrip("/")
    except (ValueError, httpx.InvalidURL):
        pass
    raise ValueError(f"a URL as http://HOST:14265 expected, found {text!r}")


class Http:
    """One server, by a URL; ValueError for what is none. It is asked `at_once` questions, each of which has failed
    after `timeout_s`.
    """

    def __init__(self, url: str, *, at_once: int, timeout_s: float) -> None:
        self.url = base_url(url)
        self.path = urlsplit(self.url).path
        self._asking = asyncio.Semaphore(at_once)
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        self._timeout_s = timeout_s
        self._client = httpx.AsyncClient(timeout=timeout_s, limits=limits)

    async def __aenter__(self) -> "Http":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def get(self, url: str, accept: str) -> bytes:
        """The body of an answer of status 200. Raises Fault."""
        # Few compressed bytes can be many: what is asked for is small, and ids and keys do not compress.
        headers = {"accept": accept, "accept-encoding": "identity"}
        async with self._asking:
            try:
                # The client's own timeout begins anew with each byte.
                async with (
                    asyncio.timeout(self._timeout_s),
                    self._client.stream("GET", url, headers=headers) as answer,
                ):
                    body = await _body(url, answer)
            except (TimeoutError, httpx.TimeoutException) as error:
                raise Fault(TIMEOUT, f"{url}: no whole answer within {self._timeout_s:g} s") from error
            except httpx.TransportError as error:
                raise Fault(BROKEN, f"{url}: {str(error) or type(error).__name__}") from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise Fault(NOT_THERE, f"{url}: 404")
        if answer.status_code != httpx.codes.OK:
            status = answer.status_code
            raise Fault(REFUSED, f"{url}: {status}", status=status, wait_s=_retry_after(answer))
        return body

    async def json(self, url: str, inside: str | None = None) -> dict[str, Any]:
        """An answer in JSON, or the object in its field `inside`. Raises Fault."""
        data = await self.get(url, "application/json")
        try:
            found = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise Fault(UNREADABLE, f"{url}: {error}") from None
        if inside is not None and isinstance(found, dict):
            found = found.get(inside)
        if not isinstance(found, dict):
            raise Fault(UNREADABLE, f"{url}: a JSON object expected")
        return found


async def _body(url: str, answer: httpx.Response) -> bytes:
    """Raises Fault for one that is too large or compressed."""
    if (encoding := answer.headers.get("content-encoding", "identity")) != "identity":
        raise Fault(UNREADABLE, f"{url}: {encoding[:40]!r} was not asked for")
    body = bytearray()
    async for chunk in answer.aiter_bytes():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise Fault(UNREADABLE, f"{url}: more than {MAX_BODY_BYTES} bytes")
    return bytes(body)


def _retry_after(answer: httpx.Response) -> float:
    """The seconds that a node asks to wait; 0 where it asks nothing, or names a date."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), RETRY_AFTER_MOST_S) if text.isascii() and text.isdecimal() else 0.0
