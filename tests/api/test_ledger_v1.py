"""The ledger state as old clients ask for it, answer by answer, against the oracle ledger's expectations."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api import responses_v1_ledger as responses
from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from db.migrate import migrate
from tests.api.oracle import Oracle
from tests.api.test_node_v1 import data
from tests.reference import reference_rows, write

UNPAID = "ab" * 32


async def test_every_balance_by_both_spellings(client: httpx.AsyncClient, oracle: Oracle) -> None:
    assert len(oracle.expected["addresses"]) > 10
    for address in oracle.expected["addresses"]:
        expected = {
            "addressType": 0,
            "address": address["address"],
            "balance": address["balance"],
            "dustAllowed": address["dustAllowed"],
            "ledgerIndex": 50,
        }
        for spelled in (address["bech32"], f"ed25519/{address['address']}"):
            assert await data(client, f"/api/v1/addresses/{spelled}", responses.BalanceResponse) == expected


async def test_an_address_that_was_never_paid_owns_nothing(client: httpx.AsyncClient) -> None:
    found = await data(client, f"/api/v1/addresses/ed25519/{UNPAID}", responses.BalanceResponse)
    assert found == {"addressType": 0, "address": UNPAID, "balance": 0, "dustAllowed": False, "ledgerIndex": 50}


async def test_utxo_changes_of_every_milestone_in_order(client: httpx.AsyncClient, oracle: Oracle) -> None:
    for line in oracle.milestones:
        index = line["milestone"]["index"]
        found = await data(client, f"/api/v1/milestones/{index}/utxo-changes", responses.UtxoChangesResponse)
        assert found == line["milestone"]["utxoChanges"]


@pytest.mark.parametrize("index", [0, 51])
async def test_utxo_changes_begin_after_genesis(client: httpx.AsyncClient, index: int) -> None:
    answer = await client.get(f"/api/v1/milestones/{index}/utxo-changes")
    assert answer.status_code == 404
    assert f"milestone {index}" in answer.json()["error"]["message"]


async def test_the_treasury(client: httpx.AsyncClient, oracle: Oracle) -> None:
    assert await data(client, "/api/v1/treasury", responses.TreasuryResponse) == oracle.expected["treasury"]


async def test_receipts_and_their_pages(client: httpx.AsyncClient, oracle: Oracle) -> None:
    expected = oracle.expected["receipts"]
    assert len(expected) > 2
    found = await data(client, "/api/v1/receipts", responses.ReceiptsResponse)
    assert found == {"receipts": expected, "state": None}
    pages, state = [], None
    while True:
        question = "page_size=1" + (f"&state={state}" if state else "")
        page = await data(client, f"/api/v1/receipts?{question}", responses.ReceiptsResponse)
        pages.append(page["receipts"])
        state = page["state"]
        if state is None:
            break
    assert pages == [[each] for each in expected]


@pytest.mark.parametrize(
    ("method", "path", "reason"),
    [
        ("GET", "tips", "no tips"),
        ("GET", "peers", "no peers"),
        ("POST", "messages", "send them to a node"),
    ],
)
async def test_what_only_a_node_has_is_501(client: httpx.AsyncClient, method: str, path: str, reason: str) -> None:
    answer = await client.request(method, f"/api/v1/{path}")
    assert answer.status_code == 501
    assert reason in answer.json()["error"]["message"]


@pytest.fixture(scope="module")
def without_genesis(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An API over the milestones alone."""
    settings = StoreSettings(
        url=f"sqlite:///{tmp_path_factory.mktemp('milestones')}", network=oracle.expected["network"]
    )
    migrate(settings)
    store = open_store(settings, writable=True)
    write(store, reference_rows(oracle.milestones, [], 100_000, 100_000, settings.network))
    mount = NetworkMount(store, settings.network, "atoi")
    yield create_app({"testing": mount}, "testing", ApiSettings())
    store.close()


@pytest.mark.parametrize("path", [f"addresses/ed25519/{UNPAID}", "milestones/1/utxo-changes", "treasury"])
async def test_without_genesis_the_ledger_is_501_never_0(without_genesis: Any, path: str) -> None:
    transport = httpx.ASGITransport(app=without_genesis)
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        answer = await client.get(f"/api/v1/{path}")
        assert answer.status_code == 501
        assert "load --genesis" in answer.json()["error"]["message"]


async def test_without_genesis_what_the_milestones_tell_is_answered(without_genesis: Any, oracle: Oracle) -> None:
    transport = httpx.ASGITransport(app=without_genesis)
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        receipts = await data(client, "/api/v1/receipts", responses.ReceiptsResponse)
        assert receipts["receipts"] == oracle.expected["receipts"]
        migrated = oracle.expected["receipts"][0]["milestoneIndex"]
        milestone_id = oracle.expected["milestoneIds"][migrated - 1]["milestoneId"]
        answer = await client.get(f"/api/v1/outputs/{milestone_id}0000")
        assert answer.json() == {"data": oracle.outputs[f"{milestone_id}0000"]}


async def test_a_balance_of_another_network_is_a_400(client: httpx.AsyncClient) -> None:
    path = "/api/v1/addresses/iota1qrhacyfwlcnzkvzteumekfkrrwks98mpdm37cj4xx3drvmjvnep6xqgyzyx"
    answer = await client.get(path)
    assert answer.status_code == 400
    assert "address: expected an address of this network, atoi1" in answer.json()["error"]["message"]
