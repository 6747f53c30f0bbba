"""The version of this program, as `info` returns it."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

UNINSTALLED = "0.0.0"
"""Of a source tree that was never installed."""


@cache
def program_version() -> str:
    """The installed version, as pyproject.toml has it."""
    try:
        return version("permanode")
    except PackageNotFoundError:
        return UNINSTALLED
