"""Clients that send too much, too little or nothing, and clients that do not read, against a running `permanode serve`.

The tests know the server only by its sockets, its log and /proc, so they hold for any HTTP server that serves the
application.
"""

import contextlib
import re
import resource
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from api.http.content_negotiation import choose_form
from tests.api.conftest import filled_store
from tests.api.mqtt import raw
from tests.api.oracle import Oracle
from tests.api.processes import SERVERS, free_port, started, wait_for

pytestmark = pytest.mark.thorough

CONNECTIONS, HEAD_BYTES = 30, 65_536
HEAD_S, SEND_S = 1.0, 1.0
LIMITS = {
    "PERMANODE_API_CONNECTIONS": str(CONNECTIONS),
    "PERMANODE_API_HEAD_S": str(HEAD_S),
    "PERMANODE_API_KEEP_ALIVE_S": "1",
    "PERMANODE_API_SEND_S": str(SEND_S),
    "PERMANODE_API_DEADLINE_S": "3",
    "PERMANODE_API_UNSENT_BYTES": "4000000",
}
"""Shorter than the defaults, so that the tests are."""

PATIENT_S = 4.0
PATIENT = {
    "PERMANODE_API_HEAD_S": "10",
    "PERMANODE_API_KEEP_ALIVE_S": str(int(PATIENT_S)),
    "PERMANODE_API_SEND_S": str(PATIENT_S),
    "PERMANODE_API_DEADLINE_S": "6",
}
"""For clients that are in time, also while the machine is busy with something else for two seconds."""

SERVE = "from cli.main import main; main()"
LIMITED_FILES = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); {SERVE}"

MQTT = Subprotocol("mqtt")

WAIT_S = 15.0
"""Much longer than any limit; a test that waits so long has failed."""

SETTLED_S = 60.0
"""Much longer than a connection stays that nobody uses. Once, beside other tests and three busy loops, one stayed for
more than 15 s.
"""

MIB = 1024**2


class Served(NamedTuple):
    """A server: its name, port, process id and log."""

    name: str
    port: int
    pid: int
    log: Path

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> int:
        """Bytes that the process has in memory."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * resource.getpagesize()

    @property
    def sockets(self) -> int:
        """The number of its open sockets."""
        found = 0
        for each in Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                found += str(each.readlink()).startswith("socket:")
        return found

    def open(self, *, receive_bytes: int | None = None) -> socket.socket:
        connection = socket.socket()
        if receive_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.settimeout(WAIT_S)
        connection.connect(("127.0.0.1", self.port))
        return connection

    @property
    def connections(self) -> list[str]:
        """Its connections in the words of /proc: local and remote address, state, bytes that wait."""
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        return [" ".join(each.split()[1:5]) for each in lines if each.split()[1].endswith(f":{self.port:04X}")]

    def settles(self) -> None:
        """Waits until no connection is left. Fails if some stay."""
        end = time.monotonic() + SETTLED_S
        while self.sockets > 8 and time.monotonic() < end:
            time.sleep(0.1)
        assert self.sockets <= 8, self.connections

    def answers(self) -> None:
        """Fails unless a new client is served."""
        assert httpx.get(f"{self.base}/health", timeout=WAIT_S).status_code == 200

    def logged(self, text: str) -> bool:
        end = time.monotonic() + WAIT_S
        while text not in self.log.read_text() and time.monotonic() < end:
            time.sleep(0.05)
        return text in self.log.read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Path:
    found = tmp_path_factory.mktemp("served")
    filled_store(found, oracle, 100_000, 100_000).close()
    return found


@contextlib.contextmanager
def serving(folder: Path, oracle: Oracle, log: Path, name: str, code: str = SERVE, **more: str) -> Iterator[Served]:
    port = free_port()
    network = oracle.expected["network"]
    settings = LIMITS | more | {"PERMANODE_STORE": f"sqlite:///{folder}", "PERMANODE_NETWORK": network}
    settings["PERMANODE_API_SERVER"] = name
    with started("-c", code, "serve", "--port", str(port), log=log, **settings) as process:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield Served(name, port, process.pid, log)


@pytest.fixture(scope="module", params=SERVERS)
def server(
    folder: Path, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Served]:
    with serving(folder, oracle, tmp_path_factory.mktemp("log") / "stderr", request.param) as found:
        yield found


@pytest.fixture(scope="module", params=SERVERS)
def patient(
    folder: Path, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Served]:
    with serving(folder, oracle, tmp_path_factory.mktemp("log") / "stderr", request.param, **PATIENT) as found:
        yield found


@pytest.fixture(autouse=True)
def closed() -> Iterator[contextlib.ExitStack]:
    """Closes the sockets of a test at its end."""
    with contextlib.ExitStack() as stack:
        yield stack


UPGRADE = (
    b"GET /mqtt HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n"
    b"sec-websocket-protocol: mqtt\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def rest(connection: socket.socket) -> bytes:
    """Everything until the server ends the connection. Fails if it does not."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            found += part
    return found


def flood(connection: socket.socket, begin: bytes, part: bytes, size: int) -> tuple[int, bytes]:
    """Sends up to `size` bytes. Returns how many were taken, and the response."""
    sent = 0
    try:
        connection.sendall(begin)
        while sent < size:
            connection.sendall(part)
            sent += len(part)
    except ConnectionError:
        pass
    return sent, rest(connection)


ENDLESS = {
    "headers": (b"GET /health HTTP/1.1\r\nhost: x\r\n", b"x-a: " + b"a" * 1_000 + b"\r\n"),
    "one header": (b"GET /health HTTP/1.1\r\nx-a: ", b"a" * 65_536),
    "the name of a header": (b"GET /health HTTP/1.1\r\n", b"a" * 65_536),
    "the URL": (b"GET /", b"a" * 65_536),
    "short headers": (b"GET /health HTTP/1.1\r\nhost: x\r\n", b"a:b\r\n" * 1_000),
    "trailers": (b"GET /health HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", b"x-a: b\r\n" * 1_000),
    "extensions": (b"GET /health HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;", b"a" * 65_536),
}  # fmt: skip


@pytest.mark.parametrize("what", ENDLESS)
def test_a_head_without_end_is_not_kept(server: Served, closed: contextlib.ExitStack, what: str) -> None:
    before = server.memory
    for _ in range(4):
        sent, response = flood(closed.enter_context(server.open()), *ENDLESS[what], 60 * MIB)
        # The kernel may have buffered some of it.
        assert sent < 30 * MIB
        if response:
            assert re.match(rb"HTTP/1.1 (431|414|400|200) ", response), response[:100]
    assert server.memory - before < 30 * MIB
    server.answers()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 404),
        (b"GET /" + b"a" * 66_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 60_000 + b"\r\n\r\n", 200),
        (b"GET /health HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 66_000 + b"\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\nhost: x\r\n" + b"".join(b"x-%d: a\r\n" % n for n in range(90)) + b"\r\n", 200),
        (b"GET /health HTTP/1.1\r\nhost: x\r\n" + b"".join(b"x-%d: a\r\n" % n for n in range(300)) + b"\r\n", 431),
    ],
)
@pytest.mark.parametrize("parts", [1, 7])
def test_the_size_of_a_head(
    patient: Served, closed: contextlib.ExitStack, head: bytes, status: int, parts: int
) -> None:
    connection = closed.enter_context(patient.open())
    step = -(-len(head) // parts)
    with contextlib.suppress(ConnectionError):
        for start in range(0, len(head), step):
            connection.sendall(head[start : start + step])
            time.sleep(0.01)
    allowed = (b"431", b"414") if status == 431 else (b"%d" % status,)
    assert connection.recv(65_536).split(b" ")[1] in allowed
    patient.answers()


def send_slowly(connection: socket.socket) -> None:
    """Sends one byte after the other until the server ends the connection, which it must do within WAIT_S."""
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while time.monotonic() - begun < WAIT_S:
            connection.sendall(b"a")
            time.sleep(0.2)
    assert time.monotonic() - begun < WAIT_S


BEGINS = (b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nhost: x\r\nx-a: 1")


def test_a_head_that_does_not_come_in_time_ends_the_connection(server: Served, closed: contextlib.ExitStack) -> None:
    """Whatever part of it came, and even if bytes still come, slowly."""
    connections = [(begin, closed.enter_context(server.open())) for begin in BEGINS for _ in range(8)]
    for begin, each in connections:
        each.sendall(begin)
    slow = closed.enter_context(server.open())
    slow.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nx-a: ")
    send_slowly(slow)
    for begin, each in connections:
        response = rest(each)
        assert response.startswith(b"HTTP/1.1 408 ") if begin else response == b""


def test_a_connection_waits_for_another_request_for_a_limited_time(
    patient: Served, closed: contextlib.ExitStack
) -> None:
    connection = closed.enter_context(patient.open())
    for _ in range(2):
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        time.sleep(0.3)
    assert rest(connection).count(b"HTTP/1.1 200 ") == 2


def test_a_body_that_nobody_reads_does_not_keep_a_connection(server: Served, closed: contextlib.ExitStack) -> None:
    connection = closed.enter_context(server.open())
    connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n")
    send_slowly(connection)
    assert rest(connection).startswith(b"HTTP/1.1 200 ")


def test_silent_connections_make_room_for_new_ones(server: Served, closed: contextlib.ExitStack) -> None:
    silent = [closed.enter_context(server.open()) for _ in range(3 * CONNECTIONS)]
    for _ in range(5):
        server.answers()
    assert server.sockets < CONNECTIONS + 10
    assert server.logged(f"more than {CONNECTIONS} connections")
    assert len(silent) == 3 * CONNECTIONS


def test_connections_with_requests_are_not_closed_for_new_ones(patient: Served, closed: contextlib.ExitStack) -> None:
    busy = [closed.enter_context(patient.open()) for _ in range(CONNECTIONS)]
    for each in busy:
        each.sendall(b"POST /api/poi/v1/validate HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{")
    time.sleep(0.5)
    response = rest(closed.enter_context(patient.open()))
    assert response.startswith(b"HTTP/1.1 503 ") or response == b""
    for each in busy:
        # Their bodies did not come within the deadline.
        assert each.recv(65_536).startswith(b"HTTP/1.1 503 ")
    patient.answers()


@pytest.mark.parametrize("name", SERVERS)
def test_few_file_descriptors_suffice(
    folder: Path, oracle: Oracle, tmp_path: Path, closed: contextlib.ExitStack, name: str
) -> None:
    more = {"PERMANODE_API_CONNECTIONS": "2000", "PERMANODE_API_HEAD_S": "60"}
    with serving(folder, oracle, tmp_path / "stderr", name, LIMITED_FILES, **more) as server:
        assert server.logged("256 open files are allowed")
        silent = [closed.enter_context(server.open()) for _ in range(400)]
        for _ in range(5):
            server.answers()
        assert len(silent) == 400
        assert server.logged("connections: ")


LARGEST = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n"
"""The largest response that every server has: the description of the API."""


def test_clients_that_do_not_read_are_disconnected(
    server: Served, oracle: Oracle, closed: contextlib.ExitStack
) -> None:
    # The first request builds it.
    httpx.get(f"{server.base}/openapi.json", timeout=60)
    before = server.memory
    connections = [closed.enter_context(server.open(receive_bytes=4_096)) for _ in range(20)]
    for each in connections:
        each.sendall(LARGEST * 20)
    assert server.logged("disconnected")
    server.settles()
    assert server.memory - before < 40 * MIB
    server.answers()
    if server.name == "uvicorn":
        with pytest.raises(ConnectionResetError):
            b"".join(iter(lambda: connections[0].recv(65_536), b""))


def test_a_client_that_reads_slowly_gets_everything(
    patient: Served, oracle: Oracle, closed: contextlib.ExitStack
) -> None:
    whole = httpx.get(f"{patient.base}/openapi.json", headers={"accept-encoding": "identity"}, timeout=60).content
    connection = closed.enter_context(patient.open(receive_bytes=65_536))
    connection.sendall(LARGEST * 8)
    found, begun = b"", time.monotonic()
    while time.monotonic() - begun < PATIENT_S + 1:
        found += connection.recv(16_384)
        time.sleep(0.02)
    while found.count(whole) < 8:
        part = connection.recv(1_000_000)
        assert part
        found += part


def test_idle_streams_and_websockets_stay(server: Served, oracle: Oracle, closed: contextlib.ExitStack) -> None:
    network = oracle.expected["network"]
    stream = closed.enter_context(server.open())
    stream.sendall(f"GET /api/{network}/events?format=sse HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    assert stream.recv(65_536).startswith(b"HTTP/1.1 200 ")
    url = f"ws://127.0.0.1:{server.port}/mqtt"
    with connect(url, subprotocols=[MQTT], ping_interval=None) as client:
        client.send(raw.connect())
        assert client.recv() == raw.CONNACK
        time.sleep(2 * max(HEAD_S, SEND_S) + 0.5)
        client.send(raw.PINGREQ)
        assert client.recv(WAIT_S) == raw.PINGRESP
        stream.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while stream.recv(65_536):
                pass
        stream.setblocking(True)
        stream.sendall(b"\r\n")


def test_websockets_count_as_connections(server: Served, closed: contextlib.ExitStack) -> None:
    server.settles()
    url = f"ws://127.0.0.1:{server.port}/mqtt"
    clients = [closed.enter_context(connect(url, subprotocols=[MQTT], ping_interval=None)) for _ in range(CONNECTIONS)]
    for each in clients:
        each.send(raw.connect())
        assert each.recv() == raw.CONNACK
    response = rest(closed.enter_context(server.open()))
    assert response.startswith(b"HTTP/1.1 503 ") or response == b""
    # Not with `connect`: a connection that ends during its handshake breaks an assertion of that library at times.
    refused = closed.enter_context(server.open())
    with contextlib.suppress(ConnectionError):
        refused.sendall(UPGRADE)
    response = rest(refused)
    assert response.startswith(b"HTTP/1.1 503 ") or response == b""
    for each in clients:
        each.send(raw.PINGREQ)
        assert each.recv(WAIT_S) == raw.PINGRESP


def test_a_websocket_that_does_not_read_is_given_up(
    server: Served, oracle: Oracle, closed: contextlib.ExitStack
) -> None:
    connection = closed.enter_context(server.open(receive_bytes=4_096))
    connection.sendall(UPGRADE)
    assert connection.recv(1_000).startswith(b"HTTP/1.1 101 ")

    def frame(payload: bytes) -> bytes:
        return b"\x82\xfe" + len(payload).to_bytes(2) + b"\0\0\0\0" + payload

    connection.sendall(frame(raw.connect()))
    # Each brings the metadata of a hundred messages.
    asked = frame(raw.subscribe(*(f"messages/{entry['id']}/metadata" for entry in oracle.entries[:100])))
    is_open, end = True, time.monotonic() + WAIT_S
    connection.setblocking(False)
    while is_open and time.monotonic() < end:
        try:
            connection.send(asked)
        except BlockingIOError:
            time.sleep(0.05)
        except ConnectionError:
            is_open = False
    assert not is_open
    server.answers()


def frame(kind: int, payload: bytes = b"") -> bytes:
    """A frame of a client (RFC 6455 5.2), with a mask of zeros. `kind`: its first byte."""
    assert len(payload) < 126
    return bytes([kind, 0x80 | len(payload)]) + b"\0\0\0\0" + payload


BINARY, BEGUN, CONTINUED, PING, PONG = 0x82, 0x02, 0x00, 0x89, 0x8A

TINY = {
    "chunks": (b"GET /health HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", b"", b"1\r\na\r\n"),
    "pings": (UPGRADE, frame(BINARY, raw.connect()), frame(PING)),
    "pongs": (UPGRADE, frame(BINARY, raw.connect()), frame(PONG)),
    "fragments": (UPGRADE, frame(BEGUN, b"a"), frame(CONTINUED)),
    "messages": (UPGRADE, frame(BINARY, raw.connect()), frame(BINARY, raw.PINGREQ)),
}
"""Head, what follows its response, and a few bytes that a client sends again and again."""


@pytest.mark.parametrize("what", TINY)
def test_a_client_that_never_stops_sending_does_not_stop_others(
    server: Served, closed: contextlib.ExitStack, what: str
) -> None:
    head, begin, tiny = TINY[what]
    block = tiny * (1_000_000 // len(tiny))
    is_served, end = threading.Event(), time.monotonic() + WAIT_S
    opened: list[socket.socket] = []

    def flood() -> None:
        while not is_served.is_set() and time.monotonic() < end:
            with server.open() as connection, contextlib.suppress(OSError):
                opened.append(connection)
                connection.sendall(head)
                connection.recv(65_536)
                connection.sendall(begin)
                while not is_served.is_set() and time.monotonic() < end:
                    connection.sendall(block)

    thread = threading.Thread(target=flood)
    thread.start()
    time.sleep(1)
    with httpx.Client(timeout=2 * WAIT_S) as client:
        assert client.get(f"{server.base}/health").status_code == 200
    is_early = time.monotonic() < end
    is_served.set()
    for each in opened:
        # The server may read no more of it: then the last block waits.
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
    thread.join()
    assert is_early, "the server answered when the other client had stopped"


@pytest.mark.parametrize("tiny", [frame(CONTINUED), frame(CONTINUED, b"ab"), frame(PING), frame(PONG)])
def test_a_websocket_without_messages_ends_or_waits(server: Served, closed: contextlib.ExitStack, tiny: bytes) -> None:
    connection = closed.enter_context(server.open())
    connection.sendall(UPGRADE)
    assert connection.recv(1_000).startswith(b"HTTP/1.1 101 ")
    connection.sendall(frame(BINARY, raw.connect()) + frame(BEGUN, b"a"))
    end = time.monotonic() + WAIT_S
    ends: tuple[type[OSError], ...] = (ConnectionError,)
    if server.name == "granian":
        # uvicorn ends the connection. granian does, too, or reads no more, if much came before it looked at it.
        connection.settimeout(2)
        ends = (ConnectionError, TimeoutError)
    with contextlib.suppress(*ends):
        while time.monotonic() < end:
            connection.sendall(tiny * 1_000)
    assert time.monotonic() < end
    server.answers()


UPGRADES = {
    "post": UPGRADE.replace(b"GET", b"POST"),
    "head": UPGRADE.replace(b"GET", b"HEAD"),
    "body": UPGRADE.replace(b"host: x", b"host: x\r\ncontent-length: 2"),
    "no body": UPGRADE.replace(b"host: x", b"host: x\r\ncontent-length: 0"),
    "long header": UPGRADE.replace(b"host: x", b"host: x\r\nx-a: " + b"a" * 9_000),
    "no name": UPGRADE.replace(b"host: x", b"host: x\r\n\xff: a"),
}


def test_unusual_handshakes_do_not_keep_connections(server: Served, closed: contextlib.ExitStack) -> None:
    """All at once: some are closed after 10 s only."""
    opened = {what: closed.enter_context(server.open()) for what in UPGRADES}
    for what, connection in opened.items():
        connection.sendall(UPGRADES[what])
    for what, connection in opened.items():
        assert rest(connection).startswith(b"HTTP/1.1 "), what


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("is_late", [False, True])
def test_the_body_of_an_upgrade_is_not_taken_for_a_request(
    server: Served, closed: contextlib.ExitStack, is_chunked: bool, is_late: bool
) -> None:
    hidden = b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n"
    length = b"transfer-encoding: chunked" if is_chunked else b"content-length: %d" % len(hidden)
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden) if is_chunked else hidden
    head = b"POST /api/poi/v1/validate HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: h2c\r\n%b\r\n\r\n"
    connection = closed.enter_context(server.open())
    connection.sendall(head % length + (b"" if is_late else body))
    if is_late:
        time.sleep(0.2)
        connection.sendall(body)
    found = rest(connection)
    assert found.count(b"HTTP/1.1 ") == found.count(b"HTTP/1.1 400 ") == 1
    assert b"expected JSON" in found


def test_requests_with_an_upgrade_that_is_ignored_are_answered(server: Served, closed: contextlib.ExitStack) -> None:
    upgrade = b"host: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
    first = b"GET /health HTTP/1.1\r\n" + upgrade + b"\r\n"
    second = b"POST /api/poi/v1/validate HTTP/1.1\r\n" + upgrade + b"content-length: 2\r\n\r\n{}"
    connection = closed.enter_context(server.open())
    connection.sendall((first + second) * 3)
    found = rest(connection)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"400"] * 3
    assert found.count(b"field milestone: expected") == 3


def test_invalid_bytes_are_not_answered_in_another_response(
    server: Served, oracle: Oracle, closed: contextlib.ExitStack
) -> None:
    connection = closed.enter_context(server.open())
    stream = f"GET /api/{oracle.expected['network']}/events?format=sse HTTP/1.1\r\nhost: x\r\n\r\n"
    connection.sendall(stream.encode())
    found = b""
    while b"retry: " not in found:
        found += connection.recv(65_536)
    connection.sendall(b"invalid\r\n\r\n")
    # granian reads it after the response, which never ends.
    connection.settimeout(1)
    with contextlib.suppress(OSError):
        while part := connection.recv(65_536):
            found += part
    assert found.count(b"HTTP/1.1 ") == 1
    connection.close()
    server.settles()


def test_requests_that_wait_behind_another_one_are_bounded(server: Served, closed: contextlib.ExitStack) -> None:
    before = server.memory
    for _ in range(10):
        connection = closed.enter_context(server.open(receive_bytes=4_096))
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100_000)
    assert server.memory - before < 30 * MIB
    server.answers()


@pytest.mark.parametrize("header", ["Accept", "Accept-Encoding"])
def test_long_accept_headers_are_rejected_and_not_kept(server: Served, oracle: Oracle, header: str) -> None:
    kept = choose_form.cache_info().currsize
    path = f"/api/core/v2/blocks/0x{oracle.entries[0]['id']}"
    for length, status in ((1_000, 404), (2_000, 431)):
        answer = httpx.get(server.base + path, headers={header: "a/b," * (length // 4)})
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, str(status))
    assert choose_form.cache_info().currsize == kept


def test_many_clients_at_once_are_served(patient: Served) -> None:
    """Requests on kept connections are not disturbed by silent clients."""
    wrong: list[object] = []
    stop = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=patient.base, timeout=WAIT_S) as client:
            while not stop.is_set():
                try:
                    status = client.get("/health").status_code
                except httpx.HTTPError as error:
                    wrong.append(error)
                    return
                if status != 200:
                    wrong.append(status)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        with patient.open():
            pass
    stop.set()
    for each in threads:
        each.join()
    assert wrong == []
