"""/docs at two widths: no table is wider than the page."""

import pytest

from tests.web.browser import NARROW, SCHEMES, WIDE
from tests.web.conftest import Open

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CUT_OFF = """[...document.querySelectorAll(".renderedMarkdown table")].map(
    (each) => [each.querySelectorAll("tbody tr").length, each.scrollWidth > each.clientWidth])"""
"""For each table of a description: the number of its rows, and whether a part of it is outside its box."""


@pytest.mark.parametrize("width", [WIDE, NARROW])
async def test_no_table_is_cut_off(opened: Open, width: int) -> None:
    page = await opened(width, SCHEMES[0])
    await page.goto("/docs")
    await page.page.wait_for_selector(".opblock-tag")
    assert await page.evaluate(CUT_OFF) == [[8, False]]
    assert await page.problems(axe=False) == []
