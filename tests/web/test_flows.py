"""How people use the explorer: from a search to a proof and to the coverage, with a mouse, and with the keyboard only.

What the pages show is compared with the input files of the oracle ledgers.
"""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.api.networks import GAPS, MISSING
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.web.browser import NARROW, WIDE
from tests.web.conftest import Open

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@dataclass(frozen=True)
class Journey:
    """An address, an included transaction of its history, and an output of that, as the input files have them."""

    network: str
    address: str
    balance: int
    transaction: str
    output: str
    amount: int
    kind: str
    message: str
    milestone: int


def in_chrysalis(oracle: Oracle) -> Journey:
    account = oracle.expected["addresses"][1]
    event = next(each for each in oracle.histories[account["address"]] if each["ledgerInclusionState"] == "included")
    transaction = event["transactionId"]
    output = f"{transaction}0000"
    return Journey(
        oracle.expected["network"],
        account["bech32"],
        account["balance"],
        transaction,
        output,
        oracle.outputs[output]["output"]["amount"],
        "message",
        event["messageId"],
        event["referencedByMilestoneIndex"],
    )


def in_stardust(stardust: StardustLedger) -> Journey:
    account = next(
        each
        for each in stardust.expected["addresses"]
        if int(each["balance"]) and each["balance"] == each["basicBalance"]
    )
    owned = [key for key in account["owned"] if stardust.outputs[key]["metadata"]["milestoneIndexBooked"]]
    output = max(owned, key=lambda key: stardust.outputs[key]["metadata"]["milestoneIndexBooked"])
    metadata = stardust.outputs[output]["metadata"]
    return Journey(
        stardust.network,
        account["bech32"],
        int(account["balance"]),
        metadata["transactionId"],
        output,
        int(stardust.outputs[output]["output"]["amount"]),
        "block",
        metadata["blockId"],
        metadata["milestoneIndexBooked"],
    )


async def follow(page: Page, path: str) -> None:
    """Clicks a link to that path, or with 0x before the id, and waits for its page."""
    head, _, id_ = path.rpartition("/")
    await page.locator(f'main a[href="{path}"], main a[href="{head}/0x{id_}"]').first.click()
    await page.wait_for_url(re.compile(re.escape(path) + "$"))


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("era", ["chrysalis", "stardust"])
async def test_from_a_search_to_a_proof_and_the_coverage(
    opened: Open, width: int, era: str, oracle: Oracle, stardust: StardustLedger
) -> None:
    journey = in_chrysalis(oracle) if era == "chrysalis" else in_stardust(stardust)
    below = f"/{journey.network}"
    watched = await opened(width)
    await watched.goto("/")
    page = watched.page
    await page.fill("#search", journey.address)
    await page.click(f'#suggestions a[href="{below}/address/{journey.address}"]')
    await expect(page.locator(f'main data[value="{journey.balance}"]').first).to_be_visible()
    await follow(page, f"{below}/transaction/{journey.transaction}")
    await follow(page, f"{below}/output/{journey.output}")
    await expect(page.locator(f'main data[value="{journey.amount}"]').first).to_be_visible()
    await follow(page, f"{below}/{journey.kind}/{journey.message}")
    await page.click("#verify button")
    result = page.locator("#verify .result")
    await expect(result).to_have_attribute("data-state", re.compile("valid|unknown"))
    assert await page.locator("#verify ol li.good").count() >= 3
    assert await page.locator("#verify ol li.bad").count() == 0
    await follow(page, f"{below}/milestone/{journey.milestone}")
    await expect(page.locator("h1")).to_contain_text(str(journey.milestone))
    await page.click(f'nav a[href="{below}/coverage"]')
    await page.wait_for_url(f"**{below}/coverage")
    await expect(page.locator("h1")).to_contain_text("Coverage")
    assert await watched.problems(axe=False) == []


async def test_a_gap_is_found_from_the_home_page(opened: Open) -> None:
    watched = await opened()
    await watched.goto("/")
    page = watched.page
    await page.click(f'main a[href="/{GAPS}/coverage"]')
    text = await page.locator("main").inner_text()
    assert str(MISSING[0]) in text
    assert str(MISSING[-1]) in text


async def test_the_explorer_works_with_the_keyboard_only(opened: Open, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    watched = await opened()
    await watched.goto(f"/{network}")
    page = watched.page
    press = page.keyboard.press
    # The first stop leads to the content.
    await press("Tab")
    await expect(page.locator(".skip")).to_be_focused()
    await press("Enter")
    await expect(page.locator("#main")).to_be_focused()
    # Search, and choose the first suggestion.
    await press("/")
    await expect(page.locator("#search")).to_be_focused()
    message = oracle.milestones[9]["messages"][0]["id"]
    await page.keyboard.type(message[:16])
    first = page.locator("#suggestions a").first
    await expect(first).to_be_visible()
    await press("ArrowDown")
    await expect(first).to_be_focused()
    await press("ArrowUp")
    await expect(page.locator("#search")).to_be_focused()
    await press("Escape")
    await expect(first).to_be_hidden()
    await page.fill("#search", "10")
    await press("Enter")
    await page.wait_for_url("**/search?q=10")
    # From milestone to milestone, and home.
    await watched.goto(f"/{network}/milestone/10")
    await press("n")
    await page.wait_for_url(f"**/{network}/milestone/11")
    await press("p")
    await page.wait_for_url(f"**/{network}/milestone/10")
    await press("?")
    await expect(page.locator("#help")).to_be_visible()
    await press("Escape")
    await expect(page.locator("#help")).to_be_hidden()
    await press("h")
    await page.wait_for_url(re.compile(r"://[^/]+/$"))


async def test_every_stop_of_the_keyboard_is_visible(opened: Open, oracle: Oracle) -> None:
    watched = await opened()
    await watched.goto(f"/{oracle.expected['network']}/milestone/10")
    seen: list[Any] = []
    for _ in range(40):
        await watched.page.keyboard.press("Tab")
        stop = await watched.evaluate(
            "(() => { const each = document.activeElement, box = each.getBoundingClientRect();"
            " return [each.tagName, box.width > 0 && box.height > 0 && box.right > 0,"
            " getComputedStyle(each).outlineStyle]; })()"
        )
        if stop[0] == "BODY":
            break
        seen.append(stop)
    assert len(seen) > 10
    assert all(is_visible and outline != "none" for _, is_visible, outline in seen)
