"""What `permanode serve --server granian` adds to granian, with an application of its own in one process.

tests/api/http/test_connections.py has the limits that both servers share.
"""

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from cli.accepted_sockets import accepted, queued
from cli.connection_limits import Limits
from cli.granian_limits import Limiter
from tests.api.processes import free_port
from tests.conftest import ROOT

LIMITS = Limits(connections=20, head_bytes=65_536, head_s=5, send_s=5)
PART = b"x" * 10_000


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Does what the path names."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            kind = (await receive())["type"]
            sys.stdout.write(f"{kind}\n")
            sys.stdout.flush()
            await send({"type": f"{kind}.complete"})
        return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": str(len(message["bytes"]))})
        return
    headers = [(b"content-type", b"text/csv")]
    if scope["path"] == "/split":
        headers.append((b"x-split", b"a\r\nx-injected: b"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/endless":
        for number in range(100_000):
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            await send({"type": "http.response.body", "body": PART, "more_body": True})
    elif scope["path"] in ("/fails", "/waits"):
        await send({"type": "http.response.body", "body": PART, "more_body": True})
        await asyncio.sleep(0.2 if scope["path"] == "/fails" else 60)
        raise RuntimeError("in the middle")
    await send({"type": "http.response.body", "body": json.dumps({"client": scope["client"][0]}).encode()})


def main(port: int) -> None:
    """Serves `app`."""
    from cli.granian_server import GranianConfig

    logging.basicConfig()
    listener = socket.create_server(("127.0.0.1", port))
    config = GranianConfig(
        app, LIMITS, timeout_keep_alive=5, timeout_graceful_shutdown=1, log_config=None, log_level="warning"
    )
    uvicorn.Server(config).run(sockets=[listener])


@pytest.fixture
def process() -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    port = free_port()
    code = f"from tests.cli.test_granian_server import main; main({port})"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"lifespan.startup\n"
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        try:
            yield port, started
        finally:
            if started.poll() is None:
                started.kill()


def requested(port: int, path: str, headers: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n".encode())
    return connection


def whole(connection: socket.socket) -> bytes:
    with connection:
        return b"".join(iter(lambda: connection.recv(65_536), b""))


Started = tuple[int, "subprocess.Popen[bytes]"]


@pytest.mark.thorough
def test_a_stream_that_fails_does_not_look_complete(process: Started) -> None:
    port, _ = process
    assert whole(requested(port, "/")).endswith(b'{"client": "127.0.0.1"}')
    found = whole(requested(port, "/fails"))
    assert PART in found
    assert not found.endswith(b"0\r\n\r\n")


@pytest.mark.thorough
def test_a_header_with_a_line_break_is_not_sent(process: Started) -> None:
    assert b"x-injected" not in whole(requested(process[0], "/split"))


@pytest.mark.thorough
def test_the_address_that_a_proxy_names_is_the_client(process: Started) -> None:
    found = whole(requested(process[0], "/", "x-forwarded-for: 192.0.2.7\r\n"))
    assert found.endswith(b'{"client": "192.0.2.7"}')


@pytest.mark.thorough
def test_a_stream_waits_for_its_client(process: Started) -> None:
    port, started = process
    connection = requested(port, "/endless")
    assert started.stdout is not None
    os.set_blocking(started.stdout.fileno(), False)
    parts, printed = 0, b""
    while printed is not None or not parts:
        parts += len((printed or b"").splitlines())
        # What it sent is in the buffers of the kernel, its own and the client's.
        assert parts * len(PART) < 8_000_000
        time.sleep(0.5)
        printed = started.stdout.read()
    connection.close()


@pytest.mark.thorough
def test_a_websocket_message_that_is_too_long_ends_the_connection(process: Started) -> None:
    with connect(f"ws://127.0.0.1:{process[0]}/", max_size=None) as client:
        client.send(b"x" * 100_000)
        assert client.recv() == "100000"

        def parts() -> Iterator[bytes]:
            for _ in range(60):
                time.sleep(0.05)
                yield b"x" * 100_000

        with pytest.raises((ConnectionClosed, OSError)):
            client.send(parts())


@pytest.mark.thorough
def test_it_ends_when_its_time_for_open_requests_is_over(process: Started) -> None:
    port, started = process
    connection = requested(port, "/waits")
    assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
    begun = time.monotonic()
    started.terminate()
    # Much shorter than the response takes.
    started.wait(30)
    assert time.monotonic() - begun > 0.9
    connection.close()


async def test_the_listener_stays_nonblocking_for_other_workers() -> None:
    """A worker that starts got the listener from its supervisor, and others already wait for connections on it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_blocking(listener.fileno(), False)
        limiter = Limiter(app, listener, LIMITS, keep_alive_s=5)
        assert not os.get_blocking(listener.fileno())
        limiter.close()
        assert listener.getsockname()


def test_accepted_connections_are_found_by_their_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(listener.getsockname()) as client:
            end = time.monotonic() + 5
            while queued(listener) != 1:
                assert time.monotonic() < end
            assert [*accepted(port)] == []
            server, _ = listener.accept()
            with server:
                client.sendall(b"abc")
                assert server.recv(10) == b"abc"
                assert queued(listener) == 0
                files = len([*Path("/dev/fd").iterdir()])
                (found,) = accepted(port)
                assert found.client == ("127.0.0.1", str(client.getsockname()[1]))
                assert (found.is_open, found.received, found.unsent, found.quiet_s < 5) == (True, 3, 0, True)
                # Another client's connection, as if the number had been used again.
                other = found._replace(client=("127.0.0.1", "1"))
                other.end()
                client.sendall(b"d")
                assert server.recv(10) == b"d"
                found.end()
                assert (client.recv(10), server.recv(10)) == (b"", b"")
                assert len([*Path("/dev/fd").iterdir()]) == files
