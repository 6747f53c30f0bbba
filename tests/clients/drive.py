"""Runs an external client: its driver reads calls from stdin and prints one JSON line with the result of each.

A driver prints {"answer": …} or {"refused": status, "message": …} for every call, in order. Any other error ends the
driver and fails the test.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.clients.installs import HERE, Node

TIMEOUT_S = 60

ApiRequests: TypeAlias = Iterable[tuple[tuple[Any, ...], Any]]
"""A call of a client's method: (arguments, the whole answer)."""


@dataclass(frozen=True)
class Driver:
    """An external client, by the command that starts its driver."""

    command: tuple[str, ...]

    def ask(self, calls: Sequence[Any]) -> list[Any]:
        """The outcome of each call, responses and errors."""
        lines = "".join(f"{json.dumps(call)}\n" for call in calls)
        done = subprocess.run(self.command, input=lines, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(found) == len(calls), done.stderr
        return found

    def answers(self, calls: Sequence[Any]) -> list[Any]:
        """The response to each call."""
        found = self.ask(calls)
        for call, each in zip(calls, found, strict=True):
            assert "answer" in each, f"{call}: {each}"
        return [each["answer"] for each in found]

    def check(self, method: str, api_requests: ApiRequests, *, ordered: bool = True) -> None:
        """Calls a method with those arguments and compares every whole response; not `ordered`: lists in any order."""
        requests = list(api_requests)
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
