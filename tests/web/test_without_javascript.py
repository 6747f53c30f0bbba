"""Every kind of page has the same contents without JavaScript."""

import re

import pytest

from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.web.conftest import Open
from tests.web.pages import pages

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSING = re.compile(r"\d+ (second|minute|hour|day|month|year)s?")
"""Ages, which change between two visits."""

CONTENT = """
(main) => {
    const copy = main.cloneNode(true);
    copy.querySelectorAll("button, .plot, .uplot, [hidden], .verify").forEach((each) => each.remove());
    return copy.textContent;
}
"""
"""The text of a page without what only scripts use."""


def words(text: str) -> list[str]:
    return PASSING.sub("", text).split()


async def test_pages_have_the_same_contents(
    opened: Open, oracle: Oracle, stardust: StardustLedger, world: World
) -> None:
    scripted, plain = await opened(), await opened(scripts=False)
    for visited in pages(oracle, stardust, world):
        if not visited.main:
            continue
        await scripted.goto(visited.path)
        await plain.goto(visited.path)
        expected = words(await scripted.page.locator("main").evaluate(CONTENT))
        assert await plain.problems(axe=False) == await scripted.problems(axe=False) == []
        found = words(await plain.page.locator("main").evaluate(CONTENT))
        assert found == expected, visited.path
        assert len(found) > 5, visited.path


async def test_the_search_is_a_form(opened: Open, oracle: Oracle) -> None:
    page = (await opened(scripts=False)).page
    await page.goto("/")
    await page.fill("#search", oracle.milestones[4]["messages"][0]["id"])
    await page.click(".search button")
    link = f"/{oracle.expected['network']}/message/{oracle.milestones[4]['messages'][0]['id']}"
    assert page.url.endswith(link) or await page.locator(f'main a[href="{link}"]').count() == 1
