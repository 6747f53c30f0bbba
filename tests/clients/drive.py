"""Runs an external client: its driver reads calls from stdin and prints one JSON line with the result of each.

A driver prints {"answer": …} or {"refused": status, "message": …} for every call, in order. Any other error ends the
driver and fails the test. One process of a driver serves all tests: starting one takes up to 1 s of CPU time.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import pytest

from tests.clients.installs import HERE, Node

TIMEOUT_S = 240

FEW = 60
"""So many requests of a method are all made."""

SPREAD = 8
"""Of more, one in so many is made, beside those with an answer of another shape. tests/api requests everything."""

ApiRequests: TypeAlias = Iterable[tuple[tuple[Any, ...], Any]]
"""A call of a client's method: (arguments, the whole answer)."""


def shape_of(value: Any) -> Any:
    """What a value consists of: the names and types of its parts, the values of `type`, the kinds of a list's items."""
    if isinstance(value, dict):
        return tuple((key, each if key == "type" else shape_of(each)) for key, each in sorted(value.items()))
    return frozenset(map(shape_of, value)) if isinstance(value, list) else type(value)


def varied(api_requests: ApiRequests) -> list[tuple[tuple[Any, ...], Any]]:
    """Few requests are all returned; of more, two with an answer of each shape and one in SPREAD of the others."""
    requests = list(api_requests)
    counts = Counter[Any]()
    found = []
    for number, (arguments, answer) in enumerate(requests):
        shape = shape_of(answer)
        counts[shape] += 1
        if len(requests) <= FEW or counts[shape] <= 2 or number % SPREAD == 0:
            found.append((arguments, answer))
    return found


@dataclass(frozen=True)
class Running:
    """The process of a driver, which serves every test that has its command, and the file of its errors."""

    process: subprocess.Popen[str]
    errors: IO[str]

    def ask(self, calls: Sequence[Any]) -> list[Any]:
        """The outcomes of the calls up to the one at which the process ended, if it did."""
        sending = threading.Thread(target=self._send, args=["".join(f"{json.dumps(call)}\n" for call in calls)])
        limit = threading.Timer(TIMEOUT_S, self.process.kill)
        sending.start()
        limit.start()
        assert self.process.stdout is not None
        found = [json.loads(line) for line in islice(self.process.stdout, len(calls))]
        limit.cancel()
        sending.join()
        return found

    def _send(self, lines: str) -> None:
        assert self.process.stdin is not None
        # A driver may print its lines without input, or may have ended.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(lines)
            self.process.stdin.flush()

    def printed(self) -> str:
        """Its errors so far."""
        self.errors.seek(0)
        return self.errors.read()

    def end(self) -> int:
        """Ends the process and returns its exit code."""
        try:
            rest, _ = self.process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            rest, _ = self.process.communicate()
        assert rest == ""
        return self.process.returncode


@contextlib.contextmanager
def started(command: tuple[str, ...]) -> Iterator[Running]:
    """The process of a driver in this block."""
    with tempfile.TemporaryFile("w+") as errors:
        yield Running(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            ),
            errors,
        )  # fmt: skip


RUNNING: dict[tuple[str, ...], Running] = {}
"""The processes by their commands."""

FILES = contextlib.ExitStack()
"""The blocks of all processes."""


def end_drivers() -> None:
    """Ends all drivers. AssertionError if one fails."""
    running = [*RUNNING.items()]
    RUNNING.clear()
    with FILES.pop_all():
        assert {command: code for command, code in [(command, each.end()) for command, each in running] if code} == {}


@dataclass(frozen=True)
class Driver:
    """An external client, by the command that starts its driver."""

    command: tuple[str, ...]

    def ask(self, calls: Sequence[Any]) -> list[Any]:
        """The outcome of each call, responses and errors."""
        if self.command not in RUNNING:
            RUNNING[self.command] = FILES.enter_context(started(self.command))
        running = RUNNING[self.command]
        found = running.ask(calls)
        if len(found) != len(calls):
            printed = running.printed()
            RUNNING.pop(self.command).end()
            pytest.fail(f"{calls[len(found)]}: the driver ended: {printed}")
        return found

    def answers(self, calls: Sequence[Any]) -> list[Any]:
        """The response to each call."""
        found = self.ask(calls)
        for call, each in zip(calls, found, strict=True):
            assert "answer" in each, f"{call}: {each}"
        return [each["answer"] for each in found]

    def check(self, method: str, api_requests: ApiRequests, *, ordered: bool = True) -> None:
        """Calls a method with varied arguments and compares every whole response; not `ordered`: lists in any order."""
        requests = varied(api_requests)
        assert requests
        found = self.answers([[method, *arguments] for arguments, _ in requests])
        for (arguments, expected), answer in zip(requests, found, strict=True):
            if ordered:
                assert answer == expected, arguments
            else:
                assert sorted(answer, key=dumped) == sorted(expected, key=dumped), arguments


def dumped(value: Any) -> str:
    """The same text for equal JSON."""
    return json.dumps(value, sort_keys=True)


def iota_js(node: Node, folder: Path, package: str, endpoint: str, base_path: str, mnemonic: str) -> Driver:
    """iota.js by its package name, in a folder from which it is found."""
    (folder / "node_modules").symlink_to(node.modules)
    script = shutil.copy(HERE / "drivers" / "iota_js.mjs", folder)
    return Driver((node.node, str(script), package, endpoint, base_path, mnemonic))
