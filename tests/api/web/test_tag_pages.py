"""Pages of tags: the messages and outputs of every tag of the oracle ledgers."""

import re
from html import unescape

import httpx
import pytest

from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.web.stubs import shown_with
from tests.api.web.test_address_pages import rows_of, titles_of
from tests.api.web.test_chain_pages import listed
from tests.api.web.test_explorer import HOSTILE, text_of

DAY_S = 86_400


async def test_all_messages_of_every_index(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    assert any(len(ids) > 25 for ids in oracle.tagged.values())
    for index, expected in oracle.tagged.items():
        url, seen = f"/{oracle.expected['network']}/tag/{index}", []
        while url:
            page = (await pages.get(url)).text
            seen += titles_of(page, "block")
            more = re.search(r'class="more".*?hx-get="([^"]*)"', page, re.DOTALL)
            url = unescape(more[1]) if more else ""
        assert seen == [f"0x{each}" for each in expected], index


async def test_all_outputs_of_every_tag(pages: httpx.AsyncClient, stardust: StardustLedger) -> None:
    expected: dict[tuple[str, str], set[str]] = {}
    for key, each in stardust.outputs.items():
        for feature in each["output"].get("features", ()):
            if feature["type"] == 3:
                kind = {3: "basic", 6: "nft"}[each["output"]["type"]]
                expected.setdefault((feature["tag"], kind), set()).add(key)
    assert {kind for _, kind in expected} == {"basic", "nft"}
    for (tag, kind), keys in expected.items():
        path = f"/{stardust.network}/tag/{tag.removeprefix('0x')}?tab={kind}"
        seen, rows = await listed(pages, path)
        assert sorted(seen) == sorted(keys)
        unspent = {key for key in keys if not stardust.outputs[key]["metadata"]["isSpent"]}
        assert {key for key, row in zip(seen, rows, strict=True) if row[3] == "unspent"} == unspent


async def test_a_text_leads_to_the_page_of_its_bytes(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    found = await pages.get(httpx.URL("http://archive").copy_with(path=f"/{network}/tag/grüße"))
    assert found.headers["location"] == f"/{network}/tag/{'grüße'.encode().hex()}"
    page = await pages.get(found.headers["location"])
    assert "grüße" in text_of(page.text)
    assert "No message in the milestones of this archive has this tag" in text_of(page.text)


async def test_other_spellings_of_a_tag(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    for text in ("0xab", "AB", "0xAb"):
        found = await pages.get(f"/{oracle.expected['network']}/tag/{text}?tab=nft")
        assert found.headers["location"] == f"/{oracle.expected['network']}/tag/ab?tab=nft"


async def test_hostile_tags_are_text(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    page = await pages.get(f"/{oracle.expected['network']}/tag/{HOSTILE.encode().hex()}")
    assert page.status_code == 200
    assert "<script" not in page.text.partition("<main")[2]
    assert "&lt;script&gt;alert(1)" in page.text


@pytest.mark.parametrize("digits", ["ab" * 65, "abc"])
async def test_what_no_tag_can_be(pages: httpx.AsyncClient, oracle: Oracle, digits: str) -> None:
    page = await pages.get(f"/{oracle.expected['network']}/tag/{digits}", follow_redirects=True)
    assert page.status_code == (400 if len(digits) > 128 else 200)


@pytest.mark.parametrize(("cursor", "note"), [(None, False), ("x.1000", True)])
async def test_messages_per_day(cursor: str | None, note: bool) -> None:
    first = 1_664_553_610
    times = [first + 3 * DAY_S, first + 3 * DAY_S - 5, first + 1, first, None]
    items = [
        {
            "blockId": f"0x{number:064x}",
            "milestoneIndex": None if time is None else number,
            "milestoneTimestamp": time,
            "ledgerInclusionState": None if time is None else "noTransaction",
        }
        for number, time in enumerate(times)
    ]
    page = await shown_with({"blocks": {"tag": "0xab", "items": items, "cursor": cursor}}, "/stub/tag/ab")
    midnight = first - first % DAY_S
    assert f'data-times="{",".join(str(midnight + each * DAY_S) for each in range(4))}"' in page
    assert 'value="2,0,0,2" data-name="Messages"' in page
    assert ("so the first day is not complete" in page) == note
    assert rows_of(page)[4][0] == "pending"


async def test_without_a_complete_interval_pages_claim_nothing(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    tag = next(iter(oracle.tagged))
    response = await pages.get(f"/{oracle.expected['network']}/tag/{tag}")
    assert (response.status_code, "Complete to milestone" in response.text) == (200, False)
