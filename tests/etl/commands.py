"""Starts real `permanode` processes, reads their output and kills them.

Only processes that a test started are signalled, by their ids. Every wait has a timeout.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tests.conftest import ROOT

WAIT_S = 240

MODEST = {
    "PERMANODE_ETL_MASTER": "local[2]",
    "PERMANODE_ETL_DRIVER_MEMORY": "1g",
    "PERMANODE_ETL_SHUFFLE_PARTITIONS": "2",
}

ELSEWHERE = {"TZ": "Asia/Tokyo", "LC_ALL": "POSIX", "JAVA_TOOL_OPTIONS": "-Duser.language=tr -Duser.country=TR"}
"""A time zone nine hours off, and the language in which the capital of small i is not I."""


class Process:
    """A process in its own session; its output lines are collected as they arrive."""

    def __init__(self, command: list[str], *, cwd: Path, environment: dict[str, str]) -> None:
        kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME", "PATH", "TMPDIR") if name in os.environ}
        self._process = subprocess.Popen(
            command, cwd=cwd, env=kept | environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.pid = self._process.pid
        self.out: list[str] = []
        self.err: list[str] = []
        self.times: list[float] = []
        self._news = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self._process.stdout, self.out), (self._process.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[str], lines: list[str]) -> None:
        with stream:
            for line in stream:
                with self._news:
                    lines.append(line.rstrip("\n"))
                    if lines is self.err:
                        self.times.append(time.monotonic())
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def wait_for(self, wanted: Callable[[str], bool]) -> str | None:
        """The first matching line of stderr; None if the process ended without one."""
        end = time.monotonic() + WAIT_S
        with self._news:
            while True:
                for line in self.err:
                    if wanted(line):
                        return line
                if not any(reader.is_alive() for reader in self._readers):
                    return None
                assert time.monotonic() < end, f"{WAIT_S} s without the line:\n{self.printed()}"
                self._news.wait(0.5)

    def finish(self) -> int:
        """Waits for the process to end and returns its exit code."""
        code = self._process.wait(WAIT_S)
        for reader in self._readers:
            reader.join(WAIT_S)
        return code

    def end_within(self, seconds: float) -> bool:
        """Whether it ended within that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self, *, alone: bool = False) -> None:
        """Sends SIGKILL to it and, unless `alone`, to every process that it started."""
        members = [self.pid] if alone else [self.pid, *members_of(self.pid)]
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()

    def printed(self) -> str:
        """Everything that it printed."""
        return "\n".join([*self.out, *self.err])


def members_of(session: int) -> list[int]:
    """Ids of the live processes of a session. Spark's workers leave their process group, but not the session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of_session = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of_session) == session and state != "Z" and int(path.parent.name) != session:
            found.append(int(path.parent.name))
    return found


def permanode(*arguments: str | Path, cwd: Path, **environment: str) -> Process:
    """Starts `permanode …` in its own folder with a small Spark session."""
    code = "from cli.main import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return Process(command, cwd=cwd, environment={"PYTHONPATH": str(ROOT), **MODEST, **environment})
