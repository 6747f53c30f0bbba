"""The IOTA explorer: its calls to a permanode, replayed with the fields that it reads.

- permaNodeEndpoint of the explorer from Chronicle's days (dc4ec8f5) is the network's own base, `…/api/{network}`; that
  of the last one (7d782283) is the server.
- The explorer reads single fields, so the answers may contain more.
- Its requests of the indexer have an empty `cursor` for the first page.
- It follows `state` to the last page, and gives no page size or its own.
"""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests import reference_indexer as reference
from tests.api.explorer import Explorer
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.clients import bodies
from tests.clients.api_requests_indexer import outputs_of

pytestmark = pytest.mark.clients

PAGE_SIZES = (None, 10, 1)
"""The explorer's own page size, small enough that every listing has several pages."""


@pytest.fixture(scope="module")
def explorer(server: str, oracle: Oracle) -> Iterator[httpx.Client]:
    base = f"{server}/api/{oracle.expected['network']}"
    # iota.js, which the explorer uses, sends it with every GET.
    with httpx.Client(base_url=base, headers={"Content-Type": "application/json"}) as client:
        yield client


def read(explorer: httpx.Client, path: str, **query: Any) -> Json:
    """The `data` of an answer, as iota.js unwraps it."""
    answer = explorer.get(path, params=query)
    assert answer.status_code == 200, (path, answer.text)
    body = answer.json()
    assert "error" not in body
    data: Json = body["data"]
    return data


def read_pages(explorer: httpx.Client, path: str, items: str, page_size: int | None, **query: Any) -> list[Any]:
    """The items of all pages, by `state`."""
    if page_size:
        query["page_size"] = page_size
    found: list[Any] = []
    while True:
        page = read(explorer, path, **query)
        assert page.get("count", len(page[items])) == len(page[items])
        assert page_size is None or len(page[items]) <= page_size
        found += page[items]
        if not page["state"]:
            return found
        assert page[items]
        query["state"] = page["state"]


def fields(found: Json, expected: Json) -> Json:
    """The expected fields of a response."""
    return {name: found[name] for name in expected}


def test_milestones(explorer: httpx.Client, oracle: Oracle) -> None:
    for line in oracle.milestones:
        expected = bodies.milestone(line)
        assert fields(read(explorer, f"/milestones/{expected['index']}"), expected) == expected


def test_messages_and_their_metadata(explorer: httpx.Client, oracle: Oracle) -> None:
    absent = 0
    for entry in oracle.entries:
        found = read(explorer, f"/messages/{entry['id']}")
        assert fields(found, entry["message"]) == entry["message"]
        metadata = read(explorer, f"/messages/{entry['id']}/metadata")
        assert fields(metadata, entry["metadata"]) == entry["metadata"]
        if "conflictReason" not in entry["metadata"]:
            assert metadata.get("conflictReason") is None
            absent += 1
    assert 0 < absent < len(oracle.entries)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_children(explorer: httpx.Client, oracle: Oracle, page_size: int | None) -> None:
    for entry in oracle.entries:
        path = f"/messages/{entry['id']}/children"
        found = read_pages(explorer, path, "childrenMessageIds", page_size)
        assert found == oracle.children.get(entry["id"], [])


def test_a_transaction_leads_to_its_included_message(explorer: httpx.Client, oracle: Oracle) -> None:
    assert oracle.included
    for transaction_id, entry in oracle.included.items():
        found = read(explorer, f"/transactions/{transaction_id}/included-message")
        assert fields(found, entry["message"]) == entry["message"]


def test_sixty_four_hex_characters_are_looked_for_as_a_message_then_as_a_transaction(
    explorer: httpx.Client, oracle: Oracle
) -> None:
    transaction_id, entry = next(iter(oracle.included.items()))
    assert explorer.get(f"/messages/{transaction_id}").status_code == 404
    assert read(explorer, f"/transactions/{transaction_id}/included-message") == entry["message"]
    assert explorer.get(f"/transactions/{entry['id']}/included-message").status_code == 404


def test_outputs(explorer: httpx.Client, oracle: Oracle) -> None:
    assert oracle.outputs
    for output_id, expected in oracle.outputs.items():
        assert fields(read(explorer, f"/outputs/{output_id}"), expected) == expected


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_outputs_of_an_address(explorer: httpx.Client, oracle: Oracle, page_size: int | None) -> None:
    assert max(len(oracle.all_outputs(address)) for address in oracle.addresses) > 100, (
        "more than a page of Chronicle's"
    )
    for address in oracle.addresses:
        found = read_pages(explorer, f"/addresses/ed25519/{address}/outputs", "outputIds", page_size)
        assert found == oracle.all_outputs(address), "spent ones too, of which its node knows nothing"


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_messages_by_index(explorer: httpx.Client, oracle: Oracle, page_size: int | None) -> None:
    for tag, expected in oracle.tagged.items():
        assert read_pages(explorer, "/messages", "messageIds", page_size, index=tag) == expected


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_transactions_of_an_address(explorer: httpx.Client, oracle: Oracle, page_size: int | None) -> None:
    for address in oracle.addresses:
        expected = bodies.transactions(oracle, address, ("included", "conflicting"))["transactions"]
        path = f"/transactions/ed25519/{address}"
        found = read_pages(explorer, path, "transactions", page_size)
        assert [fields(each, other) for each, other in zip(found, expected, strict=True)] == expected


def test_the_last_explorer_reads_the_history_of_an_address(server: str, oracle: Oracle) -> None:
    with httpx.Client(base_url=server) as client:
        for address in oracle.addresses:
            path = f"/api/v1/addresses/ed25519/{address}/tx-history"
            expected = bodies.history(oracle, address, 500)
            assert fields(read(client, path, pageSize=500), expected) == expected


def test_the_last_explorer_downloads_the_history_of_an_address(server: str, oracle: Oracle) -> None:
    with httpx.Client(base_url=server, headers={"Accept": "text/csv"}) as client:
        for account in oracle.expected["addresses"]:
            answer = client.get(f"/api/core/v1/addresses/{account['bech32']}/tx-history")
            assert answer.status_code == 200
            lines = answer.text.splitlines()
            head = next(number for number, line in enumerate(lines) if line.startswith('"MessageID"'))
            found = [
                (line["TransactionID"], line["MilestoneTimestampReferenced"], int(line["AddressBalanceChange"]))
                for line in csv.DictReader(lines[head:])
            ]
            assert found == [
                (item["transactionId"], rfc3339(item["milestoneTimestampReferenced"]), item["addressBalanceChange"])
                for item in oracle.histories.get(account["address"], [])[::-1]
            ]


def rfc3339(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


@pytest.fixture(scope="module")
def newest(server: str) -> Iterator[httpx.Client]:
    """The explorer in its Stardust version (7d782283): permaNodeEndpoint is the server."""
    with httpx.Client(base_url=f"{server}/api/explorer/v2") as client:
        yield client


@pytest.fixture(scope="module")
def shown(stardust: StardustLedger) -> Explorer:
    return Explorer(stardust)


def ask(client: httpx.Client, path: str, **query: Any) -> Json:
    """A response; None for what the explorer treats as an error."""
    answer = client.get(path, params=query)
    assert answer.status_code == 200, (path, answer.text)
    body: Json = answer.json()
    assert "error" not in body
    return body


def test_it_shows_every_balance_and_queries_the_node_for_what_has_none(newest: httpx.Client, shown: Explorer) -> None:
    for address in shown.addresses:
        expected = shown.balance(address)
        if expected is None:
            assert newest.get(f"/balance/{address}").status_code == 404
            continue
        found = ask(newest, f"/balance/{address}")
        for name in ("totalBalance", "availableBalance", "ledgerIndex"):
            assert int(found[name]) == int(expected[name])


def test_it_reads_an_address_s_history_and_groups_it_by_transaction(
    server: str, newest: httpx.Client, shown: Explorer
) -> None:
    read = ("milestoneIndex", "milestoneTimestamp", "outputId", "isSpent")
    for address in shown.addresses[::3]:
        found: list[Json] = []
        cursor: str | None = None
        while True:
            query = {"pageSize": 10, "sort": "newest"} | ({"cursor": cursor} if cursor else {})
            page = ask(newest, f"/ledger/updates/by-address/{address}", **query)
            assert page["address"] == address
            found += page["items"]
            cursor = page["cursor"]
            if cursor is None:
                break
        expected = shown.updates_of(address)
        assert [{name: each[name] for name in read} for each in found] == [
            {name: each[name] for name in read} for each in expected
        ]
        for each in found[:20]:
            metadata = ask(newest, f"{server}/api/core/v2/outputs/{each['outputId']}")["metadata"]
            name = "transactionIdSpent" if each["isSpent"] else "transactionId"
            assert metadata[name] == each["transactionId"]


def test_it_downloads_a_history_from_a_milestone_on(newest: httpx.Client, shown: Explorer) -> None:
    address = max(shown.addresses, key=lambda each: len(shown.updates_of(each)))
    query: dict[str, Any] = {"pageSize": 20, "sort": "newest", "startMilestoneIndex": 30}
    found: list[Json] = []
    while True:
        page = ask(newest, f"/ledger/updates/by-address/{address}", **query)
        found += page["items"]
        if not page["cursor"]:
            break
        query["cursor"] = page["cursor"]
    assert found == [each for each in shown.updates_of(address) if each["milestoneIndex"] < 30]
    assert len(found) > 40


def test_it_shows_who_owns_most_and_how_tokens_are_spread(newest: httpx.Client, shown: Explorer) -> None:
    owned = shown.owned()
    richest = ask(newest, "/ledger/richest-addresses", top=100)
    assert {each["address"]: int(each["balance"]) for each in richest["top"]} == dict(owned)
    assert [int(each["balance"]) for each in richest["top"]] == sorted(owned.values())[::-1]
    spread = ask(newest, "/ledger/token-distribution")
    for each in spread["distribution"]:
        inside = [much for much in owned.values() if each["range"]["start"] <= much < each["range"]["end"]]
        assert (int(each["addressCount"]), int(each["totalBalance"])) == (len(inside), sum(inside))
    assert sum(int(each["addressCount"]) for each in spread["distribution"]) == len(owned)
    assert richest["ledgerIndex"] == spread["ledgerIndex"] == 50


def test_it_shows_the_blocks_of_a_milestone_and_the_children_of_a_block(newest: httpx.Client, shown: Explorer) -> None:
    for line in shown.ledger.milestones[::10]:
        query: dict[str, Any] = {"pageSize": 10, "sort": "newest"}
        found: list[Json] = []
        while True:
            page = ask(newest, f"/milestones/{line['milestone']['milestoneId']}/blocks", **query)
            found += page["blocks"]
            if not page["cursor"]:
                break
            query["cursor"] = page["cursor"]
        types = {entry["id"]: entry["block"].get("payload", {}).get("type") for entry in line["blocks"]}
        assert {each["blockId"]: each["payloadType"] for each in found} == types
        assert len(found) == len(types)
        for entry in line["blocks"]:
            children = ask(newest, f"/blocks/{entry['id']}/children")
            expected = shown.children.get(entry["id"], [])
            assert (children["blockId"], children["children"]) == (entry["id"], expected)
            assert (children["maxResults"], children["count"]) == (100, len(expected))


NOW = 2_000_000_000
"""Seconds after every expiration in the ledger. The explorer sends its own time."""


def listed(client: httpx.Client, route: str, page_size: int | None, filters: Json) -> list[str]:
    """The items of all pages. The first request has an empty `cursor`, like all first requests of the explorer."""
    found: list[str] = []
    cursor = ""
    while True:
        size = {} if page_size is None else {"pageSize": page_size}
        page = ask(client, f"/outputs/{route}", **filters, **size, cursor=cursor)
        found += page["items"]
        cursor = page.get("cursor", "")
        if not cursor:
            return found
        assert page["items"]


@pytest.mark.parametrize("page_size", [None, 10])
def test_it_lists_the_outputs_of_an_address_and_of_a_tag(
    server: str, stardust: StardustLedger, page_size: int | None
) -> None:
    """The requests of its pages for addresses, and of its search for tags (with 10 on a page)."""
    outputs = outputs_of(stardust)
    owners = {value for each in outputs for value in reference.hits(each, "address")}
    owners |= {value for each in outputs for value in reference.hits(each, "stateController")}
    tags = {value for each in outputs for value in reference.hits(each, "tag")}
    requests: list[tuple[str, Json]] = [
        (route, filters)
        for owner in sorted(owners)
        for route, filters in (
            ("basic", {"address": owner}),
            ("basic", {"address": owner, "expiresBefore": NOW}),
            ("basic", {"expirationReturnAddress": owner, "expiresBefore": NOW}),
            ("alias", {"stateController": owner}),
            ("nft", {"address": owner}),
            ("nft", {"address": owner, "expiresBefore": NOW}),
            ("nft", {"expirationReturnAddress": owner, "expiresBefore": NOW}),
        )
    ]
    requests += [(route, {"tag": tag}) for tag in sorted(tags) for route in ("basic", "nft")]
    shown = dict.fromkeys(("basic", "alias", "nft"), 0)
    with httpx.Client(base_url=f"{server}/api/indexer/v1") as client:
        for route, filters in requests:
            found = listed(client, route, page_size, filters)
            assert found == reference.found(outputs, route, filters), (route, filters)
            shown[route] += len(found)
    assert shown["basic"] > 100
    assert min(shown.values()) > 1
