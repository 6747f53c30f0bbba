"""Chronicle v1's additions to listings: defaults, records, text indices, times, outputs never created, states."""

import struct
from typing import Any

import httpx
import pytest

from api.node_v1 import responses as responses_v1
from ledger.crypto.bech32 import format_address
from tests.api.http.test_error_shape import assert_shape
from tests.api.node_v1.test_listings import check, walk
from tests.api.node_v1.test_node_v1 import data
from tests.api.oracle import PENDING, Json, Oracle

pytestmark = pytest.mark.thorough


def record(oracle: Oracle, name: str, message_id: str) -> Json:
    """Chronicle's record of a row that this message caused; rows of genesis and receipts are confirmed too."""
    milestone = oracle.milestone_of[message_id]
    metadata = {"ledgerInclusionState": "included"} if name in oracle.outputs else oracle.by_id[message_id]["metadata"]
    return {
        "id": name,
        "inclusionState": metadata.get("ledgerInclusionState"),
        "milestoneIndex": None if milestone == PENDING else milestone,
    }


async def test_page_sizes_are_chronicle_s_under_a_network_and_the_node_s_elsewhere(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    parent = oracle.entries[0]["id"]
    address = max(oracle.addresses, key=lambda each: len(oracle.all_outputs(each)))
    assert len(oracle.all_outputs(address)) > 100
    for path, chronicle in (
        (f"messages/{parent}/children", 100),
        (f"addresses/ed25519/{address}/outputs", 100),
        ("messages?index=78", 1000),
        ("milestones/1/messages", 1000),
    ):
        for mount, page_size in (("testing", chronicle), ("v1", 1000), ("core/v1", 1000)):
            answer = (await client.get(f"/api/{mount}/{path}")).json()["data"]
            assert answer["maxResults"] == page_size
    assert answer["count"] > 0
    outputs = (await client.get(f"/api/testing/addresses/ed25519/{address}/outputs")).json()["data"]
    assert outputs["outputIds"] == oracle.all_outputs(address)[:100]
    assert outputs["state"]


async def test_an_address_s_spent_outputs_are_listed_under_a_network_as_chronicle_lists_them(
    app: Any, oracle: Oracle
) -> None:
    for address in oracle.addresses:
        path = f"addresses/ed25519/{address}/outputs"
        everything, unspent = (
            oracle.address_outputs(address, output_type=None, include_spent=spent) for spent in (True, False)
        )
        assert await walk(app, f"/api/testing/{path}", "outputIds", page_size=100) == everything
        assert await walk(app, f"/api/v1/{path}", "outputIds", page_size=100) == unspent
        assert await walk(app, f"/api/testing/{path}", "outputIds", page_size=7, **{"include-spent": 0}) == unspent
        bech32 = format_address(oracle.expected["bech32Hrp"], bytes.fromhex(f"00{address}"))
        path = f"/api/testing/addresses/{bech32}/outputs"
        assert await walk(app, path, "outputIds", page_size=100) == unspent, "what a wallet takes for its own"


@pytest.mark.parametrize("page_size", [1, 7, 1000])
async def test_expanded_records_contain_each_message_s_state_and_milestone(
    app: Any, oracle: Oracle, page_size: int
) -> None:
    for parent, ids in oracle.children.items():
        records = [record(oracle, each, each) for each in ids]
        path = f"/api/testing/messages/{parent}/children"
        await check(app, path, "childrenMessageIds", records, page_size=page_size, expanded="true")
    for tag, ids in oracle.tagged.items():
        records = [record(oracle, each, each) for each in ids]
        query: Json = {"page_size": page_size, "expanded": "true", "index": tag}
        await check(app, "/api/testing/messages", "messageIds", records, **query)
    for address in oracle.addresses:
        ids = oracle.all_outputs(address)
        records = [record(oracle, each, oracle.outputs[each]["messageId"]) for each in ids]
        path = f"/api/testing/addresses/ed25519/{address}/outputs"
        await check(app, path, "outputIds", records, page_size=page_size, expanded="true")


async def test_expanded_answers_are_as_the_contract_says(client: httpx.AsyncClient, oracle: Oracle) -> None:
    parent = next(parent for parent, ids in oracle.children.items() if oracle.milestone_of[ids[0]] == PENDING)
    for path, model in (
        (f"messages/{parent}/children", responses_v1.MessageChildrenResponse),
        ("messages?index=78", responses_v1.MessagesByIndexResponse),
        (f"addresses/ed25519/{oracle.addresses[0]}/outputs", responses_v1.AddressOutputsResponse),
    ):
        for expanded in ("true", "false"):
            target = f"{path}{'&' if '?' in path else '?'}expanded={expanded}"
            answer = await data(client, f"/api/testing/{target}", model)
            assert answer["count"] > 0


async def test_an_index_may_be_text(client: httpx.AsyncClient, oracle: Oracle) -> None:
    texts = {tag: bytes.fromhex(tag).decode() for tag in oracle.tagged if bytes.fromhex(tag).isascii()}
    assert len(texts) > 3
    for tag, text in texts.items():
        by_hex = await client.get("/api/testing/messages", params={"index": tag})
        assert by_hex.json()["data"]["messageIds"] == oracle.tagged[tag][:1000]
        for params in ({"index": text, "utf8": "true"}, {"index": tag.upper()}, {"index": tag, "utf8": "false"}):
            assert (await client.get("/api/testing/messages", params=params)).json() == by_hex.json()
    answer = await client.get("/api/testing/messages", params={"index": "Zähler ☃", "utf8": "true"})
    assert answer.json()["data"]["index"] == "Zähler ☃".encode().hex()


@pytest.mark.parametrize(
    ("query", "name", "expected"),
    [
        (f"index={'x' * 65}&utf8=true", "index", "text of 1 to 64 bytes"),
        (f"index={'%C3%A4' * 33}&utf8=true", "index", "text of 1 to 64 bytes"),
        ("index=%FF&utf8=true", "index", "text of 1 to 64 bytes"),
        ("index=spam&utf8=false", "index", "hex of 1 to 64 bytes"),
        ("index=78&utf8=maybe", "utf8", "true or false"),
        ("index=78&expanded=x", "expanded", "true or false"),
        ("index=78&start_timestamp=-1", "start_timestamp", "an integer from 0 to 18446744073709551615"),
        ("index=78&end_timestamp=18446744073709551616", "end_timestamp", "an integer from 0"),
        ("index=78&start_timestamp=1e3", "start_timestamp", "an integer from 0"),
        ("index=78&start_timestamp=10&end_timestamp=9", "end_timestamp", "start_timestamp (10) or later"),
        ("index=78&state=00", "state", ""),
        ("index=78&state=0000000000000000000000", "state", ""),
        ("index=78&state=000000010000000000000038341300910000", "state", ""),
        ("index=78&sort=oldest&state=0000000100000000000000383413009100", "state", ""),
    ],
)
async def test_what_is_wrong_with_a_wider_request_is_named(
    client: httpx.AsyncClient, query: str, name: str, expected: str
) -> None:
    for mount in ("testing", "v1"):
        message = assert_shape(await client.get(f"/api/{mount}/messages?{query}"), 400)
        assert message.startswith(f"parameter {name}: ")
        assert expected in message


async def test_a_window_that_ends_before_it_starts_is_rejected_by_every_listing(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    for path in (
        f"messages/{oracle.entries[0]['id']}/children",
        f"addresses/ed25519/{oracle.addresses[0]}/outputs",
        f"transactions/{next(iter(oracle.included))}/included-message/children",
    ):
        target = f"/api/testing/{path}?start_timestamp=1640995300&end_timestamp=1640995299"
        assert "end_timestamp" in assert_shape(await client.get(target), 400)


WINDOWS = [(None, None), (1640995210, None), (None, 1640995700), (1640995211, 1640995691), (1640995300, 1640995301)]
WINDOWS += [(1640995300, 1640995300), (1640995305, 1640995309), (0, 1640995210), (1640995701, None), (0, 2**64 - 1)]
WINDOWS += [(None, 1640995350), (1640995350, None), (1640995260, 1640995440)]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("page_size", [1, 4, 1000])
async def test_timestamps_select_by_the_milestone_s_time(
    app: Any, oracle: Oracle, window: tuple[int | None, int | None], page_size: int
) -> None:
    start, end = window
    times = oracle.time_of  # neither pending messages nor genesis outputs have one
    query: Json = {"start_timestamp": start, "end_timestamp": end, "page_size": page_size}
    query = {name: value for name, value in query.items() if value is not None}
    inside = [
        message_id
        for message_id, index in oracle.milestone_of.items()
        if window == (None, None)
        or (index in times and (start or 0) <= times[index] and (end is None or times[index] < end))
    ]
    found = set(inside)
    for tag, ids in oracle.tagged.items():
        wanted = [each for each in ids if each in found]
        await check(app, "/api/testing/messages", "messageIds", wanted, **query, index=tag)
    for parent in (each for each in list(oracle.children)[:: 40 if page_size == 1 else 8]):
        wanted = [each for each in oracle.children[parent] if each in found]
        path = f"/api/testing/messages/{parent}/children"
        await check(app, path, "childrenMessageIds", wanted, **query)
    for address in oracle.addresses:
        wanted = [each for each in oracle.all_outputs(address) if oracle.outputs[each]["messageId"] in found]
        path = f"/api/testing/addresses/ed25519/{address}/outputs"
        await check(app, path, "outputIds", wanted, **query)
        unspent = oracle.address_outputs(address, output_type=None, include_spent=False)
        left = [each for each in wanted if each in set(unspent)]
        await check(app, path, "outputIds", left, **query, **{"include-spent": "false"})


@pytest.mark.parametrize("page_size", [1, 3, 100])
async def test_outputs_that_never_existed_are_listed_on_request_and_once(
    app: Any, oracle: Oracle, page_size: int
) -> None:
    never = oracle.conflicting_outputs
    assert len(never) > 10
    paid = {each["output"]["address"]["address"] for each in never.values()}
    for address in sorted(paid | set(oracle.addresses)):
        path = f"/api/testing/addresses/ed25519/{address}/outputs"
        expected = {each: oracle.outputs[each]["messageId"] for each in oracle.all_outputs(address)}
        await check(app, path, "outputIds", list(expected), page_size=page_size)
        await check(app, path, "outputIds", list(expected), page_size=page_size, included="true")
        expected |= {
            key: each["messageId"] for key, each in never.items() if each["output"]["address"]["address"] == address
        }
        ids = sorted(expected, key=lambda key: (oracle.milestone_of[expected[key]], key), reverse=True)
        await check(app, path, "outputIds", ids, page_size=page_size, included="false")
        records = [record(oracle, each, expected[each]) for each in ids]
        await check(app, path, "outputIds", records, page_size=page_size, included="false", expanded="true")


async def test_a_state_of_chronicle_s_goes_on_where_chronicle_would_have(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    """The state names the first milestone that Chronicle had not shown; pending and newer messages come before it."""
    tag, ids = max(oracle.tagged.items(), key=lambda item: len(item[1]))
    children = oracle.children
    parent = max(children, key=lambda each: len({oracle.milestone_of[child] for child in children[each]} - {PENDING}))
    address = oracle.addresses[0]
    cases: list[tuple[str, str, list[str], Any]] = [
        (f"messages?index={tag}", "messageIds", ids, oracle.milestone_of),
        (f"messages/{parent}/children?", "childrenMessageIds", children[parent], oracle.milestone_of),
        (
            f"addresses/ed25519/{address}/outputs?page_size=1000",
            "outputIds",
            oracle.all_outputs(address),
            {key: oracle.milestone_of[oracle.outputs[key]["messageId"]] for key in oracle.all_outputs(address)},
        ),
    ]
    for path, items, listed, milestone_of in cases:
        assert len({milestone_of[each] for each in listed}) > 1
        for milestone in {milestone_of[each] for each in listed} - {PENDING}:
            state = struct.pack("<BBHBIQIH", 0, 1, 0, 1, milestone, 1, 50, 0).hex()
            answer = (await client.get(f"/api/testing/{path}&state={state}")).json()["data"]
            assert answer[items] == [each for each in listed if milestone_of[each] <= milestone]
