"""/health and /api/routes: what a server reports about itself."""

import asyncio
from pathlib import Path
from typing import Any

import httpx

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from db.sqlite.readers import CHECK_S
from tests.api.http.test_error_shape import assert_shape
from tests.sqlite_stores import create


def client_of(networks: dict[str, NetworkMount], default: str) -> httpx.AsyncClient:
    app = create_app(networks, default, ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


async def test_an_archive_whose_last_milestone_is_long_ago_is_healthy(client: httpx.AsyncClient) -> None:
    newest = (await client.get("/api/v1/info")).json()["data"]["latestMilestoneTimestamp"]
    assert newest < 1_700_000_000
    answer = await client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"isHealthy": True, "networks": ["testing"]})


async def test_a_network_without_a_complete_milestone_makes_it_unhealthy(mount: NetworkMount, tmp_path: Path) -> None:
    settings = StoreSettings(url=f"sqlite:///{tmp_path}", network="empty-1")
    create(settings)
    empty: Any = open_store(settings)
    async with client_of({"testing": mount, "empty": NetworkMount(empty, "empty-1", "atoi")}, "testing") as client:
        assert "empty holds no complete milestone" in assert_shape(await client.get("/health"), 503)
    empty.close()


async def test_a_store_that_is_gone_makes_it_unhealthy_until_it_is_back(mount: NetworkMount, tmp_path: Path) -> None:
    settings = StoreSettings(url=f"sqlite:///{tmp_path}/store", network="gone-1")
    create(settings)
    store: Any = open_store(settings)
    async with client_of({"testing": mount, "gone": NetworkMount(store, "gone-1", "atoi")}, "testing") as client:
        (tmp_path / "store").rename(tmp_path / "elsewhere")
        await asyncio.sleep(CHECK_S)
        assert "the store is missing" in assert_shape(await client.get("/health"), 503)
        (tmp_path / "elsewhere").rename(tmp_path / "store")
        await asyncio.sleep(CHECK_S)
        assert "gone holds no complete milestone" in assert_shape(await client.get("/health"), 503)
    store.close()


async def test_routes_are_what_is_below_api(mount: NetworkMount) -> None:
    async with client_of({"mainnet": mount, "comnet": mount}, "mainnet") as client:
        answer = await client.get("/api/routes")
    below = [
        "analytics/v2",
        "comnet",
        "core/v1",
        "core/v2",
        "explorer/v2",
        "indexer/v1",
        "mainnet",
        "mqtt/v1",
        "poi/v1",
        "supply/v1",
        "v1",
    ]
    assert (answer.status_code, answer.json()) == (200, {"routes": below})
    assert answer.headers["content-type"] == "application/json"
