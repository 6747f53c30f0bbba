"""The commands for developers."""

import os

import pytest

from cli.develop import environment


def test_processes_of_tests_and_benchmarks_keep_what_they_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert environment() == {name: value for name, value in os.environ.items() if "BYTECODE" not in name}
    assert len(environment()) == len(os.environ) - 1
