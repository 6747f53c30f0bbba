"""A cluster that a command cannot use is one line that names it and the cause, without lines of the driver."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.processes import free_port
from tests.cassandra_server import CassandraServer
from tests.conftest import ROOT

COMMANDS = (["migrate"], ["status"], ["serve"], ["load", str(ROOT / "sample" / "chrysalis")])


def failed(store: str, command: list[str], folder: Path) -> str:
    """The only line that the command prints, on stderr."""
    program = [Path(sys.executable).with_name("permanode"), "--store", store, "--network", "permatest-1"]
    done = subprocess.run(
        [*program, "--lake", str(folder / "lake"), *command], cwd=folder, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line.removeprefix("permanode: ")


@pytest.fixture
def web_server() -> Iterator[str]:
    """HOST:PORT of something that is no cluster."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def respond() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(100)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=respond)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_port_that_nothing_listens_on(command: list[str], tmp_path: Path) -> None:
    store = "cassandra://127.0.0.1:9/permatest"
    assert failed(store, command, tmp_path) == f"{store}: no node responds (connection refused)"


@pytest.mark.thorough
@pytest.mark.parametrize("store", ["cassandra://127.0.0.1:9/permatest", "sqlite:///absent"])
def test_several_workers_do_not_start_without_their_store(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server would start them again and again."""
    monkeypatch.setenv("PERMANODE_API_WORKERS", "2")
    monkeypatch.setenv("PERMANODE_API_PORT", str(free_port()))
    line = failed(store, ["serve"], tmp_path)
    assert line.startswith(f"{store}: ")
    assert "no node responds" in line or "permanode migrate" in line


def test_a_host_without_an_address(tmp_path: Path) -> None:
    """The name is reserved: RFC 2606."""
    store = "cassandra://permanode.invalid:9042/permatest"
    assert failed(store, ["status"], tmp_path) == f"{store}: no address of permanode.invalid is known"


def test_a_server_of_another_protocol(web_server: str, tmp_path: Path) -> None:
    store = f"cassandra://{web_server}/permatest"
    line = failed(store, ["status"], tmp_path)
    assert (
        line
        == f"{store}: no node responds (ProtocolError: This version of the driver does not support protocol version 72)"
    )


@pytest.mark.parametrize("command", COMMANDS[1:], ids=lambda command: command[0])
def test_a_keyspace_that_does_not_exist(cassandra: CassandraServer, command: list[str], tmp_path: Path) -> None:
    """tests/api/http/test_secured_store.py rejects users and certificates."""
    store = f"cassandra://{cassandra.contact}/absent"
    line = failed(store, command, tmp_path)
    assert line.startswith(f"{store}: ")
    assert "permanode migrate" in line
