"""Pages of a ledger whose contents attack them: nothing runs, nothing is requested, nothing breaks the layout."""

import pytest

from api.web.page import View
from tests.web import hostile
from tests.web.browser import NARROW, SCHEMES, WIDE, report
from tests.web.conftest import Open
from tests.web.pages import kind_of

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def served() -> list[str]:
    """The pages of kinds that have a view."""
    return [each for each in hostile.paths() if isinstance(kind_of(f"/{hostile.NETWORK}{each}"), View)]


@pytest.mark.parametrize("width", [WIDE, NARROW])
async def test_hostile_contents_are_text(opened: Open, width: int) -> None:
    watched = await opened(width, SCHEMES[0])
    dialogs: list[str] = []
    watched.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    found = []
    for path in served():
        await watched.goto(f"/{hostile.NETWORK}{path}")
        is_new = await watched.has_new_elements()
        found.append((path, await watched.problems(axe=path.endswith("nfts") or (width == NARROW and is_new))))
        assert await watched.evaluate("window.hacked === undefined"), path
        links = await watched.evaluate("[...document.links].map((each) => each.protocol + each.host)")
        assert set(links) == {f"http:{watched.host}"}, path
        images = "[...document.querySelectorAll('img, iframe, object, embed, video')].map((each) => each.src)"
        assert all(each.startswith(watched.base) for each in await watched.evaluate(images)), path
    assert len(found) > 20
    assert not report(found), f"\n{report(found)}"
    assert dialogs == []


async def test_hostile_texts_are_shown(opened: Open) -> None:
    watched = await opened(scripts=False)
    shown = ""
    for path in served():
        await watched.goto(f"/{hostile.NETWORK}{path}")
        shown += (await watched.page.locator("main").text_content()) or ""
    for text in (hostile.SCRIPT, hostile.RIGHT_TO_LEFT, hostile.WORD, hostile.OTHER_HOST):
        assert text in shown
    assert f"{hostile.LARGEST_TOKENS:,}" in shown or str(hostile.LARGEST_TOKENS) in shown
