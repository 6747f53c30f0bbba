"""Which pages have the proof of their listing, and that the proof is about the rows of the page."""

import json
import re
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from html import unescape

import httpx
import pytest
import pytest_asyncio

from ledger.completeness.check import check_document
from ledger.crypto.bech32 import format_address
from tests.api.oracle import Oracle
from tests.api.proved import END, LEDGERS, Proved, served
from tests.api.stardust import StardustLedger
from tests.api.web.conftest import BROWSER


@pytest.fixture(scope="module", params=LEDGERS)
def proved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger
) -> Iterator[Proved]:
    with served(request.param, tmp_path_factory.mktemp("proved"), oracle, stardust) as found:
        yield found


@pytest_asyncio.fixture
async def browsed(proved: Proved) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=proved.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://archive", headers=BROWSER) as client:
        yield client


BOTH_ERAS = {
    "tag/{hex}": ["messages_by_tag"],
    "message/{hex}": ["messages_by_parent"],
    "address/{bech32}": ["ledger_updates_by_address"],
    "address/{bech32}?sort=oldest&start=5&end=30": ["ledger_updates_by_address"],
}
STARDUST = {
    "tag/{hex}?tab=basic": ["basic_outputs_by_tag"],
    "tag/{hex}?tab=nft": ["nft_outputs_by_tag"],
    "address/{bech32}?tab=outputs&role=sender": [
        "basic_outputs_by_sender", "alias_outputs_by_sender", "nft_outputs_by_sender",
    ],
    "alias/0x{hex}": ["alias_outputs_by_chain"],
    "foundry/0x{hex}": ["foundry_outputs_by_chain"],
    "nft/0x{hex}": ["nft_outputs_by_chain"],
}  # fmt: skip


def attribute(html: str, name: str) -> str:
    (found,) = re.findall(rf'id="verify-listing"[^>]* data-{name}="([^"]*)"', html)
    return unescape(found)


async def check_page(browsed: httpx.AsyncClient, proved: Proved, path: str, families: list[str]) -> int:
    rows_shown = 0
    for key in proved.keys(families[0]):
        text = path.format(hex=key.hex(), bech32=format_address(proved.hrp, key) if len(key) == 33 else "")
        response = await browsed.get(f"/{proved.network}/{text}", follow_redirects=True)
        if response.status_code == 404:
            # Parents before the genesis are in no archive.
            continue
        assert response.status_code == 200, response.text
        html = response.text
        shown = re.findall(r' data-row="([0-9a-f]+)"', html)
        assert f"/milestone/{END}" in html.partition('id="complete"')[2][:200]
        assert (attribute(html, "families").split(), attribute(html, "key")) == (families, key.hex())
        body = (await browsed.get(attribute(html, "proof"), headers={"accept": "application/json"})).json()
        answer = body.get("data", body)
        documents = answer["proofs"] if "proofs" in answer else [answer["proof"]]
        rows = [b64decode(row).hex() for each in documents for row in each["rows"]]
        for each in documents:
            written = json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode()
            assert check_document(written, proved.network, proved.head).failure is None
        milestones = re.findall(r' data-row="([0-9a-f]+)" data-milestone="(\d+)"', html)
        assert [
            row for row, index in milestones if 1 <= int(index) <= END and not any(row in each for each in rows)
        ] == []
        assert sum(any(row in each for row in shown) for each in rows) >= len(rows) - 2 * len(documents)
        downloads = re.findall(r'<a href="([^"]+)" download="[a-z_]+_by_[a-z_]+-[0-9a-f]*\.json"', html)
        assert len(downloads) == len(families)
        for url in downloads:
            document = await browsed.get(unescape(url), headers={"accept": "application/json"})
            assert check_document(document.content, proved.network, proved.head).is_valid
        rows_shown += len(shown)
    return rows_shown


@pytest.mark.thorough
@pytest.mark.parametrize(("path", "families"), BOTH_ERAS.items())
async def test_pages_prove_the_rows_that_they_show(
    browsed: httpx.AsyncClient, proved: Proved, path: str, families: list[str]
) -> None:
    assert await check_page(browsed, proved, path, families) > 3


@pytest.mark.thorough
@pytest.mark.parametrize(("path", "families"), STARDUST.items())
@pytest.mark.parametrize("proved", ["stardust"], indirect=True)
async def test_pages_of_stardust_prove_the_rows_that_they_show(
    browsed: httpx.AsyncClient, proved: Proved, path: str, families: list[str]
) -> None:
    assert await check_page(browsed, proved, path, families) > 1


async def test_lists_with_a_filter_have_no_proof(browsed: httpx.AsyncClient, proved: Proved) -> None:
    key = proved.keys("ledger_updates_by_address")[0]
    address = format_address(proved.hrp, key)
    for tab in ("outputs", "statement", "tokens", "nfts"):
        response = await browsed.get(f"/{proved.network}/address/{address}?tab={tab}")
        assert (response.status_code, "verify-listing" in response.text) == (200, False)
