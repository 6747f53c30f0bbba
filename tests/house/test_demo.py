"""The demo as a new user meets it: loads once, serves, and every question it prints has an answer."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import demo
from settings import SettingsError
from tests.conftest import ROOT


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def running(folder: Path, port: int) -> Iterator[str]:
    """Everything the demo prints up to its last line, while it serves."""
    code = f"import pathlib, demo; demo.run({port}, pathlib.Path({str(folder)!r}))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder.parent, env=environment, text=True, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line)
            if "Ctrl-C" in line:
                break
        try:
            yield "".join(printed)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def ask(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  http on the loopback
        found: dict[str, object] = json.load(answer)
        return found


@pytest.mark.spark
def test_the_demo_loads_serves_and_loads_nothing_again(tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path / "demo", port) as printed:
        assert "50" in printed
        urls = re.findall(r"curl -s '([^']+)'", printed)
        assert len(urls) == 5
        for url in urls:
            assert ask(url)["data"], url
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/docs", timeout=10) as page:
            assert page.status == 200
    with running(tmp_path / "demo", port) as printed:
        assert printed.lstrip().startswith("Serving.")
        assert ask(urls[0])["data"]


def test_a_busy_port_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"127.0.0.1 port {port}: Address already in use"):
            demo.run(port, tmp_path / "demo")
    assert not (tmp_path / "demo").exists()


def test_the_questions_are_asked_of_the_sample() -> None:
    held = "".join(json.dumps(line) for line in demo.sample_lines())
    message, children, *_ = (path for _, path in demo.questions())
    assert message.rpartition("/")[2] in held
    assert children.split("/")[-2] in held
