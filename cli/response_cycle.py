"""A request and its response on a connection: uvicorn's cycle with fewer steps for each response.

uvicorn examines each header with two regular expressions and writes head and body separately, which together take a
tenth of the time of a small response. Here the head is checked as a whole, and leaves together with the first part of
the body, except before a stream.
"""

import asyncio
import socket
import struct
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

BODILESS = frozenset({204, 304})
"""Statuses of responses that end with their head."""


def set_reset(transport: asyncio.BaseTransport, *, is_on: bool) -> None:
    """Says whether the connection is reset when it is closed. A client of HTTP/1.0 takes any other end for that of a
    body.
    """
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", is_on, 0))


class ResponseCycle(RequestResponseCycle):
    """uvicorn's cycle of a request, with the same order of messages."""

    head = b""
    """The head of the response while it waits for the first part of the body."""

    ends_with_connection = False
    """Whether the end of the connection is that of the body."""

    async def send(self, message: Any) -> None:
        """Sends a message of the application (ASGI). Raises RuntimeError if it is not allowed now."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.body" and self.response_started and not self.response_complete:
            self.send_part(message.get("body", b""), more_body=message.get("more_body", False))
        elif message["type"] == "http.response.start" and not self.response_started:
            self.start(message["status"], [*self.default_headers, *message.get("headers", ())])
        else:
            raise RuntimeError(f"unexpected ASGI message {message['type']}")

    def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Builds the head. The names of headers are in lower case (ASGI). Raises RuntimeError for a line break in a
        header.
        """
        self.response_started, self.waiting_for_100_continue = True, False
        lines = [STATUS_LINE[status]]
        is_closed = False
        for name, value in headers:
            lines += name, b": ", value, b"\r\n"
            if name == b"content-length":
                self.expected_content_length, self.chunked_encoding = int(value), False
            elif name == b"connection" and b"close" in value.lower():
                self.keep_alive, is_closed = False, True
        if not self.keep_alive and not is_closed:
            lines += b"connection", b": ", b"close", b"\r\n"
        if self.chunked_encoding is None and status not in BODILESS and self.scope["method"] != "HEAD":
            # A client of HTTP/1.0, whose connections end with the response, does not know chunks (RFC 9112, 6.1).
            self.ends_with_connection = self.scope["http_version"] == "1.0"
            self.chunked_encoding = not self.ends_with_connection
        if self.chunked_encoding:
            lines += b"transfer-encoding", b": ", b"chunked", b"\r\n"
        head = b"".join(lines)
        # A header's four parts contain one line break.
        if not head.count(b"\n") == head.count(b"\r") == len(lines) // 4 + 1:
            raise RuntimeError("a header contains a line break")
        self.head = head + b"\r\n"
        if self.ends_with_connection:
            set_reset(self.transport, is_on=True)
        if self.chunked_encoding or self.ends_with_connection:
            # The first event of a stream may come much later.
            self.write(b"")

    def send_part(self, body: bytes, *, more_body: bool) -> None:
        """Sends a part of the body. Raises RuntimeError if the parts are longer or shorter than Content-Length."""
        if self.scope["method"] == "HEAD":
            self.expected_content_length = 0
            self.write(b"")
        elif self.chunked_encoding:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            self.write(chunk if more_body else chunk + b"0\r\n\r\n")
        elif self.ends_with_connection:
            self.write(body)
            if not more_body:
                set_reset(self.transport, is_on=False)
        else:
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0:
                raise RuntimeError("the body is longer than Content-Length")
            self.write(body)
        if not more_body:
            if self.expected_content_length:
                raise RuntimeError("the body is shorter than Content-Length")
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()

    def write(self, data: bytes) -> None:
        """Writes the head, if it waits, and these bytes."""
        whole, self.head = self.head + data, b""
        if whole:
            self.transport.write(whole)
