"""The API page: each of its examples has an answer, and its ids are of the network."""

import re
from html import unescape

import httpx
import pytest

from tests.api.networks import GAPS, TWO_ERAS
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.api.wormhole_network import World

CHRYSALIS, STARDUST = "permatest-1", "permatest-2"

NO_LOG = "a transparency log of"

UNKNOWN = {
    STARDUST: (NO_LOG,),
    GAPS: (NO_LOG, "the ledger state is not known", "an analysis of"),
    TWO_ERAS: (NO_LOG, "unknown protocol parameters"),
}
"""What the archive of a network does not know, in errors of operations that need it."""


async def examples(pages: httpx.AsyncClient, network: str) -> list[str]:
    """The URLs of the page's curl commands."""
    page = await pages.get(f"/{network}/api")
    assert page.status_code == 200, page.text
    return [unescape(each) for each in re.findall(r"<code>curl -s '([^<]*)'</code>", page.text)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("network", "least"), [(CHRYSALIS, 60), (STARDUST, 75), (TWO_ERAS, 80), (GAPS, 20), (WORMHOLE, 45)]
)
async def test_each_example_has_an_answer(pages: httpx.AsyncClient, network: str, least: int) -> None:
    found = await examples(pages, network)
    assert len(found) >= least
    for url in found:
        assert url.startswith("http://archive/api/")
        answer = await pages.get(url, headers={"accept": "application/json"})
        if not any(each in answer.text for each in UNKNOWN.get(network, ())):
            assert answer.status_code == 200, f"{url}: {answer.status_code} {answer.text[:200]}"


@pytest.mark.thorough
async def test_ids_are_of_the_network(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger, world: World
) -> None:
    chrysalis = " ".join(await examples(pages, CHRYSALIS))
    assert set(re.findall(r"/messages/([0-9a-f]{64})", chrysalis)) <= oracle.by_id.keys()
    assert set(re.findall(r"/outputs/([0-9a-f]{68})", chrysalis)) <= oracle.outputs.keys()
    blocks = set(re.findall(r"/blocks/(0x[0-9a-f]{64})", " ".join(await examples(pages, STARDUST))))
    assert blocks
    assert blocks <= stardust.by_id.keys()
    ids = set(re.findall(r"/vaas/(\d+/[0-9a-f]+/\d+)", " ".join(await examples(pages, WORMHOLE))))
    assert ids == {world.transfers[0].served["message_id"]}


async def test_a_network_of_one_era_has_no_examples_of_the_other(pages: httpx.AsyncClient) -> None:
    assert not [each for each in await examples(pages, CHRYSALIS) if "/core/v2/" in each]
    assert not [each for each in await examples(pages, STARDUST) if re.search(r"permatest-2/messages", each)]
    both = await examples(pages, TWO_ERAS)
    assert [each for each in both if "/core/v2/blocks/" in each]
    assert [each for each in both if f"{TWO_ERAS}/messages/" in each]
