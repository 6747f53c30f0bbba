"""A real server over the oracle ledger, for external clients that know nothing of this project.

One `permanode serve` on loopback serves all tests. What a client needs is installed when a test first requests it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.networks import fill_networks
from tests.api.oracle import Oracle
from tests.api.processes import permanode_of
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.clients.drive import end_drivers
from tests.clients.installs import Node, install_node
from tests.clients.walks import Walk, walks
from tests.reference import ORACLE


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    return Oracle.read(ORACLE)


@pytest.fixture(scope="session")
def stardust() -> StardustLedger:
    return StardustLedger.read()


@pytest.fixture(scope="session")
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger, world: World
) -> Iterator[str]:
    """The base URL of a server with three networks: both oracle ledgers and Wormhole messages. The Chrysalis network is
    the default one.
    """
    folder = tmp_path_factory.mktemp("served")
    config = fill_networks(folder, oracle, stardust, world)
    with permanode_of(folder / "log", PERMANODE_CONFIG=str(config)) as base:
        yield base


@pytest.fixture(scope="session")
def of_iota(oracle: Oracle, stardust: StardustLedger) -> list[Walk]:
    """Calls of all operations and their aliases, for IOTA networks."""
    return [*walks(oracle, stardust)]


@pytest.fixture(scope="session", autouse=True)
def drivers() -> Iterator[None]:
    """Ends the drivers with the session."""
    yield
    end_drivers()


@pytest.fixture(scope="session")
def cache(pytestconfig: pytest.Config) -> Path:
    """The folder of installed programs, which later runs use again."""
    assert pytestconfig.cache is not None
    return pytestconfig.cache.mkdir("clients")


@pytest.fixture(scope="session")
def node(cache: Path) -> Node:
    return install_node(cache)
