"""Responses about single objects as whole bodies, for everything in the oracle ledger."""

import dataclasses
import json
from collections.abc import AsyncIterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from api.app import ApiSettings, create_app
from api.http import responses
from api.network import NetworkMount
from api.node_v1 import responses as responses_v1
from ledger.crypto.bech32 import format_address
from tests.api.conftest import Some, filled_store
from tests.api.oracle import Oracle

UNKNOWN = "ab" * 32


async def data(client: httpx.AsyncClient, path: str, model: type[BaseModel]) -> Any:
    """The `data` of a successful response, which also matches the contract exactly."""
    answer = await client.get(path)
    assert answer.status_code == 200, (path, answer.text)
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    model.model_validate(body, strict=True, extra="forbid")
    assert list(body) == ["data"]
    return body["data"]


async def test_every_message_is_the_node_s_json(client: httpx.AsyncClient, oracle: Oracle, some: Some[Any]) -> None:
    for entry in some(oracle.entries):
        found = await data(client, f"/api/v1/messages/{entry['id']}", responses_v1.MessageResponse)
        assert found == entry["message"]
        assert list(found) == ["networkId", "parentMessageIds", "payload", "nonce"]


async def test_every_metadata_is_the_node_s_and_omits_what_it_omits(
    client: httpx.AsyncClient, oracle: Oracle, some: Some[Any]
) -> None:
    for entry in some(oracle.entries):
        path = f"/api/v1/messages/{entry['id']}/metadata"
        found = await data(client, path, responses_v1.MessageMetadataResponse)
        assert json.dumps(found) == json.dumps(entry["metadata"])


@pytest.fixture
async def altered(tmp_path: Path, oracle: Oracle) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """A store with a second message that contains milestone 1's payload, and that message's id."""
    line = oracle.milestones[0]
    entry = line["messages"][-1]
    data = bytes.fromhex(entry["bytes_hex"])[:-8] + bytes(8)
    message_id = blake2b(data, digest_size=32).hexdigest()
    state = {"ledgerInclusionState": "noTransaction", "referencedByMilestoneIndex": 1, "conflictReason": 0}
    copy = entry | {"id": message_id, "bytes_hex": data.hex(), "metadata": state}
    changed = dataclasses.replace(oracle, milestones=[line | {"messages": [copy, *line["messages"]]}], pending=[])
    store = filled_store(tmp_path, changed, 100_000, 100_000)
    app = create_app({"testing": NetworkMount(store, "permatest-1", "atoi")}, "testing", ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        yield client, message_id
    store.close()


async def test_only_the_milestone_s_own_message_has_a_milestone_index(
    altered: tuple[httpx.AsyncClient, str], oracle: Oracle
) -> None:
    client, message_id = altered
    found = await data(client, f"/api/v1/messages/{message_id}/metadata", responses_v1.MessageMetadataResponse)
    assert found["referencedByMilestoneIndex"] == 1
    assert "milestoneIndex" not in found
    issued = oracle.milestones[0]["milestone"]["messageId"]
    found = await data(client, f"/api/v1/messages/{issued}/metadata", responses_v1.MessageMetadataResponse)
    assert found["milestoneIndex"] == 1


async def test_a_conflict_reason_of_zero_is_none(altered: tuple[httpx.AsyncClient, str]) -> None:
    client, message_id = altered
    found = await data(client, f"/api/v1/messages/{message_id}/metadata", responses_v1.MessageMetadataResponse)
    assert "conflictReason" not in found


async def test_every_raw_message_is_its_bytes(client: httpx.AsyncClient, oracle: Oracle, some: Some[Any]) -> None:
    for entry in some(oracle.entries):
        answer = await client.get(f"/api/v1/messages/{entry['id']}/raw")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.content.hex() == entry["bytes_hex"]


async def test_every_output_says_whether_and_by_what_it_is_spent(
    client: httpx.AsyncClient, oracle: Oracle, some: Some[Any]
) -> None:
    assert len(oracle.outputs) > 1000
    for output_id, expected in some(oracle.outputs.items()):
        found = await data(client, f"/api/v1/outputs/{output_id}", responses_v1.OutputResponse)
        assert found == expected
        spent = ["milestoneIndexSpent", "transactionIdSpent"] if expected["isSpent"] else []
        before = ["messageId", "transactionId", "outputIndex", "isSpent"]
        assert list(found) == [*before, *spent, "output", "ledgerIndex"]


async def test_outputs_of_conflicting_transactions_do_not_exist(client: httpx.AsyncClient, oracle: Oracle) -> None:
    included = set(oracle.expected["transactions"])
    conflicting = {entry["transactionId"] for entry in oracle.entries if "transactionId" in entry} - included
    assert conflicting
    for transaction_id in conflicting:
        answer = await client.get(f"/api/v1/outputs/{transaction_id}0000")
        assert answer.status_code == 404


async def test_every_output_is_there_by_transaction_and_index_too(
    client: httpx.AsyncClient, oracle: Oracle, some: Some[Any]
) -> None:
    for output_id, expected in some(oracle.outputs.items()):
        path = f"/api/v1/outputs/{output_id[:64]}/{int.from_bytes(bytes.fromhex(output_id[64:]), 'little')}"
        assert await data(client, path, responses_v1.OutputResponse) == expected


@pytest.mark.thorough
async def test_every_included_transaction_leads_to_its_message(
    client: httpx.AsyncClient, oracle: Oracle, some: Some[Any]
) -> None:
    included = oracle.included
    assert len(included) > 300
    for transaction_id, entry in some(included.items()):
        path = f"/api/v1/transactions/{transaction_id}/included-message"
        assert await data(client, path, responses_v1.MessageResponse) == entry["message"]
        found = await data(client, f"{path}/metadata", responses_v1.MessageMetadataResponse)
        assert json.dumps(found) == json.dumps(entry["metadata"])
        assert (await client.get(f"{path}/raw")).content.hex() == entry["bytes_hex"]
        children = oracle.children.get(entry["id"], [])
        assert await data(client, f"{path}/children", responses_v1.MessageChildrenResponse) == {
            "messageId": entry["id"],
            "maxResults": 1000,
            "count": len(children),
            "childrenMessageIds": children,
            "state": None,
        }


async def test_chronicle_rs_132_a_reattached_transaction_is_shown_by_its_included_attachment(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    """Chronicle.rs returned one attachment's message with the state of another."""
    attachments: dict[str, list[Any]] = {}
    for entry in oracle.entries:
        if "transactionId" in entry and "ledgerInclusionState" in entry["metadata"]:
            attachments.setdefault(entry["transactionId"], []).append(entry)
    reattached = {key: each for key, each in attachments.items() if len(each) > 1 and key in oracle.included}
    assert len(reattached) == 8
    for transaction_id, each in reattached.items():
        path = f"/api/v1/transactions/{transaction_id}/included-message/metadata"
        found = await data(client, path, responses_v1.MessageMetadataResponse)
        (included,) = (entry for entry in each if entry["metadata"]["ledgerInclusionState"] == "included")
        assert found == included["metadata"]
        others = [entry["id"] for entry in each if entry is not included]
        states = [(await client.get(f"/api/v1/messages/{other}/metadata")).json()["data"] for other in others]
        assert {state["ledgerInclusionState"] for state in states} == {"conflicting"}


async def test_a_transaction_that_took_no_effect_has_no_included_message(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    without = {entry["transactionId"] for entry in oracle.entries if "transactionId" in entry} - set(oracle.included)
    assert without
    for transaction_id in without:
        for part in ("", "/metadata", "/raw", "/children"):
            answer = await client.get(f"/api/v1/transactions/{transaction_id}/included-message{part}")
            assert answer.status_code == 404
            assert transaction_id in answer.json()["error"]["message"]


async def test_an_ed25519_address_in_hex_has_the_same_outputs(client: httpx.AsyncClient, oracle: Oracle) -> None:
    for address in oracle.addresses:
        for query in ("", "?include-spent=true", "?type=1", "?include-spent=true&page_size=2"):
            bech32 = format_address(oracle.expected["bech32Hrp"], bytes.fromhex(f"00{address}"))
            by_bech32 = await client.get(f"/api/v1/addresses/{bech32}/outputs{query}")
            by_hex = await client.get(f"/api/v1/addresses/ed25519/{address}/outputs{query}")
            assert by_hex.status_code == 200
            assert by_hex.content == by_bech32.content


async def test_every_milestone_is_the_node_s_object(client: httpx.AsyncClient, oracle: Oracle) -> None:
    for line in oracle.milestones:
        milestone = line["milestone"]
        found = await data(client, f"/api/v1/milestones/{milestone['index']}", responses_v1.MilestoneResponse)
        assert found == {key: milestone[key] for key in ("index", "messageId", "timestamp")}


async def test_info_has_all_fourteen_fields_and_is_true(client: httpx.AsyncClient, oracle: Oracle) -> None:
    expected = oracle.expected["info"]
    found = await data(client, "/api/v1/info", responses_v1.InfoResponse)
    assert list(found) == list(expected)
    own = ("name", "version", "messagesPerSecond", "referencedMessagesPerSecond", "referencedRate")
    assert {key: found[key] for key in found if key not in own} == {
        key: expected[key] for key in expected if key not in own
    }
    assert found["name"] == "Permanode"


async def test_all_mounts_answer_equally(client: httpx.AsyncClient, oracle: Oracle) -> None:
    entry = oracle.entries[0]
    below = ["info", "milestones/1", "milestones/1/messages", f"messages/{entry['id']}", f"messages/{UNKNOWN}"]
    below += [f"messages/{entry['id']}/{what}" for what in ("metadata", "raw", "children?page_size=3")]
    for path in below:
        answers = [await client.get(f"/api/{mount}/{path}") for mount in ("v1", "testing", "core/v1")]
        assert len({(answer.status_code, answer.content) for answer in answers}) == 1


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (f"messages/{UNKNOWN}", UNKNOWN),
        (f"messages/{UNKNOWN}/metadata", UNKNOWN),
        (f"messages/{UNKNOWN}/raw", UNKNOWN),
        (f"outputs/{UNKNOWN}0000", f"{UNKNOWN}0000"),
        ("milestones/0", "0"),
        ("milestones/51", "51"),
        ("milestones/51/messages", "51"),
        ("milestones/4294967295", "4294967295"),
    ],
)
async def test_what_is_not_there_is_a_404_that_names_it(client: httpx.AsyncClient, path: str, what: str) -> None:
    answer = await client.get(f"/api/v1/{path}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "404"
    assert what in answer.json()["error"]["message"]


async def test_health_is_200_while_the_store_answers(client: httpx.AsyncClient) -> None:
    answer = await client.get("/health")
    assert answer.status_code == 200
    responses.HealthResponse.model_validate(answer.json(), strict=True, extra="forbid")
    assert answer.json() == {"isHealthy": True, "networks": ["testing"]}


async def test_ids_are_read_in_either_case_and_unknown_parameters_ignored(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    entry = oracle.entries[0]
    plain = await client.get(f"/api/v1/messages/{entry['id']}/metadata")
    assert plain.status_code == 200
    for path in (f"{entry['id'].upper()}/metadata", f"{entry['id']}/metadata?pretty=1&pretty=2&limit=0"):
        answer = await client.get(f"/api/v1/messages/{path}")
        assert answer.content == plain.content
