"""A cluster that goes away or stops responding, and comes back: the API reports it and recovers by itself."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from db.store import WritableStore
from tests.api.conftest import READERS, fill, filled_store
from tests.api.oracle import Oracle
from tests.cassandra_server import CassandraServer, running

pytestmark = pytest.mark.usefixtures("cassandra_runs")

DEADLINE_S = 3.0
"""Every response of a store that is here takes less, even if the machine is busy."""

DRIVER_S = 60.0
"""The drivers' own timeout, so that only the deadline can end a query."""

BACK_S = 60.0
FIRST = 12
"""Milestones that are written to the cluster."""


@pytest.fixture(scope="module")
def oracle(oracle: Oracle) -> Oracle:
    """The first milestones of the ledger."""
    return replace(oracle, milestones=oracle.milestones[:FIRST], pending=[])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraServer]:
    """A separate server, because the shared one must keep running."""
    with running(CassandraServer(tmp_path_factory.mktemp("away"))) as own:
        yield own


@pytest.fixture(scope="module")
def settings(server: CassandraServer, oracle: Oracle) -> StoreSettings:
    """Settings of a store with small partitions on that server."""
    filled = StoreSettings(f"cassandra://{server.contact}/away?rf=1", oracle.expected["network"], 7, 3)
    fill(filled, oracle).close()
    return filled


@pytest.fixture(scope="module", params=READERS)
def away(settings: StoreSettings, request: pytest.FixtureRequest) -> Iterator[WritableStore]:
    opened = open_store(replace(settings, reader=request.param, query_timeout_s=DRIVER_S))
    yield opened
    opened.close()


@pytest.fixture
def client(away: WritableStore, oracle: Oracle, tmp_path: Path) -> Iterator[httpx.AsyncClient]:
    """An API over that store, named `away`, and over an embedded one, named `here`."""
    here = filled_store(tmp_path, oracle, 7, 3)
    network, hrp = oracle.expected["network"], oracle.expected["bech32Hrp"]
    mounts: dict[str, Any] = {
        name: NetworkMount(store, network, hrp) for name, store in (("away", away), ("here", here))
    }
    app = create_app(mounts, "away", ApiSettings(deadline_s=DEADLINE_S))
    yield httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    here.close()


def paths(oracle: Oracle) -> list[str]:
    """A message, its body alone, and listings of several rows, one of them behind hints."""
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    parent = max(oracle.children, key=lambda each: len(oracle.children[each]))
    return [
        f"messages/{oracle.entries[0]['id']}",
        f"messages/{oracle.entries[0]['id']}/raw",
        f"messages?index={tag}",
        f"messages/{parent}/children",
    ]


async def ask(client: httpx.AsyncClient, network: str, oracle: Oracle) -> list[tuple[int, bytes]]:
    answers = [await client.get(f"/api/{network}/{path}") for path in paths(oracle)]
    for answer in answers:
        assert answer.status_code == 200 or answer.headers["retry-after"] == "2"
    return [(answer.status_code, answer.content) for answer in answers]


async def ask_until_back(client: httpx.AsyncClient, oracle: Oracle) -> list[tuple[int, bytes]]:
    limit = time.monotonic() + BACK_S
    while True:
        answers = await ask(client, "away", oracle)
        if {status for status, _ in answers} == {200} or time.monotonic() > limit:
            return answers
        assert {status for status, _ in answers} <= {200, 503}
        await asyncio.sleep(0.5)


async def test_a_killed_server_is_503_while_other_networks_answer_and_comes_back_without_a_restart(
    client: httpx.AsyncClient, server: CassandraServer, oracle: Oracle
) -> None:
    whole = await ask(client, "here", oracle)
    assert await ask(client, "away", oracle) == whole
    assert {status for status, _ in whole} == {200}
    server.kill()
    for _ in range(2):
        assert {status for status, _ in await ask(client, "away", oracle)} == {503}
        assert await ask(client, "here", oracle) == whole
    server.start()
    assert await ask_until_back(client, oracle) == whole


async def test_a_server_that_stops_answering_is_503_when_the_deadline_is_over_and_never_half_a_page(
    client: httpx.AsyncClient, server: CassandraServer, oracle: Oracle
) -> None:
    whole = await ask_until_back(client, oracle)
    server.pause()
    try:
        for path in paths(oracle):
            begun = time.monotonic()
            answer = await client.get(f"/api/away/{path}")
            assert answer.status_code == 503
            assert time.monotonic() - begun < DRIVER_S / 2
    finally:
        server.resume()
    assert await ask_until_back(client, oracle) == whole
