"""Servers on loopback and their measurement by wrk, for benches that use HTTP.

Every server is a process on a free loopback port. Only processes that were started here are ended, by their ids. Every
measurement ends by itself.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

CONNECTIONS = 32

START_S = 60
"""Seconds within which a server must start or end."""

PATHS_LUA = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local at = 0
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at], {accept = "%s"})
end
"""

PAUSE_LUA = """
delay = function() return math.floor(math.random() * %f + 0.5) end
"""
"""A connection waits before each request for a random time of up to this many milliseconds."""


@dataclass(frozen=True)
class Figure:
    """A result of wrk, and the server's CPU time per request, which other programs on the machine affect least.

    `errors`: responses other than 2xx and 3xx, and connections that failed or timed out.
    """

    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    requests: int
    errors: int


@dataclass(frozen=True)
class Server:
    """A running server."""

    base: str
    pid: int

    def cpu_seconds(self) -> float:
        """CPU time used so far, with that of its workers; 0 without /proc."""
        return _cpu_seconds(self.pid)


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return 0.0
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(_cpu_seconds, map(int, children)))


def wrk_is_missing() -> bool:
    """Whether wrk is missing, which is then printed."""
    if shutil.which("wrk") is None:
        print("wrk is missing: apt-get install wrk")
        return True
    return False


def add_seconds(parser: argparse.ArgumentParser) -> None:
    """Adds the option --seconds to a bench of servers."""
    parser.add_argument(
        "--seconds", type=int, default=2, choices=range(1, 6), help="seconds per measurement of a server"
    )


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[Server]:
    """Runs a server for the duration of the block. Raises RuntimeError if it does not start."""
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + START_S
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{' '.join(command)} ended or did not listen: {process.returncode}")
            time.sleep(0.1)
        yield Server(f"http://127.0.0.1:{port}", process.pid)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(START_S)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def serving(url: str, network: str, workers: int = 1, **environment: str) -> AbstractContextManager[Server]:
    """Runs `permanode serve` for a store's URL, with its defaults except for these environment variables."""
    port = free_port()
    code = "from cli.main import main; main()"
    command = [sys.executable, "-c", code, "--store", url, "--network", network, "serve"]
    return running([*command, "--port", str(port), "--workers", str(workers)], port, **environment)


def uvicorn(factory: str, **environment: str) -> AbstractContextManager[Server]:
    """Runs one uvicorn worker with a `module:factory`."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", factory, "--factory", "--port", str(port)]
    command += ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    return running(command, port, **environment)


def granian(factory: str, **environment: str) -> AbstractContextManager[Server]:
    """Runs one granian worker with a `module:factory`, with granian's own command line."""
    port = free_port()
    command = [sys.executable, "-m", "granian", factory, "--factory", "--port", str(port), "--interface", "asginl"]
    command += ["--loop", "uvloop", "--http", "1", "--no-ws", "--log-level", "warning"]
    return running(command, port, **environment)


def run_wrk(
    server: Server,
    paths: list[str],
    seconds: int,
    folder: Path,
    *,
    connections: int = CONNECTIONS,
    pause_ms: float = 0.0,
    accept: str = "*/*",
) -> Figure:
    """Runs wrk over these paths in turn, without pauses or with a mean pause before each request."""
    listed, script = folder / "paths.txt", folder / "paths.lua"
    listed.write_text("\n".join(paths) + "\n")
    script.write_text(PATHS_LUA % (listed, accept) + (PAUSE_LUA % (2 * pause_ms) if pause_ms else ""))
    command = ["wrk", "-t1", f"-c{connections}", "--latency", "-s", str(script), f"-d{seconds}s", server.base]
    used = server.cpu_seconds()
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    used = server.cpu_seconds() - used
    requests = int(found(r"(\d+) requests in", text)[0])
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    failed = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    return Figure(
        per_second=float(found(r"Requests/sec:\s+([\d.]+)", text)[0]),
        p50_ms=milliseconds(*found(r"50%\s+([\d.]+)(us|ms|s)", text)),
        p99_ms=milliseconds(*found(r"99%\s+([\d.]+)(us|ms|s)", text)),
        cpu_us=1e6 * used / max(requests, 1),
        requests=requests,
        errors=(int(wrong[1]) if wrong else 0) + (sum(map(int, failed.groups())) if failed else 0),
    )


def found(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of a pattern that must match."""
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"unexpected output of wrk, without {pattern}: {text}")
    return match.groups()


def milliseconds(value: str, unit: str) -> float:
    """Converts a time of wrk to milliseconds."""
    return float(value) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]
