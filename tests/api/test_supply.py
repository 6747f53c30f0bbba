"""The circulating supply of networks of both eras, in a node's format."""

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.store import WritableStore
from tests.api.conftest import filled_store
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.clients.api_requests_plugins import NOT_COUNTED, circulating

CHRYSALIS_SUPPLY = 2_779_530_283_277_761
"""Base tokens of a Chrysalis network (TIP-3)."""


def client_of(*mounts: NetworkMount) -> httpx.AsyncClient:
    app = create_app({each.name: each for each in mounts}, mounts[0].name, ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


async def test_outputs_without_a_timelock_circulate(stardust: StardustLedger, stardust_store: WritableStore) -> None:
    async with client_of(stardust.mount(stardust_store)) as client:
        for prefix in ("/api", f"/api/{stardust.network}"):
            answer = await client.get(f"{prefix}/supply/v1/circulating")
            assert (answer.status_code, answer.json()) == (200, circulating(stardust))


async def test_the_treasury_of_chrysalis_does_not_circulate(client: httpx.AsyncClient, oracle: Oracle) -> None:
    treasury = oracle.expected["treasury"]["amount"]
    assert 0 < treasury < CHRYSALIS_SUPPLY
    answer = await client.get("/api/testing/supply/v1/circulating")
    assert (answer.status_code, answer.json()) == (200, (CHRYSALIS_SUPPLY - treasury) / 1_000_000)


async def test_without_genesis_the_supply_is_a_501(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = filled_store(tmp_path_factory.mktemp("bare"), oracle, 100_000, 100_000, with_genesis=False)
    async with client_of(NetworkMount(store, oracle.expected["network"], "atoi")) as client:
        answer = await client.get("/api/supply/v1/circulating")
    store.close()
    assert (answer.status_code, answer.json()["error"]["code"]) == (501, "501")


async def test_participation_is_a_501_that_says_why(client: httpx.AsyncClient) -> None:
    for path in ("events", "events/0xab", "events/0xab/status", "outputs/0xab", "addresses/x", "addresses/x/outputs"):
        for prefix in ("/api", "/api/testing"):
            answer = await client.get(f"{prefix}/participation/v1/{path}")
            assert (answer.status_code, answer.json()) == (501, {"error": {"code": "501", "message": NOT_COUNTED}})
    unknown = await client.get("/api/participation/v1/nothing")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "404")
