"""Every page of the explorer at two widths and in both colour schemes: no problems.

Further pages of a kind are opened narrow and light only. Rules of accessibility are checked of light pages, and the
colours of wide dark ones; of further pages, if they have elements that no page before had.
"""

import pytest

from api.web.views import VIEWS
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.web.browser import NARROW, WIDE, Scheme, report
from tests.web.conftest import Open
from tests.web.pages import Visited, kind_of, pages

pytestmark = pytest.mark.browser

OF_OTHERS = Visited("/docs", main=True)
"""Swagger UI, whose page violates rules of accessibility."""

OF_FURTHER = (NARROW, "light")
"""The view of further pages."""

WITHOUT_RULES = (NARROW, "dark")
"""The view whose pages have the contents of another one, and the colours of a third."""


NOT_PAGES = (".svg", "/raw", "/suggestions")
"""Ends of paths of files and parts of pages."""


def test_every_kind_of_page_is_among_them(oracle: Oracle, stardust: StardustLedger, world: World) -> None:
    opened = {kind_of(each.path) for each in pages(oracle, stardust, world) if each.main}
    assert [each.path for each in VIEWS if each not in opened and not each.path.endswith(NOT_PAGES)] == []


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (WIDE, "light"),
        (WIDE, "dark"),
        (NARROW, "light"),
        pytest.param(*WITHOUT_RULES, marks=pytest.mark.slow),
    ],
)
async def test_no_page_has_problems(
    opened: Open, width: int, scheme: Scheme, oracle: Oracle, stardust: StardustLedger, world: World
) -> None:
    page = await opened(width, scheme)
    found = []
    for visited in (OF_OTHERS, *pages(oracle, stardust, world)):
        if visited.main or (width, scheme) == OF_FURTHER:
            await page.goto(visited.path, visited.status)
            with_rules = visited != OF_OTHERS and (width, scheme) != WITHOUT_RULES
            is_new = await page.has_new_elements() or visited.main
            found.append((visited.path, await page.problems(axe=with_rules and is_new)))
    assert len(found) > 10
    assert not report(found), f"\n{report(found)}"
