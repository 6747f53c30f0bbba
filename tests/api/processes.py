"""Servers over the oracle ledger as separate processes; each is ended by its own id."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import ROOT

SERVERS = ("uvicorn", "granian")
"""The HTTP servers of `permanode serve`. Tests for which the server matters run with both, as `PERMANODE_API_SERVER`
makes all others do.
"""


WAIT_S = 60.0
"""The time for a response that must come: it may be large, and the machine may be busy."""


def each_server(first: str) -> list[Any]:
    """Parameters for SERVERS. Without `--slow` only `first` runs: other contents are sent by the other server."""
    return [pytest.param(name, marks=() if name == first else pytest.mark.slow) for name in SERVERS]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def started(*arguments: str, log: Path, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """Runs `python ARGUMENTS` during the block; its stderr goes to `log`."""
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, *arguments], env=os.environ | environment, cwd=ROOT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(20)
            assert process.stdout is not None
            process.stdout.close()


@contextmanager
def permanode(folder: Path, network: str, log: Path, **environment: str) -> Iterator[str]:
    """Runs `permanode serve` over a store; yields its URL."""
    store = {"PERMANODE_STORE": f"sqlite:///{folder}", "PERMANODE_NETWORK": network}
    with permanode_of(log, **store, **environment) as base:
        yield base


@contextmanager
def permanode_of(log: Path, **settings: str) -> Iterator[str]:
    """Runs `permanode serve` with those variables; yields its URL."""
    port = free_port()
    settings |= {"PERMANODE_API_PORT": str(port)}
    with started("-c", "from cli.main import main; main()", "serve", log=log, **settings) as process:
        base = f"http://127.0.0.1:{port}"
        wait_for(base, process)
        yield base


def wait_for(base: str, process: "subprocess.Popen[str]") -> None:
    """Returns when the server responds; fails if the process ends first."""
    with httpx.Client(base_url=base) as client:
        for _ in range(600):
            assert process.poll() is None, "the server ended"
            try:
                if client.get("/health").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
    pytest.fail("the server never answered")
