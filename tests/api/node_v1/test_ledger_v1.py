"""The ledger state in the form that old clients request, compared with the oracle ledger's expectations."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from api.node_v1 import ledger_responses as responses
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.queries import ledger
from db.store import WritableStore
from tests import reference_stardust
from tests.api.asgi import ask
from tests.api.conftest import filled_store
from tests.api.node_v1.test_node_v1 import data
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.reference import whole_rows
from tests.reference_rows import write

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


@pytest.mark.parametrize(("at_once", "together"), [(1_000, 256), (3, 2)], ids=["one-part", "many-parts"])
async def test_utxo_changes_of_every_milestone_in_order(
    client: httpx.AsyncClient, oracle: Oracle, monkeypatch: pytest.MonkeyPatch, at_once: int, together: int
) -> None:
    monkeypatch.setattr(ledger, "CHANGES_AT_ONCE", at_once)
    monkeypatch.setattr(ledger, "MESSAGES_TOGETHER", together)
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
        query = "page_size=1" + (f"&state={state}" if state else "")
        page = await data(client, f"/api/v1/receipts?{query}", responses.ReceiptsResponse)
        pages.append(page["receipts"])
        state = page["state"]
        if state is None:
            break
    assert pages == [[each] for each in expected]


async def test_receipts_by_legacy_milestone(client: httpx.AsyncClient, oracle: Oracle) -> None:
    for migrated_at in (*(each["receipt"]["migratedAt"] for each in oracle.expected["receipts"]), 99):
        expected = [each for each in oracle.expected["receipts"] if each["receipt"]["migratedAt"] == migrated_at]
        for sort, ordered in (("oldest", expected), ("newest", expected[::-1])):
            path = f"/api/v1/receipts/{migrated_at}?sort={sort}&page_size=1"
            found, state = [], ""
            while state is not None:
                page = await data(client, f"{path}&state={state}" if state else path, responses.ReceiptsResponse)
                found += page["receipts"]
                state = page["state"]
            assert found == ordered


@pytest.mark.parametrize(
    ("method", "path", "reason"),
    [
        ("GET", "tips", "no tips"),
        ("GET", "peers", "no peers"),
        ("GET", "peers/12D3KooWFJ8Nq6gHLLvigTpPSbyMmLk35k1TcpJof8Y4y8yFAB32", "no peers"),
        ("POST", "messages", "send them to a node"),
    ],
)
async def test_what_only_a_node_has_is_501(client: httpx.AsyncClient, method: str, path: str, reason: str) -> None:
    answer = await client.request(method, f"/api/v1/{path}")
    assert answer.status_code == 501
    assert reason in answer.json()["error"]["message"]


@pytest.fixture(scope="module")
def without_genesis(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An API over a store that contains only milestones and no ledger state."""
    folder = tmp_path_factory.mktemp("milestones")
    store = filled_store(folder, oracle, 100_000, 100_000, with_genesis=False)
    mount = NetworkMount(store, oracle.expected["network"], "atoi")
    yield create_app({"testing": mount}, "testing", ApiSettings())
    store.close()


@pytest.mark.parametrize(
    "path",
    [
        f"addresses/ed25519/{UNPAID}",
        f"addresses/ed25519/{UNPAID}/tx-history",
        "milestones/1/utxo-changes",
        "treasury",
    ],
)
async def test_without_genesis_the_ledger_is_501_never_0(without_genesis: Any, path: str) -> None:
    transport = httpx.ASGITransport(app=without_genesis)
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        answer = await client.get(f"/api/v1/{path}")
        assert answer.status_code == 501
        assert "load --genesis" in answer.json()["error"]["message"]


async def test_without_genesis_what_the_milestones_contain_is_answered(without_genesis: Any, oracle: Oracle) -> None:
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


@dataclass(frozen=True)
class Advancing:
    """An API over a store whose ledger state ends before its milestones do, and can advance."""

    client: httpx.AsyncClient
    store: WritableStore
    network: str

    def advance(self, ledger_index: int) -> None:
        with self.store.batch() as batch:
            batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [(self.network, ledger_index)])


@pytest.fixture
async def advancing(oracle: Oracle, tmp_path: Path) -> AsyncIterator[Advancing]:
    settings = StoreSettings(url=f"sqlite:///{tmp_path}", network=oracle.expected["network"])
    migrate(settings)
    store = open_store(settings, writable=True)
    rows = whole_rows(oracle.milestones, [], 100_000, 100_000, settings.network)
    rows["ledger_frontier"] = [{"network": settings.network, "ledger_index": index} for index in (0, 30)]
    write(store, rows)
    app = create_app({"testing": NetworkMount(store, settings.network, "atoi")}, "testing", ApiSettings())
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        yield Advancing(client, store, settings.network)
    store.close()


def unspent_at(oracle: Oracle, address: str, ledger_index: int) -> set[str]:
    """Ids of an address's outputs that existed at that milestone, from the oracle's record of each output."""
    return {
        output_id
        for output_id, each in oracle.outputs.items()
        if each["output"]["address"]["address"] == address
        and oracle.milestone_of[each["messageId"]] <= ledger_index
        and each.get("milestoneIndexSpent", 51) > ledger_index
    }


@pytest.mark.thorough
async def test_every_answer_is_true_at_the_ledger_index_it_names(advancing: Advancing, oracle: Oracle) -> None:
    client = advancing.client
    for output_id, expected in oracle.outputs.items():
        answer = await client.get(f"/api/v1/outputs/{output_id}")
        if oracle.milestone_of[expected["messageId"]] > 30:
            assert answer.status_code == 404
            continue
        if expected.get("milestoneIndexSpent", 0) > 30:
            expected = {key: each for key, each in expected.items() if not key.endswith("Spent")} | {"isSpent": False}
        assert answer.json() == {"data": expected | {"ledgerIndex": 30}}
    for address in oracle.addresses:
        balance = (await client.get(f"/api/v1/addresses/ed25519/{address}")).json()["data"]
        ids = unspent_at(oracle, address, 30)
        assert (balance["balance"], balance["ledgerIndex"]) == (
            sum(oracle.outputs[each]["output"]["amount"] for each in ids),
            30,
        )
        listed = (await client.get(f"/api/v1/addresses/ed25519/{address}/outputs")).json()["data"]
        assert (set(listed["outputIds"]), listed["ledgerIndex"]) == (ids, 30)
    for address, history in oracle.histories.items():
        path = f"/api/v1/addresses/ed25519/{address}/tx-history"
        found = (await client.get(path)).json()["data"]
        assert (found["history"], found["ledgerIndex"]) == (history_at(history, 30), 30)
        lines = (await client.get(path, headers={"accept": "text/csv"})).text.split("\n\n")[2].splitlines()[1:]
        assert [line[1:65] for line in lines[::-1]] == [item["messageId"] for item in history_at(history, 30)]
    assert (await client.get("/api/v1/milestones/31/utxo-changes")).status_code == 404
    treasury = [each for each in oracle.expected["receipts"] if each["milestoneIndex"] <= 30][-1]
    found = (await client.get("/api/v1/treasury")).json()["data"]
    assert found["amount"] == treasury["receipt"]["transaction"]["output"]["amount"]


def history_at(history: list[Json], ledger_index: int) -> list[Json]:
    """The part of a history that existed at that milestone."""
    return [item for item in history if item["referencedByMilestoneIndex"] <= ledger_index]


async def shown_while_advancing(advancing: Advancing, path: str, items: str) -> list[Any]:
    """All pages of a listing whose ledger state advances after the first page; each page names milestone 30."""
    page = (await advancing.client.get(path)).json()["data"]
    advancing.advance(50)
    assert (page["ledgerIndex"], page["state"] is None) == (30, False)
    shown = list(page[items])
    while page["state"]:
        page = (await advancing.client.get(f"{path}&state={page['state']}")).json()["data"]
        assert page["ledgerIndex"] == 30
        shown += page[items]
    return shown


@pytest.mark.thorough
async def test_all_pages_of_a_history_name_one_state(advancing: Advancing, oracle: Oracle) -> None:
    address, history = max(oracle.histories.items(), key=lambda item: len(history_at(item[1], 30)))
    path = f"/api/v1/addresses/ed25519/{address}/tx-history?pageSize=3"
    shown = await shown_while_advancing(advancing, path, "history")
    assert shown == history_at(history, 30) != history
    assert (await advancing.client.get(path)).json()["data"]["ledgerIndex"] == 50


@pytest.mark.thorough
@pytest.mark.parametrize("sort", ["newest", "oldest"])
async def test_all_pages_of_a_listing_show_one_state(advancing: Advancing, oracle: Oracle, sort: str) -> None:
    address = max(oracle.addresses, key=lambda each: len(unspent_at(oracle, each, 30)))
    path = f"/api/v1/addresses/ed25519/{address}/outputs?page_size=3&sort={sort}"
    shown = await shown_while_advancing(advancing, path, "outputIds")
    assert len(shown) == len(set(shown))
    assert set(shown) == unspent_at(oracle, address, 30) != unspent_at(oracle, address, 50)
    assert (await advancing.client.get(path)).json()["data"]["ledgerIndex"] == 50


@pytest.mark.thorough
async def test_a_listing_begun_before_what_is_kept_continues_with_the_history(
    advancing: Advancing, oracle: Oracle
) -> None:
    address = max(oracle.addresses, key=lambda each: len(unspent_at(oracle, each, 30)))
    path = f"/api/v1/addresses/ed25519/{address}/outputs?page_size=3"
    state = (await advancing.client.get(path)).json()["data"]["state"]
    advancing.advance(50)
    before = (await advancing.client.get(f"{path}&state={state}")).json()
    with advancing.store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [("unspent_from", "31")])
        batch.clear(schema.unspent_outputs)
    assert (await advancing.client.get(f"{path}&state={state}")).json() == before
    assert before["data"]["count"] == 3


async def test_the_richest_and_the_distribution_are_those_of_all_balances(store: WritableStore, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    balances = {
        f"00{address}": sum(oracle.outputs[each]["output"]["amount"] for each in unspent_at(oracle, address, 50))
        for address in oracle.addresses
    }
    ranked = sorted(((balance, address) for address, balance in balances.items() if balance), reverse=True)
    assert len({balance for balance, _ in ranked}) == len(ranked) > 10
    for first in range(0, len(ranked) + 1, 4):
        rows = await ledger.list_richest(store, network, 50, page_size=4, after_rank=first)
        found = [(row["rank"], row["balance"], row["address"]) for row in rows]
        assert found == [(rank, *each) for rank, each in enumerate(ranked, start=1)][first : first + 4]
    assert await ledger.list_richest(store, network, 50, page_size=4, after_rank=ledger.RICHEST) == []
    rows = await ledger.get_distribution(store, network, 50)
    powers = [len(str(balance)) - 1 for balance, _ in ranked[::-1]]
    assert [(row["power"], row["addresses"]) for row in rows] == list(Counter(powers).items())
    assert sum(row["amount"] for row in rows) == sum(balances.values())
    assert await ledger.get_distribution(store, network, 49) == []


@pytest.mark.thorough
async def test_outputs_that_are_loaded_while_the_server_runs(tmp_path: Path) -> None:
    """The server opens an empty store and learns from the first load which era its outputs have."""
    stardust = StardustLedger.read()
    settings = StoreSettings(f"sqlite:///{tmp_path}", stardust.network)
    migrate(settings)
    store = open_store(settings, writable=True)
    app = create_app({stardust.network: stardust.mount(store)}, stardust.network, ApiSettings())
    owner = max(stardust.expected["addresses"], key=lambda each: len(each["owned"]))
    path = f"/api/v1/addresses/{owner['bech32']}/outputs"
    status, body = await ask(app, path, {"include-spent": "true"})
    assert (status, body["data"]["outputIds"]) == (200, [])
    rows = reference_stardust.whole_rows(
        stardust.milestones, stardust.pending, settings.chunk_size, settings.partition_size, stardust.network
    )
    write(store, rows)
    status, body = await ask(app, path, {"include-spent": "true"})
    store.close()
    assert len(owner["owned"]) > 50
    assert sorted(body["data"]["outputIds"]) == sorted(each[2:] for each in owner["owned"])
