"""GET requests over unencrypted HTTP/1.1 with connections that stay open, for a small part of httpx's CPU time.

A node needs two requests per message, so their cost limits how many messages per second a follower can fetch. asyncio
has the connections, httptools (the parser of Node.js) reads the responses.
"""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import httptools

MAX_HEAD_BYTES = 64 * 2**10
"""Maximum size of all headers."""

FINAL_STATUS = 200
"""The lowest status of a response that is not interim."""

SWITCHING_PROTOCOLS = 101

READ_BYTES = 64 * 2**10
"""Maximum size of a read from a connection."""


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


class _Reading:
    """A response that is being read: httptools calls the methods whose names begin with `on_`."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.headers: dict[str, str] = {}
        self.header_bytes = 0
        self.body = bytearray()
        self.has_head = self.is_whole = self.is_reusable = self.has_more = False

    def on_message_begin(self) -> None:
        self.has_more = self.is_whole
        self.headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.header_bytes += len(name) + len(value)
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        # Another response follows an interim one (RFC 9110, 15.2).
        self.has_head = self.parser.get_status_code() >= FINAL_STATUS

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.is_whole = self.has_head
        # The parser knows this no longer once it returns.
        self.is_reusable = self.parser.should_keep_alive()

    @property
    def ends_with_connection(self) -> bool:
        """Whether only the end of the connection ends the body."""
        return self.has_head and not {"content-length", "transfer-encoding"} & self.headers.keys()


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
            reader, writer = await asyncio.open_connection(self._host, self._port)
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
        reading = _Reading()
        is_done = False
        received = 0
        try:
            connection.writer.write(request)
            while not reading.is_whole:
                try:
                    data = await connection.reader.read(READ_BYTES)
                except (ConnectionResetError, BrokenPipeError):
                    data = b""
                if not data:
                    if reading.ends_with_connection:
                        break
                    if not received and not is_first:
                        raise ConnectionResetError
                    where = " within a body" if reading.has_head else ""
                    raise BadResponse(f"the server closed the connection{where}")
                received += len(data)
                try:
                    reading.parser.feed_data(data)
                except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                    if reading.parser.get_status_code() == SWITCHING_PROTOCOLS:
                        raise BadResponse("the server switched to another protocol") from error
                    raise BadResponse(f"not HTTP/1.1: {error}") from error
                if reading.has_more:
                    raise BadResponse("bytes after the end of the response")
                if (reading.header_bytes if reading.has_head else received) > MAX_HEAD_BYTES:
                    raise BadResponse(f"headers of more than {MAX_HEAD_BYTES} bytes")
                if (encoding := reading.headers.get("transfer-encoding", "chunked").lower()) != "chunked":
                    raise BadResponse(f"unexpected transfer encoding {encoding[:40]!r}")
                if self._max_body_bytes < max(len(reading.body), int(reading.headers.get("content-length", 0))):
                    raise TooLarge
            is_done = True
            return Response(reading.parser.get_status_code(), reading.headers, bytes(reading.body))
        finally:
            # Without this cycle, large bodies do not wait for the garbage collector.
            del reading.parser
            if is_done and reading.is_reusable:
                self._idle.append(connection)
            else:
                connection.writer.close()
