"""Every page of the explorer at two widths and in both colour schemes: no problems."""

import pytest

from tests.web.browser import NARROW, SCHEMES, WIDE, Scheme, report
from tests.web.conftest import Open

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OF_OTHERS = {"/docs"}
"""Pages of other projects: Swagger UI violates rules of accessibility."""


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [WIDE, NARROW])
async def test_a_page_has_no_problems(opened: Open, width: int, scheme: Scheme) -> None:
    page = await opened(width, scheme)
    found = []
    for path in ["/docs"]:
        await page.goto(path)
        found.append((path, await page.problems(axe=path not in OF_OTHERS)))
    assert not report(found), f"\n{report(found)}"
