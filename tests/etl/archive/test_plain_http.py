"""Responses over plain HTTP, byte for byte as a server sends them: bodies, faults, connections that are used again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from etl.fetch import http
from etl.fetch.http import BROKEN, TIMEOUT, UNREADABLE, Fault, Http
from etl.fetch.plain_http import PlainHttp

OK = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Answers each request with the next response. None: closes the connection instead."""

    def __init__(self, *responses: bytes | None, ends: bool = False) -> None:
        self._responses = list(responses)
        self._ends = ends
        self.requests: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []

    @property
    def connections(self) -> int:
        return len(self.writers)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        while self._responses:
            try:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            except asyncio.IncompleteReadError:
                break
            response = self._responses.pop(0)
            if response is None:
                break
            writer.write(response)
            if self._ends:
                break
        writer.close()


@asynccontextmanager
async def served(server: Server, timeout_s: float = 5.0) -> AsyncIterator[tuple[Http, str]]:
    """A client of that server, and the URL to request."""
    async with await asyncio.start_server(server.connected, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        try:
            async with Http(url, at_once=1, timeout_s=timeout_s) as client:
                yield client, f"{url}/a/b?c=d"
        finally:
            for each in server.writers:
                each.close()
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (OK + b"Content-Length: 3\r\n\r\nabc", b"abc"),
        (OK + b"content-length: 0\r\n\r\n", b""),
        (
            OK + b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n0A;x=y\r\n0123456789\r\n0\r\nx: y\r\n\r\n",
            b"ab0123456789",
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\ncontent-encoding: gzip\r\n\r\n"
            + OK
            + b"content-length: 3\r\n\r\nabc",
            b"abc",
        ),
    ],
)
async def test_a_body_and_a_connection_that_is_used_again(response: bytes, body: bytes) -> None:
    server = Server(response, response)
    async with served(server) as (client, url):
        assert [await client.get(url, "text/plain") for _ in range(2)] == [body] * 2
    assert server.connections == 1
    first, *headers = server.requests[0].decode().split("\r\n")
    assert first == "GET /a/b?c=d HTTP/1.1"
    assert {"accept: text/plain", "accept-encoding: identity", f"host: {url[7:].partition('/')[0]}"} == {*headers} - {
        ""
    }


@pytest.mark.parametrize(
    ("head", "ends"),
    [
        (OK + b"\r\nabc", True),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nabc", False),
        (OK + b"connection: close\r\ncontent-length: 3\r\n\r\nabc", False),
    ],
)
async def test_a_connection_that_ends_with_its_response_is_not_used_again(head: bytes, ends: bool) -> None:
    server = Server(head, head, ends=ends)
    async with served(server) as (client, url):
        assert [await client.get(url, "text/plain") for _ in range(2)] == [b"abc"] * 2
    assert server.connections == 2


async def test_a_connection_that_the_server_closed_meanwhile_is_replaced() -> None:
    server = Server(OK + b"content-length: 1\r\n\r\na", None, OK + b"content-length: 1\r\n\r\nb")
    async with served(server) as (client, url):
        assert [await client.get(url, "text/plain") for _ in range(2)] == [b"a", b"b"]
    assert server.connections == 2


@pytest.mark.parametrize(
    ("response", "kind", "reason"),
    [
        (None, BROKEN, "closed the connection$"),
        (OK + b"content-length: 3\r\n\r\nab", BROKEN, "closed the connection within a body"),
        (OK + b"transfer-encoding: chunked\r\n\r\n5\r\nab", BROKEN, "closed the connection within a body"),
        (OK + b"transfer-encoding: chunked\r\n\r\n-5\r\nab", BROKEN, "not HTTP/1.1: Invalid character in chunk size"),
        (OK + b"transfer-encoding: gzip, chunked\r\n\r\n", BROKEN, "unexpected transfer encoding"),
        (OK + b"content-length: 1_0\r\n\r\n", BROKEN, "not HTTP/1.1: Invalid character in Content-Length"),
        (OK + b"content-length: 1\r\n\r\na" + OK + b"x: y\r\n", BROKEN, "bytes after the end of the response"),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n", BROKEN, "switched to another protocol"),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
            BROKEN,
            "switched to another protocol",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 3_000, BROKEN, "headers of more than 65536 bytes"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", BROKEN, "closed the connection$"),
        (b"SSH-2.0-x\r\n\r\n", BROKEN, "not HTTP/1.1: Expected HTTP/"),
        (OK + b"x: \0\r\n\r\n", BROKEN, "not HTTP/1.1: Invalid header value char"),
        (OK + b"x: " + b"a" * 70_000 + b"\r\n\r\n", BROKEN, "headers of more than 65536 bytes"),
        (OK + b"content-length: 11\r\n\r\n01234567890", UNREADABLE, "more than 10 bytes"),
        (OK + b"\r\n01234567890", UNREADABLE, "more than 10 bytes"),
        (OK + b"transfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n", UNREADABLE, "more than 10 bytes"),
        (
            OK + b"content-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
            UNREADABLE,
            "unexpected content encoding 'gzip'",
        ),
    ],
)
async def test_a_response_that_is_not_one(
    monkeypatch: pytest.MonkeyPatch, response: bytes | None, kind: str, reason: str
) -> None:
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 10)
    async with served(Server(response, ends=True)) as (client, url):
        with pytest.raises(Fault, match=reason) as caught:
            await client.get(url, "text/plain")
    assert caught.value.kind == kind


async def test_a_response_that_does_not_end_has_a_timeout() -> None:
    async with served(Server(OK + b"content-length: 3\r\n\r\nab", b""), timeout_s=0.1) as (client, url):
        with pytest.raises(Fault, match=r"no complete response within 0\.1 s") as caught:
            await client.get(url, "text/plain")
    assert caught.value.kind == TIMEOUT


@pytest.mark.parametrize(
    ("url", "variable", "is_plain"),
    [
        ("http://node:14265", None, True),
        ("https://node", None, False),
        ("http://user:word@node", None, False),
        ("http://node", "http_proxy", False),
        ("http://node", "all_proxy", False),
    ],
)
def test_encryption_passwords_and_proxies_are_left_to_httpx(
    url: str, variable: str | None, is_plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(each, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "http://proxy:3128")
    assert isinstance(Http(url, at_once=1, timeout_s=1)._client, PlainHttp) is is_plain
