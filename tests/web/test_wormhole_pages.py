"""Pages of a Wormhole network, without JavaScript, compared with the records of its messages."""

from collections import Counter

import pytest
from playwright.async_api import Page

from tests.api.wormhole_network import NETWORK, UNSIGNED, Message, World
from tests.web.browser import Watched
from tests.web.conftest import Open

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SIGNED = ".guardians li.signed .soft"


def of_every_kind(world: World) -> list[Message]:
    """A verified message of each kind of payload."""
    found: dict[str, Message] = {}
    for each in world.verified:
        found.setdefault(each.served["payload_kind"], each)
    assert len(found) > 8
    return list(found.values())


async def texts(page: Page, selector: str) -> list[str]:
    return [each.strip() for each in await page.locator(selector).all_inner_texts()]


async def opened_page(opened: Open, path: str) -> Page:
    watched: Watched = await opened(scripts=False)
    await watched.goto(f"/{NETWORK}{path}")
    return watched.page


async def test_a_vaa_shows_who_signed_and_its_payload(opened: Open, world: World) -> None:
    watched = await opened(scripts=False)
    for message in of_every_kind(world):
        record = message.served
        await watched.goto(f"/{NETWORK}/vaa/{record['message_id']}")
        page = watched.page
        signers = {each["index"] for own in message.observed for each in own.record["signers"]}
        assert {int(each) for each in await texts(page, SIGNED)} >= {each["index"] for each in record["signers"]}
        assert {int(each) for each in await texts(page, SIGNED)} <= signers
        text = await page.inner_text("main")
        assert record["digest"] in text
        assert f"{record['num_signatures']} valid signatures" in text
        for name in ("amount", "to_address", "token_address", "token_id"):
            if name in (record["decoded"] or {}):
                assert str(record["decoded"][name]) in text, (record["message_id"], name)
        dump = (await page.locator("details pre").last.text_content()) or ""
        rows = "".join(line[8:55].replace(" ", "") for line in dump.splitlines())
        assert rows == record["hex"]


async def test_a_message_without_a_quorum_says_so(opened: Open, world: World) -> None:
    unverified = next(each.served for each in world.canonical.values() if not each.served["quorum"])
    page = await opened_page(opened, f"/vaa/{unverified['message_id']}")
    assert "No body of this message has valid signatures of a quorum" in await page.inner_text("main")
    assert await page.locator(".badge.good").count() == 0
    chain, emitter, sequence = UNSIGNED.split(":")
    page = await opened_page(opened, f"/vaa/{chain}/{emitter}/{int(sequence)}")
    assert "A guardian published this message" in await page.inner_text("main")


async def test_an_operation_shows_both_sides(opened: Open, world: World) -> None:
    watched = await opened(scripts=False)
    for message in world.transfers[::5]:
        record = message.served
        await watched.goto(f"/{NETWORK}/operation/{record['message_id']}")
        source = await watched.page.inner_text("section[aria-labelledby=source]")
        target = await watched.page.inner_text("section[aria-labelledby=target]")
        assert f"Source: {record['emitter_chain_name']} ({record['emitter_chain']})" in source
        assert f"({record['decoded']['to_chain']})" in target
        assert f"({record['decoded']['amount']} in the message)" in target
        amount = world.amount(message)
        if amount is not None:
            assert f"{amount:,f}".rstrip("0").rstrip(".") in target
        assert ((message.tx_id or "none").removeprefix("0x") in source) == (message.tx_id is not None)


async def test_an_emitter_lists_its_messages_and_gaps(opened: Open, world: World) -> None:
    counts = Counter((each.served["emitter_chain"], each.served["emitter_address"]) for each in world.verified)
    (chain, emitter), count = counts.most_common(3)[-1]
    assert 1 < count <= 25
    page = await opened_page(opened, f"/emitter/{chain}/{emitter}")
    sequences = [
        each.served["sequence"]
        for each in world.verified
        if (each.served["emitter_chain"], each.served["emitter_address"]) == (chain, emitter)
    ]
    assert {int(each.replace(",", "")) for each in await texts(page, "#messages a")} == set(sequences)
    missing = {
        sequence
        for first, last, _ in [
            [int(text.replace(",", "")) for text in await row.locator("td").all_inner_texts()]
            for row in await page.locator("#gap-rows tr").all()
        ]
        for sequence in (first, last)
    }
    assert not missing & set(sequences)
    assert min(missing, default=min(sequences)) >= min(sequences)


async def test_the_overview_counts_transfers_by_their_chains(opened: Open, world: World) -> None:
    page = await opened_page(opened, "?span=all-time")
    pairs = Counter((each.served["emitter_chain"], each.served["decoded"]["to_chain"]) for each in world.transfers)
    shown = [int(each.split()[-1]) for each in await texts(page, "table.names td:nth-child(3)")]
    assert shown == sorted(pairs.values(), reverse=True)[: len(shown)]
    assert len(shown) == min(20, len(pairs))
    first = await page.locator("#operations a").first.get_attribute("href")
    assert first == f"/{NETWORK}/operation/{world.verified[0].served['message_id']}"


async def test_the_coverage_has_the_days_of_verified_messages(opened: Open, world: World) -> None:
    page = await opened_page(opened, "/coverage")
    days = {each.day for each in world.verified if each.day}
    assert f"{len(world.verified)} verified messages of {len(days)} days" in await page.inner_text("main")


async def test_the_transaction_of_another_chain_lists_its_operations(opened: Open, world: World) -> None:
    message = next(each for each in world.verified if each.tx_id)
    page = await opened_page(opened, f"/transaction/{message.tx_id}")
    links = [await each.get_attribute("href") for each in await page.locator("#operations a").all()]
    assert links == [f"/{NETWORK}/operation/{message.served['message_id']}"]


async def test_lists_continue_without_javascript(opened: Open, world: World) -> None:
    page = await opened_page(opened, "/operations")
    found: list[str] = []
    while True:
        found += [(await each.get_attribute("href")) or "" for each in await page.locator("#operations a").all()]
        if not await page.locator(".more a").count():
            break
        await page.click(".more a")
    expected = [
        f"/{NETWORK}/operation/{each.served['message_id']}"
        for each in world.verified
        if each.served["emitter_chain"] != 26
    ]
    assert found == expected
