"""Where the test data is, and the server that the suites share. `from tests.conftest import SHARED, needs_shared`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import scheduling
from tests.cassandra_server import FORGETFUL, QUICK, CassandraServer, running, why_not

# How long an example takes says something about the machine, not about the code.
hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.register_profile("fast", deadline=None, max_examples=20)
hypothesis.settings.load_profile("house")

ROOT = Path(__file__).parent.parent

SHARED = ROOT.parent / "shared" / "data"
"""The full data set, where it stands beside the repository; everything in it was made by other implementations."""

SAMPLE = ROOT / "sample" / "chrysalis"
"""What the repository ships of it."""

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the full data set is not at {SHARED}")
"""For tests that the shipped sample and vectors cannot feed; `-ra` prints each skip."""


HEAP = "2g"
"""Of the session's server, where each suite has keyspaces of its own: in 512 MB it ended in the middle of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", choices=["sail", "spark"], default="sail", help="engine of tests that only need loaded stores"
    )


@pytest.fixture(scope="session")
def cassandra_runs() -> None:
    """For tests with a server: in CI there must be one, at a desk without Java 17 they are skipped."""
    reason = why_not()
    if reason is not None:
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(f"NOTHING IS TESTED ON CASSANDRA: {reason}")


@pytest.fixture(scope="session")
def cassandra(cassandra_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraServer]:
    """A Cassandra server for the whole session, started when the first test asks for it."""
    folder = tmp_path_factory.mktemp("cassandra")
    with running(CassandraServer(folder, heap=HEAP, java_options=(*QUICK, FORGETFUL))) as server:
        yield server


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks tests that need Cassandra or Spark, and puts tests of one group together, the longest group first."""
    for item in items:
        if "cassandra_runs" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cassandra)
        if scheduling.on_spark(item):
            item.add_marker(pytest.mark.spark)
    yield
    items.sort(key=scheduling.rank)
    if hasattr(config, "workerinput"):
        scheduling.store_groups(config, items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.GroupScheduling | None:
    """`--dist=loadscope` shares out groups; other values mean what they mean to xdist."""
    return scheduling.GroupScheduling(config, log) if config.getvalue("dist") == "loadscope" else None
