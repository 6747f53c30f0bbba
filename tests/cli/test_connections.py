"""The server's protocol against uvicorn's own: the same requests to the same application get the same bytes."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import uvicorn

from cli.connection_limits import Limits
from cli.connections import LimitedConfig

SETTINGS: dict[str, Any] = {"log_config": None, "access_log": False, "lifespan": "off", "server_header": False}


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Responds with what the application sees of the request, in the form that the path names."""
    seen = {name: scope[name] for name in ("method", "path", "http_version", "scheme")}
    seen |= {"client": scope["client"][0], "raw_path": scope["raw_path"].decode()}
    seen |= {
        "query": scope["query_string"].decode(),
        "headers": [[*map(bytes.decode, each)] for each in scope["headers"]],
    }
    if scope["method"] == "POST":
        message, body = await receive(), b""
        while body := body + message["body"]:
            if not message["more_body"]:
                break
            message = await receive()
        seen["body"] = body.decode()
    body, kind, status = json.dumps(seen).encode(), scope["path"].strip("/"), 200
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if kind in ("204", "304"):
        status, body, headers = int(kind), b"", []
    elif kind in ("stream", "broken"):
        headers = headers[:1]
    elif kind == "short":
        headers[1] = b"content-length", b"%d" % (len(body) + 1)
    elif kind == "long":
        headers[1] = b"content-length", b"%d" % (len(body) - 1)
    elif kind == "split":
        headers.append((b"x-split", b"a\r\nx-injected: b"))
    elif kind == "close":
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if kind in ("stream", "broken"):
        await send({"type": "http.response.body", "body": body[:10], "more_body": True})
        if kind == "broken":
            raise ValueError("the rest of the body")
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        body = body[10:]
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(config: uvicorn.Config) -> Iterator[int]:
    """Runs a server in a thread."""
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    limits = Limits(connections=10, head_bytes=65_536, head_s=10, send_s=10)
    with ExitStack() as stack:
        ours = stack.enter_context(serving(LimitedConfig(echo, limits, **SETTINGS)))
        uvicorns = stack.enter_context(serving(uvicorn.Config(echo, http="httptools", **SETTINGS)))
        yield ours, uvicorns


def response(port: int, request: bytes) -> bytes:
    """Everything that the server sends until it closes the connection, without the date."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        found = b""
        while part := connection.recv(65_536):
            found += part
    return re.sub(rb"date: [^\r]*", b"date: ", found)


END = b"connection: close\r\n\r\n"
REQUESTS = {
    "sized": b"GET /sized?a=1&b=%20#c HTTP/1.1\r\nHost: x\r\nX-Mixed: Y\r\n" + END,
    "escaped": b"GET /a%20b/%C3%A9//c HTTP/1.1\r\nhost: x\r\n" + END,
    "absolute": b"GET http://other/path?q HTTP/1.1\r\nhost: x\r\n" + END,
    "head": b"HEAD /sized HTTP/1.1\r\nhost: x\r\n" + END,
    "head-of-stream": b"HEAD /stream HTTP/1.1\r\nhost: x\r\n" + END,
    "stream": b"GET /stream HTTP/1.1\r\nhost: x\r\n" + END,
    "no-content": b"GET /204 HTTP/1.1\r\nhost: x\r\n" + END,
    "not-modified": b"GET /304 HTTP/1.1\r\nhost: x\r\n" + END,
    "http-1.0": b"GET /sized HTTP/1.0\r\n\r\n",
    "closed-by-the-application": b"GET /close HTTP/1.1\r\nhost: x\r\n\r\n",
    "pipelined": b"GET /sized HTTP/1.1\r\nhost: x\r\n\r\nGET /stream HTTP/1.1\r\nhost: x\r\n" + END,
    "body": b"POST /sized HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nconnection: close\r\n\r\nabcde",
    "chunks": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
    + END
    + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    "expected": b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n" + END + b"ab",
    "forwarded": b"GET / HTTP/1.1\r\nhost: x\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n" + END,
}


def test_a_stream_to_a_client_of_http_1_0_ends_with_the_connection(ports: tuple[int, int]) -> None:
    """uvicorn sends chunks, which such a client may take for the body."""
    head, _, body = response(ports[0], b"GET /stream HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[1:] == [b"date: ", b"content-type: application/json", b"connection: close"]
    assert (json.loads(body)["path"], json.loads(body)["http_version"]) == ("/stream", "1.0")
    assert response(ports[0], b"HEAD /stream HTTP/1.0\r\n\r\n") == head + b"\r\n\r\n"


def test_a_stream_that_breaks_is_not_taken_for_the_whole(ports: tuple[int, int]) -> None:
    chunks = response(ports[0], b"GET /broken HTTP/1.1\r\nhost: x\r\n\r\n").partition(b"\r\n\r\n")[2]
    assert chunks == b'a\r\n{"method":\r\n', "no chunk of length 0"
    with pytest.raises(ConnectionResetError):
        response(ports[0], b"GET /broken HTTP/1.0\r\n\r\n")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_gets_the_bytes_that_uvicorn_sends(ports: tuple[int, int], name: str) -> None:
    ours, uvicorns = (response(port, REQUESTS[name]) for port in ports)
    assert ours == uvicorns
    assert ours.startswith((b"HTTP/1.1 ", b"HTTP/1.0 "))


@pytest.mark.parametrize("kind", ["short", "long", "split"])
def test_a_wrong_response_ends_the_connection_without_what_makes_it_wrong(ports: tuple[int, int], kind: str) -> None:
    found = response(ports[0], f"GET /{kind} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    assert b"x-injected" not in found
    head, _, body = found.partition(b"\r\n\r\n")
    size = re.search(rb"content-length: (\d+)", head)
    assert size is None or head.startswith(b"HTTP/1.1 500") or len(body) < int(size[1])


@pytest.mark.thorough
def test_the_keep_alive_time_begins_with_each_response() -> None:
    limits = Limits(connections=10, head_bytes=65_536, head_s=10, send_s=10)
    keep_alive_s, pause_s = 4, 1.5
    config = LimitedConfig(echo, limits, timeout_keep_alive=keep_alive_s, **SETTINGS)
    with serving(config) as port, socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        begun = time.monotonic()
        for _ in range(3):
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
            time.sleep(pause_s)
        assert connection.recv(1) == b""
        assert time.monotonic() - begun >= 2 * pause_s + keep_alive_s
