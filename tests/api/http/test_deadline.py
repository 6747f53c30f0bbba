"""A request that exceeds its deadline gets a response, and its work is really stopped."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.listing.deadline import DEADLINE
from db.sqlite.store import SqliteStore
from db.store import DeadlinePassed
from tests.api.conftest import filled_store
from tests.api.http.test_error_shape import assert_shape
from tests.api.oracle import Oracle

DEADLINE_S = 0.2
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n WHERE ? <> i"
"""A statement that never ends, with the single parameter of a get."""


@pytest.fixture(params=[True, False], ids=["inline", "threads"])
def endless(request: pytest.FixtureRequest, tmp_path: Path, oracle: Oracle) -> Iterator[SqliteStore]:
    """A store in which reading a message never ends: on the event loop, or in a separate thread."""
    store: Any = filled_store(tmp_path, oracle, 100_000, 100_000)
    store._readers.connection()
    store._readers.inline = request.param
    store._plan(schema.messages).get = ENDLESS
    yield store
    store.close()


@pytest.fixture
def slow_client(endless: SqliteStore, oracle: Oracle) -> httpx.AsyncClient:
    mount = NetworkMount(endless, oracle.expected["network"], "atoi")
    app = create_app({"testing": mount}, "testing", ApiSettings(deadline_s=DEADLINE_S))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


async def is_served(client: httpx.AsyncClient, path: str) -> bool:
    """Whether one of several requests is served: on a busy machine a short deadline may pass before any work."""
    for _ in range(20):
        if (await client.get(path)).status_code == 200:
            return True
    return False


@pytest.mark.thorough
async def test_a_statement_is_interrupted_and_the_next_query_answered(
    slow_client: httpx.AsyncClient, oracle: Oracle
) -> None:
    for _ in range(3):
        begun = time.monotonic()
        answer = await slow_client.get(f"/api/v1/messages/{oracle.entries[0]['id']}")
        assert "took longer than this server allows" in assert_shape(answer, 503)
        assert DEADLINE_S <= time.monotonic() - begun < 20 * DEADLINE_S
        milestone = oracle.milestones[0]["milestone"]
        assert await is_served(slow_client, f"/api/v1/milestones/{milestone['index']}")


@pytest.mark.thorough
async def test_threads_are_free_again_after_their_statements_were_interrupted(
    slow_client: httpx.AsyncClient, oracle: Oracle
) -> None:
    path = f"/api/v1/messages/{oracle.entries[0]['id']}"
    answers = await asyncio.gather(*(slow_client.get(path) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {503}
    assert await is_served(slow_client, "/health")


async def test_no_read_begins_after_the_deadline(store: Any) -> None:
    token = DEADLINE.set(time.monotonic() - 0.001)
    try:
        for query in (
            store.get(schema.messages, ("00" * 32,)),
            store.get_many(schema.messages, [("00" * 32,)]),
            store.slice(schema.parents, ("00" * 32,), limit=1),
            store.ping(),
        ):
            with pytest.raises(DeadlinePassed):
                await query
    finally:
        DEADLINE.reset(token)
    assert await store.get(schema.messages, ("00" * 32,)) is None


async def test_a_deadline_ends_with_its_request(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/info")).status_code == 200
    assert DEADLINE.get() == float("inf")
