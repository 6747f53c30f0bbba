"""Native tokens and NFTs in explorer v2: whole bodies about every token and NFT of a generated ledger, in pages of
every size, compared with scans of its lines.
"""

import csv
import io
import json
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.explorer_v2 import token_responses as answers
from api.explorer_v2 import token_routes
from api.network import NetworkMount
from db.store import WritableStore
from ledger.crypto.bech32 import parse_address
from tests.api.asgi import ask
from tests.api.conftest import STORES, Filled, Some, filled_with, new_store
from tests.api.explorer_v2.test_explorer_v2 import UNKNOWN, body, rejected
from tests.api.http.test_work import CountingStore
from tests.api.token_ledger import COUNT, NETWORK, Json, reference, tokens

UNKNOWN_TOKEN = "0x08" + "ab" * 37
ADDRESSES = ("address", "owner", "previousOwner", "issuer")
TOKENS = sorted(tokens().foundries)
NFTS = sorted(tokens().nfts)
BUSIEST = max(TOKENS, key=lambda each: len(tokens().updates[each]))
BUSIEST_NFT = max(NFTS, key=lambda each: len(tokens().nfts[each]))


@pytest.fixture(scope="session", params=STORES)
def token_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, filled: Filled
) -> WritableStore:
    found = filled.get(("tokens", *request.param))
    if found is None:
        settings = new_store(request, tmp_path_factory, "tokens", NETWORK)
        found = filled_with(settings, reference(settings.chunk_size, settings.partition_size))
        filled["tokens", *request.param] = found
    return found


@pytest.fixture(scope="session")
def app(token_store: WritableStore) -> Any:
    return create_app({"generated": NetworkMount(token_store, NETWORK, "tst")}, "generated", ApiSettings())


def plain(item: Json) -> Json:
    """An item with serialized addresses."""
    return item | {name: parse_address(item[name])[1].hex() for name in ADDRESSES if item.get(name) is not None}


async def walk(client: httpx.AsyncClient, path: str, model: Any, page_size: int, **query: Any) -> list[Json]:
    """The items of all pages. Only pages of a filtered list may be short."""
    page = await body(client, path, model, pageSize=page_size, **query)
    found = list(page["items"])
    while page["cursor"] is not None:
        assert "spent" in query or len(page["items"]) == page_size
        page = await body(client, path, model, cursor=page["cursor"], **query)
        assert len(page["items"]) <= page_size
        found += page["items"]
        assert page["ledgerIndex"] == COUNT
    return [plain(each) for each in found]


LISTINGS = [
    ("outputs", {}, answers.OutputsOfToken, lambda token: tokens().outputs_of(token, "unspent")),
    ("outputs", {"spent": "any"}, answers.OutputsOfToken, lambda token: tokens().outputs_of(token, "any")),
    ("outputs", {"spent": "only"}, answers.OutputsOfToken, lambda token: tokens().outputs_of(token, "only")),
    ("supply", {}, answers.SupplyOfToken, lambda token: tokens().supply_of(token)),
    ("transfers", {}, answers.TransfersOfToken, lambda token: tokens().transfers_of(token)),
]


def test_the_ledger_has_what_is_tested() -> None:
    found = tokens()
    assert len([each for each in TOKENS if len(found.updates[each]) > 3]) > 5
    assert len(found.updates[BUSIEST]) >= 8
    assert any(each["isSpent"] for each in found.updates[BUSIEST])
    assert len(found.holders_of(BUSIEST)) > 1
    changed = [each for states in found.nfts.values() for each in states if each["previousOwner"]]
    assert {each["previousOwner"] == each["owner"] for each in changed} == {True, False}


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "query", "model", "wanted"), LISTINGS)
async def test_every_token(
    client: httpx.AsyncClient, some: Some[str], name: str, query: Json, model: Any, wanted: Any
) -> None:
    for token in some(TOKENS):
        path = f"native-tokens/{token}/{name}"
        assert await walk(client, path, model, 1000, **query) == wanted(token)[::-1]
        assert await walk(client, path, model, 1000, **query, sort="oldest") == wanted(token)


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", [1, 2, 3, 5])
@pytest.mark.parametrize(("name", "query", "model", "wanted"), LISTINGS)
async def test_pages_of_a_token(
    client: httpx.AsyncClient, name: str, query: Json, model: Any, wanted: Any, page_size: int
) -> None:
    for order in ("newest", "oldest"):
        found = await walk(client, f"native-tokens/{BUSIEST}/{name}", model, page_size, **query, sort=order)
        assert found == (wanted(BUSIEST) if order == "oldest" else wanted(BUSIEST)[::-1])


@pytest.mark.parametrize(("name", "query", "model", "wanted"), LISTINGS)
async def test_spans(client: httpx.AsyncClient, name: str, query: Json, model: Any, wanted: Any) -> None:
    whole = wanted(BUSIEST)
    first, last = whole[0]["milestoneIndex"], whole[-1]["milestoneIndex"]
    middle, path = whole[len(whole) // 2], f"native-tokens/{BUSIEST}/{name}"
    for start, end in ((first, middle["milestoneIndex"]), (middle["milestoneIndex"], last), (last + 1, COUNT)):
        inside = [each for each in whole if start <= each["milestoneIndex"] <= end]
        assert await walk(client, path, model, 1000, **query, sort="oldest", start=start, end=end) == inside
    since = middle["milestoneTimestamp"]
    later = [each for each in whole if each["milestoneTimestamp"] >= since]
    assert await walk(client, path, model, 1000, **query, sort="oldest", start=since) == later


async def test_the_holders_of_every_token(client: httpx.AsyncClient, some: Some[str]) -> None:
    for token in some(TOKENS):
        wanted = tokens().holders_of(token)
        path = f"native-tokens/{token}/holders"
        whole = await body(client, path, answers.HoldersOfToken)
        assert [plain(each) for each in whole.pop("items")] == wanted
        assert whole == {
            "tokenId": token,
            "holderCount": len(wanted),
            "totalAmount": hex(sum(int(each["amount"], 16) for each in wanted)),
            "cursor": None,
            "ledgerIndex": COUNT,
        }
    wanted = tokens().holders_of(BUSIEST)
    for page_size in range(1, len(wanted) + 2):
        found = await walk(client, f"native-tokens/{BUSIEST}/holders", answers.HoldersOfToken, page_size)
        assert found == wanted


async def test_a_list_of_holders_is_bounded(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    most = len(tokens().outputs_of(BUSIEST, "unspent"))
    path = f"native-tokens/{BUSIEST}/holders"
    monkeypatch.setattr(token_routes, "OUTPUTS_MAX", most)
    await body(client, path, answers.HoldersOfToken)
    monkeypatch.setattr(token_routes, "OUTPUTS_MAX", most - 1)
    assert f"more than {most - 1} unspent outputs" in await rejected(client, path, 501)


async def test_every_token_s_summary(client: httpx.AsyncClient, some: Some[str]) -> None:
    for token in some(TOKENS):
        newest = tokens().supply_of(token)[-1]
        assert await body(client, f"native-tokens/{token}", answers.NativeTokenAnswer) == {
            "tokenId": token,
            "aliasId": f"0x{token[4:68]}",
            "serialNumber": int.from_bytes(bytes.fromhex(token[68:76]), "little"),
            "metadata": f"0x{b'token'.hex()}",
            "foundry": newest,
            "ledgerIndex": COUNT,
        }


async def test_every_nft(client: httpx.AsyncClient, some: Some[str]) -> None:
    for an_nft in some(NFTS):
        wanted = tokens().states_of(an_nft)
        path = f"nfts/{an_nft}/transfers"
        assert await walk(client, path, answers.TransfersOfNft, 1000) == wanted[::-1]
        assert await walk(client, path, answers.TransfersOfNft, 1000, sort="oldest") == wanted
        summary = await body(client, f"nfts/{an_nft}", answers.NftAnswer)
        assert plain(summary["state"]) == wanted[-1]
        assert summary["isBurned"] == wanted[-1]["isSpent"]
        assert plain(summary)["owner"] == (None if wanted[-1]["isSpent"] else wanted[-1]["owner"])
        features = tokens().nfts[an_nft][-1]["output"].get("immutableFeatures", ())
        own = {each["type"]: each for each in features}
        assert summary["metadata"] == (own[2]["data"] if 2 in own else None)
        assert (summary["issuer"] is not None) == (1 in own)


@pytest.mark.parametrize("page_size", [1, 2, 3])
async def test_pages_of_an_nft(client: httpx.AsyncClient, page_size: int) -> None:
    wanted, path = tokens().states_of(BUSIEST_NFT), f"nfts/{BUSIEST_NFT}/transfers"
    assert len(wanted) > 5
    assert await walk(client, path, answers.TransfersOfNft, page_size) == wanted[::-1]
    assert await walk(client, path, answers.TransfersOfNft, page_size, sort="oldest") == wanted
    first, last = (wanted[at]["milestoneIndex"] for at in (2, -2))
    inside = [each for each in wanted if first <= each["milestoneIndex"] <= last]
    span = {"start": first, "end": last}
    assert await walk(client, path, answers.TransfersOfNft, page_size, sort="oldest", **span) == inside


async def test_exports_are_complete(client: httpx.AsyncClient) -> None:
    for path in (f"native-tokens/{BUSIEST}/{name}" for name in ("outputs", "supply", "transfers")):
        await check_exports(client, path)
    await check_exports(client, f"nfts/{BUSIEST_NFT}/transfers")


async def check_exports(client: httpx.AsyncClient, path: str) -> None:
    wanted = (await client.get(f"/api/explorer/v2/{path}")).json()["items"]
    assert len(wanted) > 1
    answer = await client.get(f"/api/explorer/v2/{path}?format=ndjson&pageSize=1")
    assert [json.loads(line) for line in answer.text.splitlines()] == wanted
    answer = await client.get(f"/api/explorer/v2/{path}", headers={"accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [list(row) for row in rows] == [list(each) for each in wanted]
    assert [row["outputId"] for row in rows] == [each["outputId"] for each in wanted]


async def test_unknown_and_malformed_ids(client: httpx.AsyncClient) -> None:
    for name in ("", "/outputs", "/outputs?spent=any", "/holders", "/supply", "/transfers"):
        assert UNKNOWN_TOKEN[2:] in await rejected(client, f"native-tokens/{UNKNOWN_TOKEN}{name}", 404)
        assert "tokenId" in await rejected(client, f"native-tokens/{UNKNOWN_TOKEN[:-2]}{name}", 400)
    for name in ("", "/transfers"):
        assert UNKNOWN[2:] in await rejected(client, f"nfts/{UNKNOWN}{name}", 404)
        assert "nftId" in await rejected(client, f"nfts/{UNKNOWN[:-1]}{name}", 400)


async def test_a_cursor_belongs_to_its_list(client: httpx.AsyncClient) -> None:
    other = next(each for each in TOKENS if each != BUSIEST)
    for name in ("outputs", "supply", "transfers", "holders"):
        answer = await client.get(f"/api/explorer/v2/native-tokens/{BUSIEST}/{name}", params={"pageSize": 1})
        cursor = answer.json()["cursor"]
        assert "cursor" in await rejected(client, f"native-tokens/{other}/{name}", 400, cursor=cursor)


async def test_the_work_of_a_page_is_bounded(token_store: WritableStore) -> None:
    """Except for holders, which have a bound of their own."""
    counting: Any = CountingStore(token_store)
    app = create_app({"generated": NetworkMount(counting, NETWORK, "tst")}, "generated", ApiSettings())
    listings: list[tuple[str, Json]] = [(f"native-tokens/{BUSIEST}/{name}", query) for name, query, _, _ in LISTINGS]
    listings += [(f"nfts/{BUSIEST_NFT}/transfers", query) for query in ({}, {"start": 1, "end": COUNT})]
    for path, query in listings:
        for page_size in (1, 3):
            requested: Json = query | {"pageSize": page_size}
            while requested:
                counting.rows = 0
                status, page = await ask(app, f"/api/explorer/v2/{path}", requested)
                assert status == 200, page
                # Hints and splits of a small range, and a few single rows beside those of the page.
                assert counting.rows <= 10 * page_size + 30, (path, requested, counting.rows)
                requested = query | {"cursor": page["cursor"]} if page["cursor"] else {}
