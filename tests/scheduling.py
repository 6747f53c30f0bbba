"""Which process runs a test: the scheduler of `./permanode test` for pytest-xdist.

xdist's own `loadgroup` needs marks in node ids, which pytest 9.2 no longer lets it write. So workers store the group of
each test in pytest's cache while they collect, and the controller reads it.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

SPARK, CASSANDRA, CLIENTS, BROWSER = "spark", "cassandra", "clients", "browser"

FIRST = (SPARK, CLIENTS, CASSANDRA, BROWSER)
"""Groups with the most work, which the processes take first. Cassandra is the third: on a new machine it is still
being downloaded when tests start, and the process that waits for it leaves the cores to the first two.
"""

ON_CASSANDRA = {"db": 0, "etl": 1}
"""Folders of tests that connect to Cassandra again and again, before those whose keyspaces stay: every connection reads
the schema of all keyspaces.
"""

KEY = "permanode/groups"


def group_of(item: pytest.Item) -> str:
    """Returns what runs in one process: tests on the shared Spark session, on Cassandra, of clients, in
    the browser; else a file.

    Tests that need both servers are in the group `spark`: a second Cassandra server starts several times as fast as a
    second Spark session warms up.
    """
    if on_spark(item):
        return SPARK
    for group in (CASSANDRA, CLIENTS, BROWSER):
        if item.get_closest_marker(group):
            return group
    return file_of(item.nodeid)


def on_spark(item: pytest.Item) -> bool:
    """Whether a test uses the shared Spark session: by itself, or because Spark fills its stores."""
    if "spark" in getattr(item, "fixturenames", ()):
        return True
    if item.get_closest_marker("loads") is None:
        return False
    callspec = getattr(item, "callspec", None)
    as_bulk = callspec is not None and callspec.params.get("everywhere") == "bulk"
    return as_bulk or item.config.getoption("--engine") == "spark"


def rank(item: pytest.Item) -> tuple[int, int]:
    """Returns the position of a test: groups with the most work, files that start a JVM of their own, all others."""
    group = group_of(item)
    if group not in FIRST:
        return len(FIRST), int(item.get_closest_marker("spark") is None)
    folder = item.nodeid.split("/")[1]
    return FIRST.index(group), ON_CASSANDRA.get(folder, len(ON_CASSANDRA)) if group == CASSANDRA else 0


def store_groups(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stores the groups of all tests that do not just run with the others of their file."""
    assert config.cache is not None
    found = {item.nodeid: group_of(item) for item in items}
    config.cache.set(KEY, {nodeid: group for nodeid, group in found.items() if group in FIRST})


class GroupScheduling(LoadScopeScheduling):
    """Hands out groups in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._groups: dict[str, str] | None = None

    def _split_scope(self, nodeid: str) -> str:
        # Read when the first test is scheduled: workers have collected by then.
        if self._groups is None:
            assert self.config.cache is not None
            self._groups = self.config.cache.get(KEY, {})
        return self._groups.get(nodeid) or file_of(nodeid)


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]
