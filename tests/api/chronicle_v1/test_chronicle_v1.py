"""Chronicle v1's routes beside the node's: a transaction by its message, info, sync and service."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.chronicle_v1 import responses as responses_chronicle
from api.chronicle_v1 import routes as chronicle_v1
from api.fields.sync_responses import SyncResponse
from api.network import NetworkMount
from api.node_v1 import responses as responses_v1
from db.queries.analytics import Run
from db.store import StoreUnavailable, WritableStore
from etl.store_reads import StoreReads
from etl.writers.archived_marks import note_logged
from tests.api.asgi import ask
from tests.api.conftest import Some, filled_store
from tests.api.http.test_error_shape import BrokenStore, assert_shape, client_of
from tests.api.node_v1.test_node_v1 import data
from tests.api.oracle import PENDING, Json, Oracle

UNKNOWN = "ab" * 32


async def test_every_attachment_of_every_transaction_is_shown_as_what_it_is(
    client: httpx.AsyncClient, oracle: Oracle, some: Some[Json]
) -> None:
    attachments = [entry for entry in oracle.entries if "transactionId" in entry]
    assert len(attachments) > len(oracle.included)
    for entry in some(attachments):
        path = f"/api/testing/transactions/{entry['id']}"
        found = await data(client, path, responses_chronicle.TransactionResponse)
        assert found == attached(oracle, entry)
        assert list(found) == ["messageId", "milestoneIndex", "outputs", "inputs", "ledgerInclusionState"]


def attached(oracle: Oracle, entry: Json) -> Json:
    """Chronicle's response for one attachment of a transaction."""
    essence, milestone = entry["message"]["payload"]["essence"], oracle.milestone_of[entry["id"]]
    return {
        "messageId": entry["id"],
        "milestoneIndex": None if milestone == PENDING else milestone,
        "outputs": [
            {"output": output, "spendingMessageId": oracle.spender.get((entry["transactionId"], index))}
            for index, output in enumerate(essence["outputs"])
        ],
        "inputs": essence["inputs"],
        "ledgerInclusionState": entry["metadata"].get("ledgerInclusionState"),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", [1, 3, 100])
@pytest.mark.parametrize("states", [("included", "conflicting"), ("included",), ("conflicting",), ()])
async def test_what_every_address_received_and_sent_each_attachment_once(
    app: Any, oracle: Oracle, states: tuple[str, ...], page_size: int
) -> None:
    query = {f"ledger_{state}": str(state in states).lower() for state in ("included", "conflicting")}
    lengths = []
    for address, history in oracle.histories.items():
        items = [item for item in history if item["ledgerInclusionState"] in states]
        expected = [attached(oracle, oracle.by_id[item["messageId"]]) for item in items]
        found: list[Json] = []
        state = {}
        while True:
            path = f"/api/testing/transactions/ed25519/{address}"
            status, body = await ask(app, path, query | {"page_size": page_size} | state)
            assert status == 200, body
            responses_chronicle.TransactionsResponse.model_validate(body, strict=True, extra="forbid")
            found += body["data"]["transactions"]
            if body["data"]["state"] is None:
                break
            assert len(body["data"]["transactions"]) == page_size
            state = {"state": body["data"]["state"]}
        assert found == expected
        lengths.append(len(found))
    assert sum(lengths) > 20 if states else not any(lengths)


def summed(oracle: Oracle, first: int, last: int) -> Json:
    """Milestones [first, last], all present, from the oracle's lines."""
    lines = [line for line in oracle.milestones if first <= line["milestone"]["index"] <= last]
    entries = [entry for line in lines for entry in line["messages"]]
    included = [each for each in entries if each["metadata"].get("ledgerInclusionState") == "included"]
    outputs = [output for each in included for output in each["message"]["payload"]["essence"]["outputs"]]
    return {
        "start": first,
        "end": last + 1,
        "message_count": len(entries),
        "transaction_count": len(included),
        "transferred_tokens": sum(output["amount"] for output in outputs),
    }


async def test_analytics_are_sums_over_the_requested_milestones(client: httpx.AsyncClient, oracle: Oracle) -> None:
    spans = {"": (1, 50), "?start=0&end=4294967295": (1, 50), "?start=6&end=23": (6, 22), "?end=8": (1, 7)}
    spans |= {f"?start={index}&end={index + 1}": (index, index) for index in (1, 7, 13, 14, 50)}
    for query, (first, last) in spans.items():
        found = await data(client, f"/api/testing/analytics{query}", responses_chronicle.AnalyticsResponse)
        assert found == {"ranges": [summed(oracle, first, last)]}
        assert list(found["ranges"][0]) == [*summed(oracle, 1, 1)]
        assert found["ranges"][0]["message_count"] > 3
    for query in ("?start=9&end=9", "?start=9&end=3", "?start=51"):
        assert await data(client, f"/api/testing/analytics{query}", responses_chronicle.AnalyticsResponse) == {
            "ranges": []
        }
    rejected = await client.get("/api/testing/analytics?start=-1")
    assert rejected.status_code == 400
    assert (
        rejected.json()["error"]["message"] == "parameter start: expected an integer from 0 to 4294967295, found '-1'"
    )


async def test_sums_of_tokens_may_pass_64_bits(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of a tenth of all tokens reaches such a sum by moving them 70,000 times."""
    moved = 70_000 * 2_779_530_283_277_761 // 10

    async def one_run(*_: object) -> AsyncIterator[Run]:
        yield Run(1, 50, 70_050, 70_000, moved)

    assert moved > 2**64
    monkeypatch.setattr(chronicle_v1, "list_runs", one_run)
    found = await data(client, "/api/testing/analytics", responses_chronicle.AnalyticsResponse)
    assert found["ranges"] == [
        {"start": 1, "end": 51, "message_count": 70_050, "transaction_count": 70_000, "transferred_tokens": moved}
    ]


async def test_transactions_of_no_state_are_nowhere(client: httpx.AsyncClient, oracle: Oracle) -> None:
    address = oracle.addresses[0]
    path = f"/api/testing/transactions/ed25519/{address}?ledger_none=false&ledger_included=false"
    assert_shape(await client.get(f"{path}&ledger_conflicting=false"), 404)
    assert "ledger_conflicting" in assert_shape(await client.get(f"{path}&ledger_conflicting=maybe"), 400)
    assert (await client.get(f"/api/testing/transactions/ed25519/{UNKNOWN}")).json() == {
        "data": {"transactions": [], "state": None}
    }


async def test_a_reattached_transaction_is_answered_for_the_message_that_was_requested(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    """Chronicle combined message and milestone of one attachment with the state of another; neither was requested."""
    reattached = [each for each in oracle.attachments.values() if len(each) > 1]
    assert len(reattached) >= 8
    for entries in reattached:
        found = [(await client.get(f"/api/testing/transactions/{entry['id']}")).json()["data"] for entry in entries]
        assert [each["messageId"] for each in found] == [entry["id"] for entry in entries]
        states = [entry["metadata"].get("ledgerInclusionState") for entry in entries]
        assert [each["ledgerInclusionState"] for each in found] == states
        assert len(set(states)) > 1 or "included" not in states


async def test_a_conflicting_spend_is_no_spender(client: httpx.AsyncClient, oracle: Oracle) -> None:
    """Chronicle returned the greatest message id among all that try to spend an output, even a conflicting one."""
    tried: dict[tuple[str, int], set[str]] = {}
    for entry in (entry for entries in oracle.attachments.values() for entry in entries):
        for each in entry["message"]["payload"]["essence"]["inputs"]:
            tried.setdefault((each["transactionId"], each["transactionOutputIndex"]), set()).add(entry["id"])
    fought_over = {key: ids for key, ids in tried.items() if len(ids) > 1 and key[0] in oracle.included}
    assert any(oracle.spender.get(key) != max(ids) for key, ids in fought_over.items())
    for (transaction_id, index), ids in fought_over.items():
        path = f"/api/testing/transactions/{oracle.included[transaction_id]['id']}"
        output = (await client.get(path)).json()["data"]["outputs"][index]
        spender = oracle.spender.get((transaction_id, index))
        assert output["spendingMessageId"] == spender
        assert spender is None or spender in ids


async def test_an_output_of_a_reattached_transaction_names_its_included_attachment(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    """Chronicle returned the last attachment."""
    reattached = {key: each for key, each in oracle.attachments.items() if len(each) > 1 and key in oracle.included}
    assert any(max(entry["id"] for entry in each) != oracle.included[key]["id"] for key, each in reattached.items())
    for transaction_id in reattached:
        found = (await client.get(f"/api/testing/outputs/{transaction_id}/0")).json()["data"]
        assert found["messageId"] == oracle.included[transaction_id]["id"]


async def test_a_message_without_a_transaction_has_none(client: httpx.AsyncClient, oracle: Oracle) -> None:
    plain = [entry["id"] for entry in oracle.entries if "transactionId" not in entry]
    assert any(oracle.by_id[each]["message"]["payload"] is None for each in plain)
    for message_id in (*plain, UNKNOWN):
        message = assert_shape(await client.get(f"/api/testing/transactions/{message_id}"), 404)
        assert message_id in message
    assert "messageId" in assert_shape(await client.get("/api/testing/transactions/abc"), 400)


async def test_what_only_chronicle_has_is_under_networks_only(client: httpx.AsyncClient, oracle: Oracle) -> None:
    for path in ("sync", "service", f"transactions/{next(iter(oracle.attachments.values()))[0]['id']}"):
        assert (await client.get(f"/api/testing/{path}")).status_code == 200
        for mount in ("v1", "core/v1"):
            assert_shape(await client.get(f"/api/{mount}/{path}"), 404)
        assert "elsewhere" in assert_shape(await client.get(f"/api/elsewhere/{path}"), 404)


async def test_info_serves_both_the_rust_clients_and_chronicle_s(client: httpx.AsyncClient, oracle: Oracle) -> None:
    found = await data(client, "/api/testing/info", responses_v1.InfoResponse)
    assert set(found) == set(oracle.expected["info"])
    assert len(found) == 14
    assert found["isHealthy"] is True
    assert isinstance(found["name"], str)
    assert isinstance(found["version"], str)


async def test_sync_is_chronicle_s_ends_exclusive_newest_first_and_without_data_around_it(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/api/testing/sync")
    SyncResponse.model_validate(answer.json(), strict=True, extra="forbid")
    assert answer.json() == {
        "completed": [{"start": 1, "end": 51}],
        "synced_but_unlogged": [{"start": 1, "end": 51}],
        "gaps": [{"start": 51, "end": 2147483647}],
        "proved": {"believed": [], "merkle": [], "signed": [{"start": 1, "end": 51}], "full": []},
    }


def note(store: WritableStore, chunk_size: int, *sealed: tuple[int, int]) -> None:
    """What an export writes when its files are durable."""
    with closing(StoreReads(store, "permatest-1")) as reads:
        note_logged(store, reads, chunk_size, list(sealed))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("held", "completed", "gaps", "unlogged"),
    [
        ([], [], [(1, 2147483647)], []),
        (
            [*range(5, 8), 10, *range(20, 51)],
            [(20, 51), (10, 11), (5, 8)],
            [(51, None), (11, 20), (8, 10), (1, 5)],
            [(31, 51), (5, 6)],
        ),
    ],
)
@pytest.mark.parametrize("chunk_size", [7, 100_000])
async def test_sync_reports_every_gap_and_what_no_archive_file_has(
    tmp_path: Path,
    oracle: Oracle,
    chunk_size: int,
    held: list[int],
    completed: list[tuple[int, int]],
    gaps: list[tuple[int, int | None]],
    unlogged: list[tuple[int, int]],
) -> None:
    """Files contain milestones 6 to 30, whether or not they are loaded."""
    lines = [line for line in oracle.milestones if line["milestone"]["index"] in held]
    some = dataclasses.replace(oracle, milestones=lines, pending=[])
    store = filled_store(tmp_path, some, chunk_size, 100, with_genesis=False)
    await asyncio.to_thread(note, store, chunk_size, (6, 30))
    async with client_of(NetworkMount(store, "permatest-1", "atoi")) as client:
        found = (await client.get("/api/testing/sync")).json()
        rising = (await client.get("/api/testing/sync?sort=oldest")).json()
        beside = (await client.get("/api/testing/core/v2/sync")).json()
        is_healthy = (await client.get("/api/testing/info")).json()["data"]["isHealthy"]
    store.close()
    assert found == {
        "completed": [{"start": start, "end": end} for start, end in completed],
        "synced_but_unlogged": [{"start": start, "end": end} for start, end in unlogged],
        "gaps": [{"start": start, "end": 2147483647 if end is None else end} for start, end in gaps],
        "proved": {
            "believed": [],
            "merkle": [{"start": start, "end": end} for start, end in completed],
            "signed": [],
            "full": [],
        },
    }
    assert rising == {
        key: value[::-1] if isinstance(value, list) else {level: spans[::-1] for level, spans in value.items()}
        for key, value in found.items()
    }
    assert beside == found
    assert is_healthy is bool(held)


async def test_service_is_one_service_that_is_up_since_it_was_made(mount: NetworkMount) -> None:
    before = time.time_ns()
    app = create_app({"testing": mount}, "testing", ApiSettings())
    after = time.time_ns()
    for path in ("/api/service", "/api/testing/service"):
        status, found = await ask(app, path)
        assert status == 200
        responses_chronicle.ServiceResponse.model_validate(found, strict=True, extra="forbid")
        since = found.pop("up_since")
        assert before <= since["secs_since_epoch"] * 10**9 + since["nanos_since_epoch"] <= after
        assert found == {
            "status": "Running",
            "name": "Permanode",
            "downtime_ms": 0,
            "microservices": {},
            "log_path": None,
        }


async def test_service_is_degraded_while_a_store_is_away(mount: NetworkMount) -> None:
    away = dataclasses.replace(mount, store=BrokenStore(StoreUnavailable("refused")))
    app = create_app({"testing": mount, "away": away}, "testing", ApiSettings())
    statuses = [
        (await ask(app, f"/api/{path}"))[1]["status"] for path in ("service", "testing/service", "away/service")
    ]
    assert statuses == ["Degraded", "Running", "Degraded"]
