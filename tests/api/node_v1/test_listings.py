"""Every page of every listing, at every page size, in both orders."""

from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from api.node_v1 import responses as responses_v1
from ledger.crypto.bech32 import format_address
from tests.api.asgi import ask
from tests.api.oracle import Oracle

PAGE_SIZES = (1, 2, 3, 7, 100)
FILTERED_PAGE_SIZES = (3, 100)
UNKNOWN = "cd" * 32


async def walk(app: Any, path: str, items: str, **query: Any) -> list[Any]:
    """All items of a listing, page by page; every page but the last is full, and only the last has no state."""
    found: list[Any] = []
    while True:
        status, body = await ask(app, path, query)
        assert status == 200, body
        page = body["data"]
        assert page["maxResults"] == query["page_size"]
        assert page["count"] == len(page[items])
        found += page[items]
        if page["state"] is None:
            assert page["count"] or not found, "an empty page after the last row"
            return found
        assert page["count"] == query["page_size"]
        query["state"] = page["state"]


async def check(app: Any, path: str, items: str, newest: list[Any], **query: Any) -> None:
    assert await walk(app, path, items, sort="newest", **query) == newest
    assert await walk(app, path, items, sort="oldest", **query) == newest[::-1]


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_every_child_list(app: Any, oracle: Oracle, page_size: int) -> None:
    for parent, children in oracle.children.items():
        await check(app, f"/api/v1/messages/{parent}/children", "childrenMessageIds", children, page_size=page_size)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_every_index(app: Any, oracle: Oracle, page_size: int) -> None:
    for tag, ids in oracle.tagged.items():
        await check(app, "/api/v1/messages", "messageIds", ids, page_size=page_size, index=tag)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_every_milestone_s_messages_are_in_white_flag_order(app: Any, oracle: Oracle, page_size: int) -> None:
    for line in oracle.milestones:
        ids = [entry["id"] for entry in line["messages"]]
        path = f"/api/v1/milestones/{line['milestone']['index']}/messages"
        await check(app, path, "messageIds", ids[::-1], page_size=page_size)


async def test_a_milestone_s_messages_as_records(app: Any, oracle: Oracle) -> None:
    states = set()
    for line in oracle.milestones:
        index = line["milestone"]["index"]
        records = [
            {
                "id": entry["id"],
                "inclusionState": entry["metadata"].get("ledgerInclusionState", "noTransaction"),
                "milestoneIndex": index,
            }
            for entry in line["messages"]
        ]
        states |= {record["inclusionState"] for record in records}
        path = f"/api/v1/milestones/{index}/messages"
        await check(app, path, "messageIds", records[::-1], page_size=7, expanded="true")
        _, body = await ask(app, path, {"expanded": "true"})
        responses_v1.MilestoneMessagesResponse.model_validate(body, strict=True, extra="forbid")
    assert states == {"noTransaction", "included", "conflicting"}


@pytest.mark.thorough
@pytest.mark.parametrize("include_spent", [True, False])
@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_every_address(app: Any, oracle: Oracle, page_size: int, include_spent: bool) -> None:
    for address in oracle.addresses:
        for output_type in (None, 0, 1) if page_size in FILTERED_PAGE_SIZES else (None,):
            ids = oracle.address_outputs(address, output_type=output_type, include_spent=include_spent)
            query: dict[str, Any] = {"include-spent": str(include_spent).lower()}
            if output_type is not None:
                query["type"] = output_type
            bech32 = format_address(oracle.expected["bech32Hrp"], b"\0" + bytes.fromhex(address))
            await check(app, f"/api/v1/addresses/{bech32}/outputs", "outputIds", ids, page_size=page_size, **query)


def of_inx_api_core_v1(oracle: Oracle) -> list[str]:
    """Paths and queries of the listings whose handlers in inx-api-core-v1 read `pageSize`, each with several items."""
    parent = max(oracle.children, key=lambda each: len(oracle.children[each]))
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    owner = oracle.expected["addresses"][0]
    attached = max(oracle.included, key=lambda each: len(oracle.children.get(oracle.included[each]["id"], [])))
    return [
        f"messages/{parent}/children?",
        f"messages?index={tag}&",
        f"transactions/{attached}/included-message/children?",
        f"addresses/{owner['bech32']}/outputs?include-spent=true&",
        f"addresses/ed25519/{owner['address']}/outputs?include-spent=true&",
    ]


@pytest.mark.parametrize("prefix", ["v1", "core/v1", "testing"])
async def test_page_size_has_the_name_of_inx_api_core_v1_as_well(
    client: httpx.AsyncClient, oracle: Oracle, prefix: str
) -> None:
    """A value that inx-api-core-v1 cannot use means its maximum. With 0 it returns no rows, which nobody wants."""
    maximum = "1000"
    as_read = {"1": "1", "2": "2", "1001": maximum, "x": maximum, "-1": maximum, "0": maximum}
    for listing in of_inx_api_core_v1(oracle):
        path = f"/api/{prefix}/{listing}"
        for given, read in as_read.items():
            named, known = [await client.get(f"{path}{name}") for name in (f"pageSize={given}", f"page_size={read}")]
            assert (named.status_code, named.json()) == (known.status_code, known.json()) == (200, known.json()), path
            assert named.json()["data"]["maxResults"] == int(read)
        default = await client.get(path)
        for query in ("pageSize=", "page_size=&pageSize=", "pageSize=&page_size="):
            assert (await client.get(f"{path}{query}")).json() == default.json(), (path, query)
        for query in ("pageSize=1&page_size=", "page_size=&pageSize=1", "page_size=1&pageSize="):
            assert (await client.get(f"{path}{query}")).json()["data"]["maxResults"] == 1, (path, query)
        for query in ("pageSize=3&page_size=3", "page_size=2&pageSize=3"):
            both = await client.get(f"{path}{query}")
            message = "parameter pageSize: expected only one of page_size and pageSize, found '3'"
            assert both.status_code == 400
            assert both.json() == {"error": {"code": "400", "message": message}}, (path, query)


async def test_whole_bodies_of_first_pages(client: httpx.AsyncClient, oracle: Oracle) -> None:
    parent, children = max(oracle.children.items(), key=lambda item: len(item[1]))
    tag, tagged = max(oracle.tagged.items(), key=lambda item: len(item[1]))
    line = oracle.milestones[9]
    address = oracle.expected["addresses"][0]
    unspent = oracle.address_outputs(address["address"], output_type=None, include_spent=False)
    bodies = {
        f"messages/{parent}/children": {
            "messageId": parent,
            "maxResults": 1000,
            "count": len(children),
            "childrenMessageIds": children,
            "state": None,
        },
        f"messages?index={tag}": {
            "index": tag,
            "maxResults": 1000,
            "count": len(tagged),
            "messageIds": tagged,
            "state": None,
        },
        "milestones/10/messages": {
            "index": 10,
            "maxResults": 1000,
            "count": len(line["messages"]),
            "messageIds": [entry["id"] for entry in line["messages"]],
            "state": None,
        },
        f"addresses/{address['bech32']}/outputs": {
            "addressType": 0,
            "address": address["address"],
            "maxResults": 1000,
            "count": len(unspent),
            "outputIds": unspent,
            "state": None,
            "ledgerIndex": 50,
        },
    }
    for path, expected in bodies.items():
        answer = await client.get(f"/api/v1/{path}")
        assert answer.json() == {"data": expected}


async def test_pending_children_are_first_and_are_hidden_from_nothing_else(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    pending = {entry["id"] for entry in oracle.pending}
    mixed = {parent: ids for parent, ids in oracle.children.items() if pending & set(ids) and set(ids) - pending}
    assert mixed
    for parent, ids in mixed.items():
        answer = await client.get(f"/api/v1/messages/{parent}/children")
        found = answer.json()["data"]["childrenMessageIds"]
        count = len(pending & set(ids))
        assert set(found[:count]) == pending & set(ids)


@pytest.mark.parametrize(
    ("path", "items", "model"),
    [
        (f"messages/{UNKNOWN}/children", "childrenMessageIds", responses_v1.MessageChildrenResponse),
        (f"messages?index={UNKNOWN}", "messageIds", responses_v1.MessagesByIndexResponse),
        (
            f"addresses/{format_address('atoi', bytes(33))}/outputs",
            "outputIds",
            responses_v1.AddressOutputsResponse,
        ),
    ],
)
async def test_a_listing_of_what_nobody_knows_is_empty(
    client: httpx.AsyncClient, path: str, items: str, model: type[BaseModel]
) -> None:
    answer = await client.get(f"/api/v1/{path}")
    assert answer.status_code == 200
    model.model_validate(answer.json(), strict=True, extra="forbid")
    assert answer.json()["data"][items] == []
    assert answer.json()["data"]["count"] == 0
    assert answer.json()["data"]["state"] is None


async def test_a_state_serves_any_page_size_but_no_other_query(client: httpx.AsyncClient, oracle: Oracle) -> None:
    tags = sorted(oracle.tagged, key=lambda tag: len(oracle.tagged[tag]))[-2:]
    first = (await client.get("/api/v1/messages", params={"index": tags[0], "page_size": 3})).json()["data"]
    query = {"index": tags[0], "page_size": 100, "state": first["state"]}
    rest = (await client.get("/api/v1/messages", params=query)).json()["data"]
    assert first["messageIds"] + rest["messageIds"] == oracle.tagged[tags[0]][: 3 + rest["count"]]
    for other in ({"index": tags[1]}, {"sort": "oldest"}):
        answer = await client.get("/api/v1/messages", params=query | other)
        assert answer.status_code == 400
        assert "state" in answer.json()["error"]["message"]
    answer = await client.get(f"/api/v1/messages/{'0' * 64}/children", params={"state": first["state"]})
    assert answer.status_code == 400
