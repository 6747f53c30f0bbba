"""Every response of core API v2 as a whole body, for everything in the Stardust oracle ledger."""

import json
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from api.app import ApiSettings, create_app
from api.core_v2 import responses as responses_v2
from api.fields import stardust_payloads as responses_v2_payloads
from tests.api.conftest import Some
from tests.api.stardust import StardustLedger
from tests.reference_stardust import output_bytes, payload_slice

BASE = "/api/core/v2"
SERIALIZED = "application/vnd.iota.serializer-v1"
UNKNOWN = "0x" + "ab" * 32


@pytest.fixture(scope="session")
def app(stardust: StardustLedger, stardust_store: Any) -> Any:
    return create_app({"shimmering": stardust.mount(stardust_store)}, "shimmering", ApiSettings())


async def body(client: httpx.AsyncClient, path: str, model: type[BaseModel]) -> Any:
    """A successful response, which also matches the contract exactly."""
    answer = await client.get(f"{BASE}/{path}")
    assert answer.status_code == 200, (path, answer.text)
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    model.model_validate(found, strict=True, extra="forbid")
    return found


async def raw(client: httpx.AsyncClient, path: str) -> str:
    """The bytes of a successful response, in hex."""
    answer = await client.get(f"{BASE}/{path}", headers={"accept": SERIALIZED})
    assert (answer.status_code, answer.headers["content-type"]) == (200, SERIALIZED)
    return answer.content.hex()


@pytest.mark.thorough
async def test_every_block_is_the_node_s_json_and_its_bytes(
    client: httpx.AsyncClient, stardust: StardustLedger, some: Some[Any]
) -> None:
    assert len(stardust.entries) == stardust.expected["counts"]["all"]
    for entry in some(stardust.entries):
        path = f"blocks/{entry['id']}"
        found = await body(client, path, responses_v2_payloads.Block)
        assert found == entry["block"]
        payload = ["payload"] if "payload" in entry["block"] else []
        assert list(found) == ["protocolVersion", "parents", *payload, "nonce"]
        assert await raw(client, path) == entry["bytes_hex"]


async def test_every_metadata_is_the_node_s_and_omits_what_it_omits(
    client: httpx.AsyncClient, stardust: StardustLedger, some: Some[Any]
) -> None:
    for entry in some(stardust.entries):
        found = await body(client, f"blocks/{entry['id']}/metadata", responses_v2.BlockMetadata)
        assert json.dumps(found) == json.dumps(entry["metadata"])


async def test_every_included_transaction_leads_to_its_block(
    client: httpx.AsyncClient, stardust: StardustLedger, some: Some[Any]
) -> None:
    included = stardust.expected["transactions"]
    assert len(included) == stardust.expected["counts"]["included"]
    for transaction_id, block_id in some(included.items()):
        path, entry = f"transactions/{transaction_id}/included-block", stardust.by_id[block_id]
        assert await body(client, path, responses_v2_payloads.Block) == entry["block"]
        assert await raw(client, path) == entry["bytes_hex"]
        found = await body(client, f"{path}/metadata", responses_v2.BlockMetadata)
        assert found == entry["metadata"]


async def test_a_transaction_that_took_no_effect_has_no_included_block(
    client: httpx.AsyncClient, stardust: StardustLedger
) -> None:
    attached = {entry["transactionId"] for entry in stardust.entries if "transactionId" in entry}
    without = attached - set(stardust.expected["transactions"])
    assert without
    for transaction_id in without:
        for path in (f"transactions/{transaction_id}/included-block", f"outputs/{transaction_id}0000"):
            for part in ("", "/metadata"):
                answer = await client.get(f"{BASE}/{path}{part}")
                assert answer.status_code == 404
                assert transaction_id[2:] in answer.json()["error"]["message"]


@pytest.mark.thorough
async def test_every_output_says_whether_and_by_what_it_is_spent(
    client: httpx.AsyncClient, stardust: StardustLedger, some: Some[Any]
) -> None:
    outputs = stardust.expected["outputs"]
    assert len(outputs) == 1101
    for output_id, expected in some(outputs.items()):
        found = await body(client, f"outputs/{output_id}", responses_v2.OutputWithMetadata)
        assert found == expected
        assert list(found) == ["metadata", "output"]
        metadata = await body(client, f"outputs/{output_id}/metadata", responses_v2.OutputMetadata)
        assert json.dumps(metadata) == json.dumps(expected["metadata"])
        assert await raw(client, f"outputs/{output_id}") == output_bytes(expected["output"]).hex()


async def test_every_milestone_is_its_payload_by_id_and_by_index(
    client: httpx.AsyncClient, stardust: StardustLedger
) -> None:
    for line in stardust.milestones:
        milestone = line["milestone"]
        payload = payload_slice(bytes.fromhex(milestone["bytes_hex"])).hex()
        for path in (f"milestones/{milestone['milestoneId']}", f"milestones/by-index/{milestone['index']}"):
            found = await body(client, path, responses_v2_payloads.MilestonePayloadV2)
            assert found == milestone["payload"]
            assert await raw(client, path) == payload
            changes = await body(client, f"{path}/utxo-changes", responses_v2.UtxoChangesV2)
            assert json.dumps(changes) == json.dumps(milestone["utxoChanges"])


async def test_receipts_and_the_treasury_are_the_node_s(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    receipts = stardust.expected["receipts"]
    assert len(receipts) == 3
    assert await body(client, "receipts", responses_v2.ReceiptsV2) == {"receipts": receipts}
    for each in receipts:
        path = f"receipts/{each['receipt']['migratedAt']}"
        assert await body(client, path, responses_v2.ReceiptsV2) == {"receipts": [each]}
    assert await body(client, "receipts/99", responses_v2.ReceiptsV2) == {"receipts": []}
    assert await body(client, "treasury", responses_v2.TreasuryV2) == stardust.expected["treasury"]


async def test_receipts_between_two_ends(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    expected = stardust.expected["receipts"]
    times = {each["index"]: each["timestamp"] for each in stardust.milestone_entries}
    second = expected[1]["milestoneIndex"]
    assert expected[0]["milestoneIndex"] < second < expected[2]["milestoneIndex"]
    for query, found in (
        (f"start={second}", expected[1:]),
        (f"end={second}", expected[:2]),
        (f"start={second}&end={second}", expected[1:2]),
        (f"start={times[second]}", expected[1:]),
        (f"end={times[second] - 1}", expected[:1]),
        (f"start={second + 1}&end={second}", []),
        (f"start={second}&sort=newest", expected[:0:-1]),
    ):
        assert await body(client, f"receipts?{query}", responses_v2.ReceiptsV2) == {"receipts": found}, query
    migrated_at = expected[1]["receipt"]["migratedAt"]
    for query, found in ((f"start={second}", expected[1:2]), (f"start={second + 1}", [])):
        path = f"receipts/{migrated_at}?{query}"
        assert await body(client, path, responses_v2.ReceiptsV2) == {"receipts": found}


@pytest.mark.parametrize("page_size", [1, 2, 3])
async def test_receipts_come_in_pages_too(client: httpx.AsyncClient, stardust: StardustLedger, page_size: int) -> None:
    found, state = [], ""
    while True:
        page = await body(client, f"receipts?page_size={page_size}{state}", responses_v2.ReceiptsV2)
        found += page["receipts"]
        if "state" not in page:
            break
        assert len(page["receipts"]) == page_size
        state = f"&state={page['state']}"
    assert found == stardust.expected["receipts"]


async def test_info_has_all_fields_and_is_true(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    expected = stardust.expected["info"]
    found = await body(client, "info", responses_v2.InfoV2)
    assert list(found) == list(expected)
    own = ("name", "version", "metrics")
    assert {key: found[key] for key in found if key not in own} == {
        key: expected[key] for key in expected if key not in own
    }
    assert found["name"] == "Permanode"
    assert set(found["metrics"]) == set(expected["metrics"])
    assert set(found["metrics"].values()) == {0}


async def test_both_mounts_answer_equally(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    entry, milestone = stardust.entries[0], stardust.milestones[0]["milestone"]
    for path in (
        "info", "treasury", "receipts", "milestones/by-index/1", f"milestones/{milestone['milestoneId']}/utxo-changes",
        f"blocks/{entry['id']}", f"blocks/{entry['id']}/metadata", f"blocks/{UNKNOWN}", "tips",
    ):  # fmt: skip
        for accept in ("*/*", SERIALIZED):
            answers = [
                await client.get(f"/api/{mount}/{path}", headers={"accept": accept})
                for mount in ("core/v2", "shimmering/core/v2")
            ]
            assert len({(answer.status_code, answer.content) for answer in answers}) == 1


async def test_ids_are_read_with_and_without_0x_in_either_case(
    client: httpx.AsyncClient, stardust: StardustLedger
) -> None:
    transaction_id, block_id = next(iter(stardust.expected["transactions"].items()))
    milestone_id = stardust.milestones[0]["milestone"]["milestoneId"]
    for path, identity in (
        ("blocks/{}", block_id),
        ("blocks/{}/metadata", block_id),
        ("transactions/{}/included-block", transaction_id),
        ("outputs/{}0000", transaction_id),
        ("milestones/{}", milestone_id),
        ("milestones/{}/utxo-changes", milestone_id),
    ):
        answers = [
            await client.get(f"{BASE}/{path.format(each)}")
            for each in (identity, identity[2:], f"0x{identity[2:].upper()}", identity[2:].upper(), identity.upper())
        ]
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (f"blocks/{UNKNOWN}", UNKNOWN[2:]),
        (f"blocks/{UNKNOWN}/metadata", UNKNOWN[2:]),
        (f"transactions/{UNKNOWN}/included-block", UNKNOWN[2:]),
        (f"transactions/{UNKNOWN}/included-block/metadata", UNKNOWN[2:]),
        (f"outputs/{UNKNOWN}0000", f"{UNKNOWN[2:]}0000"),
        (f"outputs/{UNKNOWN}0000/metadata", f"{UNKNOWN[2:]}0000"),
        (f"milestones/{UNKNOWN}", UNKNOWN[2:]),
        (f"milestones/{UNKNOWN}/utxo-changes", UNKNOWN[2:]),
        ("milestones/by-index/0", "milestone 0"),
        ("milestones/by-index/51", "milestone 51"),
        ("milestones/by-index/51/utxo-changes", "milestone 51"),
        ("milestones/by-index/4294967295", "4294967295"),
    ],
)
async def test_what_is_not_there_is_a_404_that_names_it(client: httpx.AsyncClient, path: str, what: str) -> None:
    for accept in ("application/json", SERIALIZED):
        answer = await client.get(f"{BASE}/{path}", headers={"accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
        assert list(answer.json()) == ["error"]
        assert answer.json()["error"]["code"] == "404"
        assert what in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "tips"),
        ("GET", "peers"),
        ("GET", "peers/12D3KooWFJ8Nq6gHLLvigTpPSbyMmLk35k1TcpJof8Y4y8yFAB32"),
        ("POST", "blocks"),
        ("POST", "whiteflag"),
        ("POST", "control/database/prune"),
        ("POST", "control/snapshots/create"),
    ],
)
async def test_what_only_a_node_does_is_a_501_that_says_why(client: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, f"{BASE}/{path}", json={} if method == "POST" else None)
    assert answer.status_code == 501
    assert answer.json()["error"]["code"] == "501"
    assert answer.json()["error"]["message"].startswith("an archive ")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "blocks", "POST, OPTIONS"),
        ("GET", "control/database/prune", "POST, OPTIONS"),
        ("POST", "peers", "GET, HEAD, OPTIONS"),
        ("DELETE", "peers/x", "GET, HEAD, OPTIONS"),
        ("POST", "info", "GET, HEAD, OPTIONS"),
    ],
)
async def test_another_method_is_a_405(client: httpx.AsyncClient, method: str, path: str, allowed: str) -> None:
    answer = await client.request(method, f"{BASE}/{path}")
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.json()["error"]["code"] == "405"
