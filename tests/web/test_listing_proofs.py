"""A list of the explorer is checked in the browser: complete, with another key, with a row left out or added."""

import re

import pytest
from playwright.async_api import Route, expect

from tests.db.stored_listings import END
from tests.web.conftest import Open
from tests.web.proved import KEY, NETWORK, OTHER_KEY

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TAG = f"/{NETWORK}/tag/{b'turns'.hex()}"

RESULT, BUTTON, STEPS = "#verify-listing .result", "#verify-listing button", "#verify-listing ol li"


async def test_a_list_is_verified_in_the_browser(opened: Open) -> None:
    watched = await opened()
    await watched.goto(TAG)
    page = watched.page
    await expect(page.locator("#complete")).to_have_text(f"Complete to milestone {END:,}")
    assert await page.input_value("#verify-listing [name=key]") == KEY.verifier.text
    await page.click(BUTTON)
    await expect(page.locator(RESULT)).to_have_attribute("data-state", "valid")
    assert await page.locator(f"{STEPS}.bad").count() == 0
    assert await watched.problems() == []
    # Rows that were loaded later are not part of the proof, and do not make it invalid.
    await page.click("main .more a")
    await page.click(BUTTON)
    await expect(page.locator(RESULT)).to_have_attribute("data-state", "valid")


async def test_the_second_page_of_a_list_is_verified(opened: Open) -> None:
    watched = await opened()
    await watched.goto(TAG)
    following = await watched.page.locator("main a[href*='cursor=']").first.get_attribute("href")
    assert following is not None
    await watched.goto(following)
    await watched.page.click(BUTTON)
    await expect(watched.page.locator(RESULT)).to_have_attribute("data-state", "valid")


async def test_the_key_of_the_log_can_be_replaced(opened: Open) -> None:
    watched = await opened()
    await watched.goto(TAG)
    page = watched.page
    for key, state in (
        (OTHER_KEY.verifier.text, "invalid"),
        ("", "unknown"),
        ("abc", "invalid"),
        (KEY.verifier.text, "valid"),
    ):
        await page.fill("#verify-listing [name=key]", key)
        await page.click(BUTTON)
        await expect(page.locator(RESULT)).to_have_attribute("data-state", state)


ROW = re.compile(r"<tr data-row=.*?</tr>", re.DOTALL)


@pytest.mark.parametrize("change", ["remove", "alter"])
async def test_a_page_that_hides_or_adds_a_row_is_found(opened: Open, change: str) -> None:
    watched = await opened()

    async def tamper(route: Route) -> None:
        response = await route.fetch()
        body = await response.text()
        row = ROW.findall(body)[10]
        digits = row.split('"')[1]
        altered = "" if change == "remove" else row.replace(digits, digits[::-1])
        await route.fulfill(response=response, body=body.replace(row, altered))

    await watched.page.route(f"**{TAG}", tamper)
    await watched.goto(TAG)
    await watched.page.click(BUTTON)
    await expect(watched.page.locator(RESULT)).to_have_attribute("data-state", "invalid")
    steps = await watched.page.locator(f"{STEPS}.bad").all_inner_texts()
    missing, foreign = "The page leaves out 1 rows between those that it shows", "1 of the rows shown are in no proof"
    assert (any(missing in each for each in steps), any(foreign in each for each in steps)) == (True, change == "alter")


async def test_rows_that_are_not_proved_yet_are_not_valid(opened: Open) -> None:
    watched = await opened()
    await watched.goto(f"/{NETWORK}/tag/{b'hot'.hex()}")
    await watched.page.click(BUTTON)
    await expect(watched.page.locator(RESULT)).to_have_attribute("data-state", "none")


async def test_without_javascript_the_proof_is_a_file(opened: Open) -> None:
    watched = await opened(scripts=False)
    await watched.goto(TAG)
    page = watched.page
    assert not await page.locator("#verify-listing").is_visible()
    href = await page.locator(".listing-proof a[download]").get_attribute("href")
    assert href is not None
    assert (await page.request.get(href)).status == 200
