"""One server over stores of all networks, and one browser, for tests of the web explorer.

The server is `permanode serve` in a process of its own. All tests and fixtures that use the browser run in the event
loop of the session.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeAlias

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.api.networks import fill_more_networks, fill_networks
from tests.api.oracle import Oracle
from tests.api.processes import permanode_of
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.reference import ORACLE
from tests.web.browser import SCHEMES, STEP_MS, WIDE, Programs, Scheme, Watched, install_browser, launched, why_not
from tests.web.hostile import fill_hostile
from tests.web.proved import fill_proved

Open: TypeAlias = Callable[..., Awaitable[Watched]]
"""Opens a page: width, scheme; `scripts=False` without JavaScript."""


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
def base(
    tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger, world: World
) -> Iterator[str]:
    """The URL of a server with the networks of tests.api.networks, and one with hostile contents."""
    folder = tmp_path_factory.mktemp("served")
    config = fill_networks(folder, oracle, stardust, world)
    fill_more_networks(folder, oracle, config)
    fill_hostile(folder, oracle, config)
    fill_proved(folder, config)
    with permanode_of(folder / "log", PERMANODE_CONFIG=str(config)) as url:
        yield url


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> Programs:
    """The installed browser. CI requires it; on other kinds of machines the tests are skipped."""
    reason = why_not()
    if reason is not None:
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(f"NOTHING IS TESTED IN A BROWSER: {reason}")
    assert pytestconfig.cache is not None
    return install_browser(pytestconfig.cache.mkdir("clients"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(programs: Programs) -> AsyncIterator[Browser]:
    expect.set_options(timeout=STEP_MS)
    async with launched(programs) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def opened(browser: Browser, programs: Programs, base: str) -> AsyncIterator[Open]:
    """Opens pages, which are closed after the test."""
    pages: list[Watched] = []

    async def open_page(width: int = WIDE, scheme: Scheme = SCHEMES[0], *, scripts: bool = True) -> Watched:
        pages.append(await Watched.open(browser, programs, base, width, scheme, scripts=scripts))
        return pages[-1]

    yield open_page
    for page in pages:
        await page.close()
