"""One real server process over loopback: what an ASGI test transport cannot show."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.api.conftest import filled_store
from tests.api.oracle import Oracle
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    filled_store(folder, oracle, 100_000, 100_000).close()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--factory", "tests.api.served:make", "--port", str(port)]
    environment = {"PERMANODE_TEST_STORE": str(folder), "PERMANODE_TEST_NETWORK": oracle.expected["network"]}
    process = subprocess.Popen([*command, "--no-access-log"], env=os.environ | environment, cwd=ROOT)
    base = f"http://127.0.0.1:{port}"
    try:
        wait_for(base, process)
        yield base
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def wait_for(base: str, process: subprocess.Popen[bytes]) -> None:
    """Returns when the server answers; fails when it ended instead."""
    for _ in range(100):
        assert process.poll() is None, "the server ended"
        try:
            if httpx.get(f"{base}/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("the server never answered")


def test_answers_of_each_kind(server: str, oracle: Oracle) -> None:
    entry, milestone = oracle.entries[0], oracle.milestones[0]["milestone"]
    with httpx.Client(base_url=server) as client:
        message = client.get(f"/api/v1/messages/{entry['id']}")
        assert message.json() == {"data": entry["message"]}
        assert message.headers["content-type"] == "application/json"
        assert message.headers["x-request-id"]
        assert client.get(f"/api/v1/messages/{entry['id']}/raw").content.hex() == entry["bytes_hex"]
        assert client.get(f"/api/testing/milestones/{milestone['index']}").json()["data"]["index"] == milestone["index"]
        assert client.get("/openapi.json").json()["openapi"].startswith("3.1")
        assert client.get("/nothing").json()["error"]["code"] == "404"


def test_head_keeps_the_connection_in_step(server: str, oracle: Oracle) -> None:
    with httpx.Client(base_url=server) as client:
        for entry in oracle.entries[:5]:
            head = client.head(f"/api/v1/messages/{entry['id']}")
            get = client.get(f"/api/v1/messages/{entry['id']}")
            assert head.headers["content-length"] == str(len(get.content))
            assert get.json()["data"] == entry["message"]


def test_bytes_that_are_no_request_do_not_stop_it(server: str) -> None:
    host, port = server.removeprefix("http://").split(":")
    for garbage in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET /api/v1/messages/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(garbage)
            assert b" 400 " in connection.recv(65536).split(b"\r\n")[0] + b" "
    assert httpx.get(f"{server}/health").status_code == 200
