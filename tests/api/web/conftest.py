"""A client of a server over all kinds of networks, for tests of pages. No HTTP: requests go to the application."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from cli.serving import make_app
from cli.settings import read
from tests.api.networks import fill_more_networks, fill_networks
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.reference import ORACLE

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
"""What browsers accept."""


@pytest.fixture(scope="session")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The application over the networks of tests.api.networks."""
    folder = tmp_path_factory.mktemp("explored")
    oracle = Oracle.read(ORACLE)
    config = fill_networks(folder, oracle, StardustLedger.read(), World())
    fill_more_networks(folder, oracle, config)
    app = make_app(read(config, {}, {}))
    yield app
    for each in app.networks.values():
        each.store.close()


@pytest_asyncio.fixture
async def pages(explored: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A browser's requests."""
    transport = httpx.ASGITransport(app=explored)
    async with httpx.AsyncClient(transport=transport, base_url="http://archive", headers=BROWSER) as client:
        yield client
