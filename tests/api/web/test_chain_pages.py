"""Pages of aliases, foundries and NFTs: displayed states, owners and supplies are those of the ledgers."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from html import unescape
from typing import Any

import httpx
import pytest
import pytest_asyncio

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings
from ledger.crypto.bech32 import format_address
from tests.api.conftest import GEOMETRIES, filled_with
from tests.api.stardust import StardustLedger
from tests.api.token_ledger import NETWORK, Json, nft_id, reference, tokens
from tests.api.web.conftest import BROWSER
from tests.api.web.stubs import shown_with
from tests.api.web.test_address_pages import rows_of, titles_of
from tests.api.web.test_explorer import text_of

HOSTILE = "<script>alert(1)</script>\"'"
BACKWARDS = "\u202egnp.exe"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server of a generated ledger with many foundries and NFTs."""
    settings = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('tokens')}", NETWORK, *GEOMETRIES["default"])
    store = filled_with(settings, reference(settings.chunk_size, settings.partition_size))
    yield create_app({"generated": NetworkMount(store, NETWORK, "tst")}, "generated", ApiSettings())
    store.close()


@pytest_asyncio.fixture
async def made(generated: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Pages of that server."""
    transport = httpx.ASGITransport(app=generated)
    async with httpx.AsyncClient(transport=transport, base_url="http://archive", headers=BROWSER) as client:
        yield client


async def listed(client: httpx.AsyncClient, url: str) -> tuple[list[str], list[list[str]]]:
    """Output ids and cells of all rows of a list, page by page."""
    seen, rows = [], []
    while url:
        page = (await client.get(url)).text
        body = page.partition('id="rows">')[2].partition("</tbody>")[0]
        seen += titles_of(body, "output")
        rows += rows_of(page)
        more = re.search(r'class="more".*?hx-get="([^"]*)"', page, re.DOTALL)
        url = unescape(more[1]) if more else ""
    return seen, rows


def bech32(address: str) -> str:
    return format_address("tst", bytes.fromhex(address))


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.thorough
async def test_supply_holders_and_transfers_of_every_token(made: httpx.AsyncClient) -> None:
    known = tokens()
    for token, states in known.foundries.items():
        path = f"/generated/foundry/{token}"
        seen, rows = await listed(made, path)
        assert seen == [each["outputId"] for each in reversed(states)]
        for row, state in zip(rows, reversed(states), strict=True):
            assert [number(row[2]), number(row[3])] == [int(state["mintedTokens"], 16), int(state["meltedTokens"], 16)]
            assert number(row[4]) == number(row[2]) - number(row[3])
        updates = known.updates[token]
        seen, rows = await listed(made, f"{path}?tab=transfers")
        assert sorted(zip(seen, (row[2] for row in rows), (number(row[3]) for row in rows), strict=True)) == sorted(
            (each["outputId"], "spent" if each["isSpent"] else "received", int(each["amount"], 16)) for each in updates
        )
        held = sum(int(each["amount"], 16) * (-1 if each["isSpent"] else 1) for each in updates)
        page = (await made.get(f"{path}?tab=holders")).text
        assert sum(number(row[1]) for row in rows_of(page)) == held


@pytest.mark.thorough
async def test_states_and_owners_of_every_nft(made: httpx.AsyncClient) -> None:
    for id_ in tokens().nfts:
        states = tokens().states_of(id_)
        seen, rows = await listed(made, f"/generated/nft/{id_}")
        assert seen == [each["outputId"] for each in reversed(states)]
        page = (await made.get(f"/generated/nft/{id_}")).text
        assert titles_of(page, "address")[0] == bech32(states[-1]["owner"])
        assert ("burned" in text_of(page)) == states[-1]["isSpent"]
        changed = [each["previousOwner"] not in {None, each["owner"]} for each in reversed(states)]
        assert [row[2] == "transferred" for row in rows] == changed


@pytest.mark.thorough
async def test_states_of_every_alias(pages: httpx.AsyncClient, stardust: StardustLedger) -> None:
    states: dict[str, list[tuple[int, str, Json]]] = {}
    for key, each in stardust.outputs.items():
        output = each["output"]
        if output["type"] == 4:
            id_ = nft_id({"nftId": output["aliasId"]}, key)
            states.setdefault(id_, []).append((output["stateIndex"], key, each))
    assert len(states) > 1
    for id_, found in states.items():
        path = f"/{stardust.network}/alias/{id_}"
        seen, rows = await listed(pages, path)
        assert sorted(seen) == sorted(key for _, key, _ in found)
        assert [number(row[2]) for row in rows] == sorted((index for index, _, _ in found), reverse=True)
        newest = next(each for _, key, each in found if key == seen[0])
        page = (await pages.get(path)).text
        assert ("destroyed" in text_of(page)) == newest["metadata"]["isSpent"]
        if not newest["metadata"]["isSpent"]:
            for condition in newest["output"]["unlockConditions"]:
                (name,) = condition["address"].keys() - {"type"}
                digits = f"{condition['address']['type']:02x}{condition['address'][name][2:]}"
                assert bech32(digits) in titles_of(page, "address")


async def test_metadata_is_text(pages: httpx.AsyncClient, stardust: StardustLedger) -> None:
    found = {nft_id(each["output"], key) for key, each in stardust.outputs.items() if each["output"]["type"] == 6}
    texts = [(await pages.get(f"/{stardust.network}/nft/{id_}")).text for id_ in sorted(found)]
    (page,) = (each for each in texts if "IRC27" in each)
    assert "<bdi>https://example.invalid/1.jpg</bdi>" in page
    assert not re.search(r'(?:src|href|data)="[^"]*example\.invalid', page)


@pytest.mark.parametrize("kind", ["alias", "nft", "foundry"])
async def test_unknown_objects(pages: httpx.AsyncClient, stardust: StardustLedger, kind: str) -> None:
    digits = "08" + "ab" * 32 + "0100000000" if kind == "foundry" else "ab" * 32
    page = await pages.get(f"/{stardust.network}/{kind}/0x{digits}")
    assert page.status_code == 404
    assert "is not in this archive" in text_of(page.text)
    url = f"/{stardust.network}/{kind}/{HOSTILE.replace('/', '')}"
    rejected = await pages.get(url, follow_redirects=True)
    assert rejected.status_code == 400
    assert "<script" not in rejected.text.partition("<main")[2]


@pytest.mark.parametrize("kind", ["alias", "nft", "foundry"])
async def test_other_spellings_of_an_id(pages: httpx.AsyncClient, stardust: StardustLedger, kind: str) -> None:
    for digits in ("AB" * 32, "ab" * 32, f"0x{'Ab' * 32}"):
        found = await pages.get(f"/{stardust.network}/{kind}/{digits}?tab=x")
        assert found.status_code == 302
        assert found.headers["location"] == f"/{stardust.network}/{kind}/0x{'ab' * 32}?tab=x"


STATE = {
    "outputId": "0x" + "12" * 34,
    "transactionId": "0x" + "12" * 32,
    "milestoneIndex": 5,
    "milestoneTimestamp": 1_664_553_650,
    "mintedTokens": hex(2**256 - 1),
    "meltedTokens": "0x0",
    "maximumSupply": hex(2**256 - 1),
    "circulatingSupply": hex(2**256 - 1),
    "isSpent": False,
}


def bodies_with(metadata: object) -> dict[str, Json]:
    """The JSON of a native token that has this metadata, and of two states of its foundry."""
    data = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    token = {
        "tokenId": "0x08" + "ab" * 32 + "0100000000",
        "aliasId": "0x" + "ab" * 32,
        "serialNumber": 1,
        "metadata": f"0x{data.hex()}",
        "foundry": STATE,
        "ledgerIndex": 9,
    }
    holders = {"holderCount": 1, "totalAmount": "0x1", "items": [], "cursor": None, "ledgerIndex": 9}
    return {"": token, "holders": holders, "supply": {"items": [STATE, STATE], "cursor": None}}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"name": HOSTILE, "symbol": HOSTILE, "decimals": 2}, True),
        ({HOSTILE: {"deep": [HOSTILE]}, "url": "javascript:alert(1)"}, True),
        ({"name": BACKWARDS, "symbol": "P", "decimals": 10**9}, True),
        ({"name": "x" * 100_000, "decimals": True, "symbol": 5}, True),
        ({"name": "\ud800", "symbol": "P", "decimals": -1}, True),
        ({str(number): number for number in range(5_000)}, True),
        ([HOSTILE], False),
        (b"{" * 50_000, False),
        (b"\xff\x00" + HOSTILE.encode(), False),
        (b"", False),
    ],
)
async def test_hostile_metadata(metadata: object, shown: bool) -> None:
    page = await shown_with(bodies_with(metadata), "/stub/foundry/0x08")
    main = page.partition("<main")[2].partition("</main>")[0]
    assert "<script" not in main
    assert not re.search(r"href=[\"']?javascript", main)
    assert ("Metadata as a whole" in main) == shown
    assert f"{2**256 - 1:,}".replace(",", "") in re.sub(r"[,.]", "", main)
    assert len(page) < 600_000
    if metadata == {"name": BACKWARDS, "symbol": "P", "decimals": 10**9}:
        # Text that runs from right to left stays in its field.
        assert f"<dd><bdi>{BACKWARDS}</bdi></dd>" in main
