"""A real server over the oracle ledger, for foreign clients that know nothing of this project.

Rules of this file: one `permanode serve`, on loopback, for all; what clients need is installed when a test first asks.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import filled_store
from tests.api.oracle import Oracle
from tests.api.processes import permanode
from tests.clients.installs import Node, install_node
from tests.reference import ORACLE


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    return Oracle.read(ORACLE)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Iterator[str]:
    """The base URL of a server whose only network is the oracle ledger's."""
    folder = tmp_path_factory.mktemp("served")
    filled_store(folder, oracle, 100_000, 100_000).close()
    with permanode(folder, oracle.expected["network"], folder / "log") as base:
        yield base


@pytest.fixture(scope="session")
def cache(pytestconfig: pytest.Config) -> Path:
    """Where installed programs stay from one run to the next."""
    assert pytestconfig.cache is not None
    return pytestconfig.cache.mkdir("clients")


@pytest.fixture(scope="session")
def node(cache: Path) -> Node:
    return install_node(cache)
