"""Pages over Cassandra: one of each kind, without problems and without JavaScript."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser

from tests.api.networks import fill_networks
from tests.api.oracle import Oracle
from tests.api.processes import permanode_of
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.cassandra_server import CassandraServer
from tests.web.browser import WIDE, Programs, Watched, report
from tests.web.pages import pages

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def on_cassandra(
    cassandra: CassandraServer,
    tmp_path_factory: pytest.TempPathFactory,
    oracle: Oracle,
    stardust: StardustLedger,
    world: World,
) -> Iterator[str]:
    """The URL of a server whose three networks are keyspaces."""
    folder = tmp_path_factory.mktemp("on_cassandra")

    def place(name: str) -> str:
        return f"cassandra://{cassandra.contact}/web_{name}?rf=1"

    config = fill_networks(folder, oracle, stardust, world, url=place)
    with permanode_of(folder / "log", PERMANODE_CONFIG=str(config)) as url:
        yield url


async def test_pages_have_no_problems(
    on_cassandra: str, browser: Browser, programs: Programs, oracle: Oracle, stardust: StardustLedger, world: World
) -> None:
    watched = await Watched.open(browser, programs, on_cassandra, WIDE, "light", scripts=False)
    found = []
    for visited in pages(oracle, stardust, world):
        if visited.main and visited.path.split("/")[1] not in {"two-eras", "with-gaps"}:
            await watched.goto(visited.path)
            found.append((visited.path, await watched.problems(axe=False)))
    await watched.close()
    assert len(found) > 15
    assert not report(found), f"\n{report(found)}"
