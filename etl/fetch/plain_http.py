"""GET requests over unencrypted HTTP/1.1 with connections that stay open: a quarter of httpx's CPU time per request.

A node needs two requests per message, so their cost limits how many messages per second a follower can fetch.
"""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

END = b"\r\n\r\n"

MAX_HEAD_BYTES = 64 * 2**10


class BadResponse(Exception):
    """There is no connection, the server closed it, or what it sent is not HTTP/1.1."""


class TooLarge(Exception):
    """The body is larger than the limit."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response with its whole body. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class PlainHttp:
    """Connections to one server. The caller limits how many requests run at once, and how long each takes."""

    def __init__(self, url: str, max_body_bytes: int) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._authority = parts.netloc.rpartition("@")[2]
        self._max_body_bytes = max_body_bytes
        self._idle: list[_Connection] = []

    async def get(self, url: str, headers: dict[str, str]) -> Response:
        """Sends a request. Raises BadResponse and TooLarge."""
        path = url.partition("://")[2].partition("/")[2]
        lines = [f"GET /{path} HTTP/1.1", f"host: {self._authority}"]
        request = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "\r\n"]).encode()
        while self._idle:
            connection = self._idle.pop()
            try:
                return await self._exchange(connection, request, is_first=False)
            except ConnectionResetError:
                # The server closed it while it was idle.
                continue
        try:
            reader, writer = await asyncio.open_connection(self._host, self._port, limit=MAX_HEAD_BYTES)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise BadResponse(f"connecting failed: {reason}") from error
        return await self._exchange(_Connection(reader, writer), request, is_first=True)

    async def close(self) -> None:
        """Closes the idle connections."""
        idle, self._idle = self._idle, []
        for each in idle:
            each.writer.close()
        for each in idle:
            with suppress(OSError):
                await each.writer.wait_closed()

    async def _exchange(self, connection: _Connection, request: bytes, *, is_first: bool) -> Response:
        """Raises ConnectionResetError if a connection that was used before ends without a response."""
        is_whole = False
        try:
            connection.writer.write(request)
            try:
                head = await connection.reader.readuntil(END)
            except (asyncio.IncompleteReadError, ConnectionResetError, BrokenPipeError) as error:
                if not is_first and not getattr(error, "partial", b""):
                    raise ConnectionResetError from error
                raise BadResponse("the server closed the connection") from error
            except asyncio.LimitOverrunError as error:
                raise BadResponse(f"headers of more than {MAX_HEAD_BYTES} bytes") from error
            version, status, headers = _parsed(head)
            body, is_whole = await self._body(connection.reader, status, headers)
            keeps = headers.get("connection", "").lower()
            is_whole = is_whole and (keeps == "keep-alive" or (version == "HTTP/1.1" and keeps != "close"))
            return Response(status, headers, body)
        finally:
            if is_whole:
                self._idle.append(connection)
            else:
                connection.writer.close()

    async def _body(self, reader: asyncio.StreamReader, status: int, headers: dict[str, str]) -> tuple[bytes, bool]:
        """The body, and whether the connection can be used again."""
        try:
            if status in (204, 304):
                return b"", True
            if "transfer-encoding" in headers:
                return await self._chunks(reader, headers["transfer-encoding"]), True
            if "content-length" not in headers:
                return await self._rest(reader), False
            length = _number(headers["content-length"], 10)
            if length > self._max_body_bytes:
                raise TooLarge
            return await reader.readexactly(length), True
        except (asyncio.IncompleteReadError, ConnectionResetError) as error:
            raise BadResponse("the server closed the connection within a body") from error

    async def _chunks(self, reader: asyncio.StreamReader, encoding: str) -> bytes:
        if encoding.lower() != "chunked":
            raise BadResponse(f"unexpected transfer encoding {encoding[:40]!r}")
        body = bytearray()
        while True:
            size = _number((await reader.readuntil(b"\r\n")).partition(b";")[0].decode("latin-1").strip(), 16)
            if len(body) + size > self._max_body_bytes:
                raise TooLarge
            body += (await reader.readexactly(size + 2))[:-2] if size else b""
            if not size:
                while await reader.readuntil(b"\r\n") != b"\r\n":
                    pass
                return bytes(body)

    async def _rest(self, reader: asyncio.StreamReader) -> bytes:
        body = bytearray()
        while chunk := await reader.read(MAX_HEAD_BYTES):
            body += chunk
            if len(body) > self._max_body_bytes:
                raise TooLarge
        return bytes(body)


def _parsed(head: bytes) -> tuple[str, int, dict[str, str]]:
    first, *lines = head[: -len(END)].decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest[:3]
    if version not in ("HTTP/1.1", "HTTP/1.0") or not (status.isascii() and status.isdecimal() and len(status) == 3):
        raise BadResponse(f"not HTTP/1.1: {first[:40]!r}")
    pairs = (line.partition(":") for line in lines)
    return version, int(status), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _number(text: str, base: int) -> int:
    try:
        # int() also takes signs, underscores and spaces.
        if text.isalnum() and text.isascii():
            return int(text, base)
    except ValueError:
        pass
    raise BadResponse(f"not a length: {text[:40]!r}")
