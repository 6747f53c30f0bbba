"""The history of an address as JSON and as CSV, as whole bodies, compared with the oracle ledger's lines."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from api.network import NetworkMount
from api.node_v1 import history_routes as history_v1
from api.node_v1 import ledger_responses as responses
from db.store import StoreUnavailable
from tests.api.asgi import ask
from tests.api.http.test_error_shape import assert_shape, client_of
from tests.api.node_v1.test_node_v1 import data
from tests.api.oracle import Json, Oracle

UNPAID = "ab" * 32
CSV = {"accept": "text/csv"}
TITLES = (
    '"MessageID","TransactionID","ReferencedByMilestoneIndex","MilestoneTimestampReferenced","LedgerInclusionState",'
    '"ConflictReason","InputsCount","OutputsCount","AddressBalanceChange"'
)


def busiest(oracle: Oracle) -> str:
    """The address with the longest history."""
    return max(oracle.histories, key=lambda address: len(oracle.histories[address]))


def body(address: str, history: list[Json]) -> Json:
    return {
        "addressType": 0,
        "address": address,
        "maxResults": 1000,
        "count": len(history),
        "history": history,
        "ledgerIndex": 50,
        "state": None,
    }


def test_what_is_expected_adds_up_to_the_balances(oracle: Oracle) -> None:
    """The history computed here gives the balances of the ledger's generator."""
    assert {item["ledgerInclusionState"] for each in oracle.histories.values() for item in each} == {
        "included",
        "conflicting",
        "migrated",
    }
    start: dict[str, int] = {}
    for output in oracle.outputs.values():
        if output["messageId"] == "00" * 32:
            address = output["output"]["address"]["address"]
            start[address] = start.get(address, 0) + output["output"]["amount"]
    for address in oracle.expected["addresses"]:
        changes = [item["addressBalanceChange"] for item in oracle.histories.get(address["address"], [])]
        assert start.get(address["address"], 0) + sum(changes) == address["balance"]


async def test_every_history_by_both_spellings(client: httpx.AsyncClient, oracle: Oracle) -> None:
    bech32 = {each["address"]: each["bech32"] for each in oracle.expected["addresses"]}
    assert len(oracle.histories.keys() & bech32.keys()) > 10
    for address, history in oracle.histories.items():
        for spelled in (f"ed25519/{address}", *([bech32[address]] if address in bech32 else [])):
            path = f"/api/v1/addresses/{spelled}/tx-history"
            found = await data(client, path, responses.HistoryResponse)
            assert found == body(address, history)


async def test_keys_are_in_inx_api_core_s_order(client: httpx.AsyncClient, oracle: Oracle) -> None:
    found = (await client.get(f"/api/v1/addresses/ed25519/{busiest(oracle)}/tx-history")).json()["data"]
    assert list(found) == ["addressType", "address", "maxResults", "count", "history", "ledgerIndex", "state"]
    conflicting = next(item for item in found["history"] if item["ledgerInclusionState"] == "conflicting")
    assert list(conflicting) == [
        "messageId",
        "transactionId",
        "referencedByMilestoneIndex",
        "milestoneTimestampReferenced",
        "ledgerInclusionState",
        "conflictReason",
        "inputsCount",
        "outputsCount",
        "addressBalanceChange",
    ]
    assert conflicting["addressBalanceChange"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", [1, 2, 3, 7, 100])
async def test_pages_are_the_history_once(app: Any, oracle: Oracle, page_size: int) -> None:
    for address, history in oracle.histories.items():
        pages, state = [], {}
        while True:
            query = {"pageSize": page_size} | state
            status, answer = await ask(app, f"/api/v1/addresses/ed25519/{address}/tx-history", query)
            assert status == 200
            page = answer["data"]
            assert page["maxResults"] == page_size
            pages.append(page["history"])
            if page["state"] is None:
                break
            state = {"state": page["state"]}
        assert pages == [history[at : at + page_size] for at in range(0, len(history), page_size)]


async def test_an_address_without_history_has_an_empty_one(client: httpx.AsyncClient) -> None:
    found = await data(client, f"/api/v1/addresses/ed25519/{UNPAID}/tx-history", responses.HistoryResponse)
    assert found == body(UNPAID, [])
    text = (await client.get(f"/api/v1/addresses/ed25519/{UNPAID}/tx-history", headers=CSV)).text
    assert text.endswith(f"\n\n{TITLES}\n")


@pytest.mark.parametrize("mounted", ["v1", "core/v1", "testing"])
@pytest.mark.parametrize(
    ("text", "found"), [("5", 5), ("", 1000), ("0", 1000), ("1001", 1000), ("-1", 1000), ("x", 1000)]
)
async def test_a_page_size_is_read_as_inx_api_core_v1_read_it(
    client: httpx.AsyncClient, mounted: str, text: str, found: int
) -> None:
    answer = await client.get(f"/api/{mounted}/addresses/ed25519/{UNPAID}/tx-history?pageSize={text}")
    assert answer.json() == {"data": body(UNPAID, []) | {"maxResults": found}}


@pytest.mark.parametrize("query", ["pageSize=1&pageSize=2", "state=abc"])
async def test_what_is_wrong_is_named(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(f"/api/v1/addresses/ed25519/{UNPAID}/tx-history?{query}")
    assert query.partition("=")[0] in assert_shape(answer, 400)


async def test_a_state_of_another_address_is_rejected(client: httpx.AsyncClient, oracle: Oracle) -> None:
    path = f"/api/v1/addresses/ed25519/{busiest(oracle)}/tx-history?pageSize=1"
    state = (await client.get(path)).json()["data"]["state"]
    answer = await client.get(f"/api/v1/addresses/ed25519/{UNPAID}/tx-history?state={state}")
    assert "state" in assert_shape(answer, 400)


def table(address: str, history: list[Json]) -> str:
    """The whole CSV except its date."""
    lines = [
        f'"{item["messageId"]}","{item["transactionId"]}",{item["referencedByMilestoneIndex"]},'
        f'"{datetime.fromtimestamp(item["milestoneTimestampReferenced"], UTC).isoformat().replace("+00:00", "Z")}",'
        f'"{item["ledgerInclusionState"]}",{item.get("conflictReason", 0)},{item["inputsCount"]},'
        f"{item['outputsCount']},{item['addressBalanceChange']}"
        for item in reversed(history)
    ]
    head = [
        '"Transaction History"',
        "",
        f'"Address:","0x{address}"',
        '"LedgerIndex:",50',
        '"MaxResultsLimitReached:","false"',
        '"Date:","now"',
        "",
        TITLES,
    ]
    return "\n".join([*head, *lines, ""])


def undated(text: str) -> str:
    """The CSV without its date, which is today's."""
    (date,) = re.findall(r'^"Date:","(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"$', text, flags=re.MULTILINE)
    assert abs(datetime.fromisoformat(date) - datetime.now(UTC)) < timedelta(minutes=5)
    return text.replace(date, "now")


@pytest.mark.parametrize("mounted", ["v1", "core/v1", "testing"])
async def test_csv_is_every_history_oldest_first(client: httpx.AsyncClient, oracle: Oracle, mounted: str) -> None:
    for address in oracle.expected["addresses"]:
        path = f"/api/{mounted}/addresses/{address['bech32']}/tx-history"
        answer = await client.get(path, headers=CSV)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
        assert undated(answer.text) == table(address["address"], oracle.histories.get(address["address"], []))


async def test_a_history_between_two_ends_is_that_part_in_both_orders(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    address = busiest(oracle)
    history = oracle.histories[address]
    path = f"/api/v1/addresses/ed25519/{address}/tx-history"
    first, last = history[-5], history[4]
    low, high = (each["referencedByMilestoneIndex"] for each in (first, last))
    from_s, to_s = (each["milestoneTimestampReferenced"] for each in (first, last))
    inside = [item for item in history if low <= item["referencedByMilestoneIndex"] <= high]
    assert len(history) > len(inside) > 3
    assert inside == [item for item in history if from_s <= item["milestoneTimestampReferenced"] <= to_s]
    for ends in (
        {"start": low, "end": high},
        {"start": from_s, "end": to_s},
        {"start_timestamp": from_s, "end_timestamp": to_s + 1},
        {"start": low, "end_timestamp": to_s + 1},
    ):
        for order in ({}, {"sort": "newest"}):
            found = (await client.get(path, params=ends | order)).json()["data"]
            assert found == body(address, inside)
            answer = await client.get(path, params=ends | order, headers=CSV)
            assert undated(answer.text) == table(address, inside[::-1] if order else inside)
        oldest = (await client.get(path, params=ends | {"sort": "oldest"})).json()["data"]
        assert oldest == body(address, inside[::-1])
    nothing = (await client.get(path, params={"start": high + 1, "end": high})).json()["data"]
    assert nothing == body(address, [])


async def test_ends_in_the_wrong_order_are_named(client: httpx.AsyncClient) -> None:
    ends = {"start_timestamp": 1_640_995_300, "end_timestamp": 1_640_995_299}
    answer = await client.get(f"/api/v1/addresses/ed25519/{UNPAID}/tx-history", params=ends)
    assert "end_timestamp" in assert_shape(answer, 400)


@pytest.mark.parametrize(
    ("accept", "is_csv"),
    [
        ("text/csv", True),
        ("TEXT/CSV; q=0.5", True),
        ("text/csv, application/json", True),
        ("text/csv;q=0.5, */*", True),
        ("text/csv;q=0.5, application/json", False),
        ("text/csv;q=0", False),
        ("application/json", False),
        ("*/*", False),
        ("text/*", False),
        ("", False),
    ],
)
async def test_accept_chooses(client: httpx.AsyncClient, oracle: Oracle, accept: str, is_csv: bool) -> None:
    path = f"/api/v1/addresses/ed25519/{busiest(oracle)}/tx-history"
    answer = await client.get(path, headers={"accept": accept})
    assert answer.headers["content-type"].startswith("text/csv" if is_csv else "application/json")
    assert "accept" in [each.strip() for each in answer.headers["vary"].split(",")]


async def test_other_operations_know_no_csv(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/info", headers=CSV)
    assert answer.headers["content-type"] == "application/json"


class Failing:
    """A store that returns some slices of histories and then fails."""

    def __init__(self, store: Any, slices: int) -> None:
        self.store, self.left = store, slices

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def slice(self, table: Any, *arguments: Any, **bounds: Any) -> Any:
        if table.name == "transactions_by_address":
            if not self.left:
                raise StoreUnavailable("gone")
            self.left -= 1
        return await self.store.slice(table, *arguments, **bounds)


async def stream(app: Any, path: str, gone_after: int | None = None) -> list[Json]:
    """The messages that the application sends for a CSV; the client disconnects after some of them."""
    sent: list[Json] = []
    requested = iter([{"type": "http.request", "body": b""}])

    async def receive() -> Json:
        first = next(requested, None)
        if first is not None:
            return first
        while gone_after is None or len(sent) < gone_after:
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def send(message: Json) -> None:
        sent.append(message)
        for _ in range(10):
            await asyncio.sleep(0)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "root_path": "",
        "query_string": b"",
        "headers": [(b"accept", b"text/csv")],
    }
    await app(scope, receive, send)
    return sent


async def test_csv_is_sent_a_page_at_a_time_and_not_to_nobody(
    app: Any, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_v1, "MAXIMUM", 3)
    address = busiest(oracle)
    history = oracle.histories[address]
    path = f"/api/v1/addresses/ed25519/{address}/tx-history"
    sent = await stream(app, path)
    bodies = [message["body"].decode() for message in sent[1:]]
    assert undated("".join(bodies)) == table(address, history)
    assert [each.count("\n") for each in bodies[1:-2]] == [3] * (len(bodies) - 3)
    assert len(bodies) == -(-len(history) // 3) + 1
    assert [message.get("more_body", False) for message in sent[1:]] == [True] * (len(bodies) - 1) + [False]
    assert len(await stream(app, path, gone_after=3)) < 7 < len(sent)


@pytest.mark.parametrize("slices", [0, 4])
async def test_a_store_that_goes_away_is_a_503_or_breaks_the_table_off(
    mount: NetworkMount, oracle: Oracle, monkeypatch: pytest.MonkeyPatch, slices: int
) -> None:
    monkeypatch.setattr(history_v1, "MAXIMUM", 3)
    store: Any = Failing(mount.store, slices)
    async with client_of(NetworkMount(store, mount.name, mount.bech32_hrp)) as client:
        path = f"/api/v1/addresses/ed25519/{busiest(oracle)}/tx-history"
        if slices:
            with pytest.raises(StoreUnavailable):
                await client.get(path, headers=CSV)
        else:
            assert_shape(await client.get(path, headers=CSV), 503)


async def test_head_of_a_csv_has_no_body(client: httpx.AsyncClient, oracle: Oracle) -> None:
    answer = await client.head(f"/api/v1/addresses/ed25519/{busiest(oracle)}/tx-history", headers=CSV)
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (
        200,
        "text/csv; charset=utf-8",
        b"",
    )
