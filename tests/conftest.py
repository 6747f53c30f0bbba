"""Paths of the test data, and the Cassandra server that the suites share.

Import them with `from tests.conftest import SHARED, needs_shared`.
"""

import atexit
import gc
import os
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest
from cassandra.cluster import Cluster
from httpx import create_ssl_context

from tests import scheduling
from tests.cassandra_keyspace import Keyspaces
from tests.cassandra_server import FORGETFUL, PATIENT, QUICK, CassandraServer, running, why_not

# The duration of an example depends on the machine, so Hypothesis has no deadline.
hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.register_profile("fast", deadline=None, max_examples=20)
hypothesis.settings.load_profile("house")

ROOT = Path(__file__).parent.parent

SHARED = ROOT.parent / "shared" / "data"
"""The full data set, if it is beside the repository. Other implementations made everything in it."""

SAMPLE = ROOT / "sample" / "chrysalis"
"""The part of the data set in the repository."""

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the full data set is not at {SHARED}")
"""For tests that the shipped sample and vectors are not sufficient for; `-ra` prints each skip."""


T = TypeVar("T")

GC_THRESHOLD = (20_000, 10, 10)
"""Gain: the collector used 17 s of 166 s of CPU time of tests that create many applications, and uses 9 s."""

HEAP = "2g"
"""Memory of the session's server, which has keyspaces for each suite. With 512 MB it crashed during a run."""


def some_of(cases: Iterable[T]) -> list[T]:
    """The cases of a test that checks them in a loop. AssertionError without any: then it would check nothing."""
    found = list(cases)
    assert found, "no case"
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", choices=["sail", "spark"], default="sail", help="engine of tests that only need loaded stores"
    )


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary files of this process and of those that it starts are in pytest's folder of the session, which pytest
    deletes later. A process that is killed leaves some.
    """
    folder = str(tmp_path_factory.mktemp("tmp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr("tempfile.tempdir", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def tls_context() -> Iterator[None]:
    """HTTP clients of this process share a TLS context. Otherwise each reads the certificates of all authorities, which
    takes 17 ms.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", cache(create_ssl_context))
        yield


@pytest.fixture(scope="session")
def cassandra_runs() -> None:
    """For tests with a server. CI requires one; on other machines without Java 17 they are skipped."""
    reason = why_not()
    if reason is not None:
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(f"NOTHING IS TESTED ON CASSANDRA: {reason}")


@pytest.fixture(scope="session")
def cassandra(cassandra_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraServer]:
    """A Cassandra server for the whole session, started when the first test requests it."""
    folder = tmp_path_factory.mktemp("cassandra")
    # Otherwise each connection reads the schema of all keyspaces (0.2 s of CPU time with 14 of them), and again when
    # another test creates a table. The driver needs it to choose among several nodes only.
    with (
        running(CassandraServer(folder, heap=HEAP, java_options=(*QUICK, FORGETFUL), timeouts=PATIENT)) as server,
        pytest.MonkeyPatch.context() as patch,
    ):

        def connect(addresses: Sequence[str], **options: Any) -> Any:
            if options["port"] == server.ports.native:
                options |= {"schema_event_refresh_window": -1, "schema_metadata_enabled": False}
            return Cluster(addresses, **options)

        patch.setattr("db.cassandra.session.Cluster", connect)
        yield server


@pytest.fixture(scope="session")
def keyspaces(cassandra: CassandraServer) -> Iterator[Keyspaces]:
    """Empty stores on that server."""
    with Keyspaces(cassandra) as lending:
        yield lending


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Keeps the garbage collector from what the session needs to its end: modules and tests, millions of objects.

    Gain: collecting tests/api takes 9 s instead of 14 s, and later collections look at the objects of tests only.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLD)
        # The interpreter frees them when it ends, because extension modules report what is left.
        atexit.register(gc.unfreeze)


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers with a new seed, which the report of a failed test contains."""
    seed = random.randrange(2**32)
    request.node.add_report_section("setup", "seed", str(seed))
    return random.Random(seed)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks tests that need Cassandra or Spark, and sorts tests by group, the longest group first."""
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
    """`--dist=loadscope` distributes groups; other values keep their meaning in xdist."""
    return scheduling.GroupScheduling(config, log) if config.getvalue("dist") == "loadscope" else None


def installed(program: str) -> str:
    """The path of a program. CI requires it; on other machines without it the test is skipped."""
    found = shutil.which(program)
    if found is None:
        if "CI" in os.environ:
            pytest.fail(f"{program} is not installed")
        pytest.skip(f"NOTHING IS CHECKED BY {program}, which is not installed")
    return found
