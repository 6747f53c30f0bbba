"""Real server processes on loopback, for behaviour that an ASGI test transport does not show."""

import json
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.conftest import filled_store
from tests.api.oracle import Oracle
from tests.api.processes import SERVERS, WAIT_S, free_port, permanode, started, wait_for
from tests.api.served import SLOW_S

pytestmark = pytest.mark.thorough

WORKERS = [("uvicorn", 2), ("granian", 2)]
ALONE = ("uvicorn", 1)

EACH_SERVER = pytest.mark.parametrize(("http_server", "workers"), [ALONE, *WORKERS])
"""Both servers as a supervisor of workers, and one of them alone."""

EACH_SUPERVISOR = pytest.mark.parametrize(
    ("http_server", "workers"), [pytest.param(*ALONE, marks=pytest.mark.slow), *WORKERS]
)
"""For what a server that runs alone does as a worker does it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Path:
    found = tmp_path_factory.mktemp("served")
    filled_store(found, oracle, 100_000, 100_000).close()
    return found


@pytest.fixture(scope="module")
def network(oracle: Oracle) -> str:
    name: str = oracle.expected["network"]
    return name


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of `server`."""
    return tmp_path_factory.mktemp("log") / "stderr"


@pytest.fixture(scope="module", params=SERVERS)
def server(folder: Path, network: str, log: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    with permanode(folder, network, log, PERMANODE_API_SERVER=request.param) as base:
        yield base


def test_answers_of_each_kind(server: str, oracle: Oracle, log: Path) -> None:
    """Without an access log, they leave nothing in the log."""
    entry, milestone = oracle.entries[0], oracle.milestones[0]["milestone"]
    with httpx.Client(base_url=server, timeout=WAIT_S) as client:
        message = client.get(f"/api/v1/messages/{entry['id']}")
        assert message.json() == {"data": entry["message"]}
        assert message.headers["content-type"] == "application/json"
        assert message.headers["x-request-id"]
        assert client.get(f"/api/v1/messages/{entry['id']}/raw").content.hex() == entry["bytes_hex"]
        assert (
            client.get(f"/api/{oracle.expected['network']}/milestones/{milestone['index']}").json()["data"]["index"]
            == milestone["index"]
        )
        assert client.get("/openapi.json").json()["openapi"].startswith("3.1")
        assert client.get("/nothing").json()["error"]["code"] == "404"
    assert log.read_text() == ""


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
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
            connection.sendall(garbage)
            assert b" 400 " in connection.recv(65536).split(b"\r\n")[0] + b" "
    assert httpx.get(f"{server}/health").status_code == 200


def raw(base: str, request: str) -> bytes:
    """All bytes of the response to a request that closes its connection."""
    host, port = base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        connection.sendall(f"{request}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("headers", ["", "\r\nAccept-Encoding: gzip"])
def test_head_sends_the_headers_of_get_and_not_a_byte_more(server: str, oracle: Oracle, headers: str) -> None:
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    paths = [f"/api/v1/messages?index={tag}", "/api/v1/messages/abc", "/docs", "/openapi.json", "/metrics"]
    for path in [*paths, f"/api/v1/messages/{oracle.entries[0]['id']}/raw"]:
        (get, body), (head, nothing) = (
            raw(server, f"{method} {path} HTTP/1.1{headers}").split(b"\r\n\r\n", 1) for method in ("GET", "HEAD")
        )
        assert (bool(body), nothing) == (True, b"")
        reported = [line for line in head.lower().splitlines() if line.startswith(b"content-")]
        if path != "/metrics":  # which includes the GET before
            assert reported == [line for line in get.lower().splitlines() if line.startswith(b"content-")]
        assert any(line.startswith(b"content-length: ") for line in reported)


@EACH_SERVER
def test_sigterm_lets_requests_under_way_finish(
    folder: Path, network: str, oracle: Oracle, tmp_path: Path, workers: int, http_server: str
) -> None:
    port, entry = free_port(), oracle.entries[0]
    base, requested = f"http://127.0.0.1:{port}", 4
    variables = {"PERMANODE_TEST_STORE": str(folder), "PERMANODE_TEST_NETWORK": network}
    variables["PERMANODE_API_SERVER"] = http_server
    arguments = ("-m", "tests.api.served", str(port), str(workers))
    with started(*arguments, log=tmp_path / "stderr", **variables) as process, ThreadPoolExecutor(requested) as pool:
        wait_for(base, process)
        answers = [
            pool.submit(httpx.get, f"{base}/api/v1/messages/{entry['id']}", timeout=20) for _ in range(requested)
        ]
        assert process.stdout is not None
        for _ in range(requested):
            assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGTERM)
        for answer in answers:
            assert (answer.result().status_code, answer.result().json()) == (200, {"data": entry["message"]})
        process.wait(SLOW_S + 10)
    assert process.returncode in (0, -signal.SIGTERM)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{base}/health")
    assert "Traceback" not in (tmp_path / "stderr").read_text()


@EACH_SUPERVISOR
def test_requests_that_take_longer_than_allowed_do_not_delay_the_end(
    folder: Path, network: str, oracle: Oracle, tmp_path: Path, workers: int, http_server: str
) -> None:
    port, entry = free_port(), oracle.entries[0]
    base = f"http://127.0.0.1:{port}"
    variables = {"PERMANODE_TEST_STORE": str(folder), "PERMANODE_TEST_NETWORK": network}
    variables |= {"PERMANODE_API_SERVER": http_server, "PERMANODE_API_SHUTDOWN_S": "0"}
    with (
        started("-m", "tests.api.served", str(port), str(workers), log=tmp_path / "stderr", **variables) as process,
        ThreadPoolExecutor() as pool,
    ):
        wait_for(base, process)
        answer = pool.submit(httpx.get, f"{base}/api/v1/messages/{entry['id']}", timeout=30)
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGTERM)
        process.wait(SLOW_S + 10)
        # It was not awaited: uvicorn answers requests that it gives up, granian closes the connection.
        failed = answer.exception()
        assert isinstance(failed, httpx.TransportError) if failed else answer.result().status_code == 500
    assert process.returncode in (0, -signal.SIGTERM)


@EACH_SUPERVISOR
def test_workers_log_and_count_what_each_of_them_answered(
    folder: Path, network: str, oracle: Oracle, tmp_path: Path, workers: int, http_server: str
) -> None:
    """The access log consists of JSON lines on stderr, and any worker reports the metrics of all."""
    log, ids = tmp_path / "stderr", [entry["id"] for entry in oracle.entries[:20]]
    settings = {"PERMANODE_API_ACCESS_LOG": "true", "PERMANODE_API_WORKERS": str(workers)}
    settings["PERMANODE_API_SERVER"] = http_server
    with permanode(folder, network, log, **settings) as base:
        check_metrics(base, oracle)
        expected = []
        for number, message_id in enumerate(ids):
            path = f"/api/v1/messages/{message_id}"
            answer = httpx.get(base + path, headers={"X-Request-Id": f"test-{number}"})
            expected.append((f"test-{number}", "message", "GET", path, 200, int(answer.headers["content-length"])))
        httpx.head(base + path, headers={"X-Request-Id": "test-head"})
        expected.append(("test-head", "message", "HEAD", path, 200, 0))
        unknown = httpx.get(f"{base}/a%0Ab", headers={"X-Request-Id": "test-other"})
        expected.append(("test-other", "other", "GET", "/a%0Ab", 404, len(unknown.content)))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    keys = ("request_id", "operation", "method", "path", "status", "bytes")
    found = [tuple(line[key] for key in keys) for line in lines if line["request_id"].startswith("test-")]
    assert sorted(found) == sorted(expected)
    for line in lines:
        assert line.keys() == {"time", "level", "logger", "ms", *keys}
        assert 0 < line["ms"] < 10_000
        assert (line["level"], line["logger"]) == ("INFO", "permanode.access")


def counted(text: str, **labels: str) -> float:
    """The number of requests in /metrics with these labels."""
    samples: list[Any] = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return sum(
        sample.value
        for sample in samples
        if sample.name == "permanode_request_seconds_count" and sample.labels.items() >= labels.items()
    )


def check_metrics(base: str, oracle: Oracle) -> None:
    """Fails unless /metrics counts every request of a new server, whichever worker answers it."""
    requested = 60
    # Every request has its own connection, which any worker may accept.
    anew = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=base, limits=anew) as client:
        for entry in oracle.entries[:requested]:
            assert client.get(f"/api/v1/messages/{entry['id']}").status_code == 200
            assert client.get(f"/api/core/v1/messages/{entry['id'][:-1]}").status_code == 400
        for _ in range(5):
            text = client.get("/metrics").text
            assert counted(text, operation="message", status="2xx") == requested
            assert counted(text, operation="message_of_core", status="4xx") == requested


FAULTS = """
import resource
from cli.serving import make_worker_app

app = make_worker_app()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for size in range(3_000_000, 3_000_100):
        buffers = [bytes(size) for _ in range(4)]
        del buffers
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""
"""Page faults while the server built a hundred responses of 3 MB, each in four buffers."""


def test_memory_of_an_answer_serves_the_next_one(folder: Path, network: str, tmp_path: Path) -> None:
    store = {"PERMANODE_STORE": f"sqlite:///{folder}", "PERMANODE_NETWORK": network}
    with started("-c", FAULTS, log=tmp_path / "stderr", **store) as process:
        assert process.stdout is not None
        assert int(process.stdout.read()) < 10_000
