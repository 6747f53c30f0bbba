"""Three nodes, three replicas: what an API client sees while one node is killed, comes back, or is paused.

It sends at most 50 requests a second, over loopback only. Expected answers come from the archive's own JSON and bytes,
not from a store. Run it manually: ./permanode test --slow -- tests/api/test_three_nodes.py
"""

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.policies import WhiteListRoundRobinPolicy

from bench.generate import generate
from bench.tangle import GeneratorSettings, MilestoneLine
from db import schema
from db.admin.migrate import migrate
from db.cassandra.address import ClusterSettings
from db.connect import StoreSettings, open_store
from db.queries import messages, milestones
from db.store import Store
from tests.api.conftest import READERS
from tests.api.processes import free_port, started, wait_for
from tests.api.steady_client import ApiRequest, Client, Seen, Wrong
from tests.cassandra_server import CassandraServer, running_together
from tests.etl.commands import Process, permanode

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.usefixtures("cassandra_runs")]

GENERATED = GeneratorSettings(seed="three nodes", rare=0.2)
LOADED_BEFORE, LOADED_MEANWHILE = 20, 60
"""Number of milestones, each of about 140 messages."""

RATE = 25
"""Requests per second; a listing of two pages takes two requests."""

PAGE_SIZE = 5
DEADLINE_S = 5
DOWN_S, PAUSED_S, HEALTHY_S, BACK_S = 10, 20, 15, 60
MOST_LISTED = 10_000
DELAY_MS = 1000 * ClusterSettings().speculative_delay_s


@dataclass(frozen=True)
class Ledger:
    """The contents of milestones, from their archive lines."""

    lines: list[MilestoneLine]

    @cached_property
    def raw(self) -> dict[str, bytes]:
        """Message id → its bytes."""
        return {message_id.hex(): data for line in self.lines for message_id, data in line.raw.items()}

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Parent → children, newest first."""
        return self._listed("parents")

    @cached_property
    def tagged(self) -> dict[str, list[str]]:
        """Index → messages, newest first."""
        return self._listed("tags")

    def _listed(self, what: str) -> dict[str, list[str]]:
        found: dict[str, set[tuple[int, str]]] = {}
        for line in self.lines:
            for message_id, (message, _) in line.form["messages"].items():
                for key in message["parents"] if what == "parents" else tags_of(message):
                    found.setdefault(key, set()).add((line.index, message_id))
        return {key: [each for _, each in sorted(rows, reverse=True)] for key, rows in found.items()}

    def write(self, file: Path) -> Path:
        """The archive file of those milestones."""
        file.write_bytes(b"".join(orjson.dumps(line.form) + b"\n" for line in self.lines))
        return file


def tags_of(message: dict) -> list[str]:
    payload = message["payload"]
    if payload is not None and payload["type"] == "Transaction":
        payload = payload["data"]["essence"]["data"]["payload"]
    return [bytes(payload["data"]["index"]).hex()] if payload is not None and payload["type"] == "Indexation" else []


@pytest.fixture(scope="module")
def ledgers() -> tuple[Ledger, Ledger]:
    """What is loaded before the faults, and everything."""
    lines = list(islice(generate(GENERATED), LOADED_BEFORE + LOADED_MEANWHILE))
    return Ledger(lines[:LOADED_BEFORE]), Ledger(lines)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[CassandraServer]]:
    with running_together(tmp_path_factory.mktemp("three"), 3) as together:
        for node in together:
            wait_for_peers(node, len(together) - 1)
        yield together


def wait_for_peers(node: CassandraServer, count: int) -> None:
    """Returns when that node has discovered the others."""
    alone = ExecutionProfile(WhiteListRoundRobinPolicy([node.address]))
    with Cluster(
        [node.address], port=node.ports.native, protocol_version=4, execution_profiles={"default": alone}
    ) as cluster:
        session = cluster.connect()
        limit = time.monotonic() + BACK_S
        while len(session.execute("SELECT peer FROM system.peers_v2").all()) < count:
            assert time.monotonic() < limit
            time.sleep(0.2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loads")


@pytest.fixture(scope="module", params=READERS)
def environment(
    nodes: list[CassandraServer], ledgers: tuple[Ledger, Ledger], folder: Path, request: pytest.FixtureRequest
) -> dict[str, str]:
    """Settings for commands on that cluster with the first of the two ledgers; each reader has a keyspace."""
    contacts = ",".join(node.contact for node in nodes)
    settings = StoreSettings(f"cassandra://{contacts}/three{request.param}?rf=3", GENERATED.network)
    migrate(settings)
    variables = {
        "PERMANODE_STORE": settings.url,
        "PERMANODE_NETWORK": settings.network,
        "PERMANODE_STORE_READER": request.param,
        "PERMANODE_ETL_LAKE": str(folder / f"lake{request.param}"),
        "PERMANODE_API_DEADLINE_S": str(DEADLINE_S),
    }
    process = load(ledgers[0], folder, variables)
    assert process.finish() == 0, process.printed()
    return variables


def load(ledger: Ledger, folder: Path, environment: dict[str, str]) -> Process:
    """Runs `permanode load` for the part of that ledger that is not loaded yet."""
    file = ledger.write(folder / f"{ledger.lines[0].index}to{ledger.lines[-1].index + 1}.log")
    # The API bounds the time of a query; a load may wait.
    return permanode("load", file, cwd=folder, **environment, PERMANODE_STORE_QUERY_TIMEOUT_S="30")


@pytest.fixture(scope="module")
def base(environment: dict[str, str], folder: Path) -> Iterator[str]:
    port = free_port()
    variables = environment | {"PERMANODE_API_PORT": str(port)}
    with started("-c", "from cli.main import main; main()", "serve", log=folder / "serve.log", **variables) as process:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
async def client(base: str, ledgers: tuple[Ledger, Ledger]) -> AsyncIterator[Client]:
    """Requests for the contents of the first ledger that the second does not change."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 (pytest shows it when the test fails)
    before, whole = ledgers
    tags = [tag for tag, ids in before.tagged.items() if whole.tagged[tag] == ids and len(ids) > PAGE_SIZE]
    parents = [parent for parent, ids in before.children.items() if whole.children[parent] == ids]
    assert len(tags) > 10
    requests: list[ApiRequest] = [raw(before, message_id) for message_id in before.raw]
    requests += [listing(f"/api/v1/messages?index={tag}", "messageIds", before.tagged[tag]) for tag in tags] * 20
    requests += [
        listing(f"/api/v1/messages/{each}/children?", "childrenMessageIds", before.children[each]) for each in parents
    ]
    opened = Client(base, [*requests, *[missing] * 200], RATE, seed)
    yield opened
    await opened.close()


def raw(ledger: Ledger, message_id: str) -> ApiRequest:
    async def ask(client: Client) -> None:
        body = (await client.get(f"/api/v1/messages/{message_id}/raw")).content
        if body != ledger.raw[message_id]:
            raise Wrong(f"{message_id}: {body!r}")

    return ask


def listing(path: str, name: str, ids: list[str]) -> ApiRequest:
    """All pages of a listing, with PAGE_SIZE items each."""

    async def ask(client: Client) -> None:
        found: list[str] = []
        state = ""
        while True:
            data = (await client.get(f"{path}&page_size={PAGE_SIZE}{state}")).json()["data"]
            found += data[name]
            if found != ids[: len(found)] or (len(data[name]) < PAGE_SIZE and len(found) < len(ids)):
                raise Wrong(f"{path}: {found} of {ids}")
            if not data.get("state"):
                break
            state = f"&state={data['state']}"
        if found != ids:
            raise Wrong(f"{path}: {found}, not {ids}")

    return ask


async def missing(client: Client) -> None:
    await client.get(f"/api/v1/messages/{random.randbytes(32).hex()}", expected_status=404)


def show(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Prints the figures of docs/performance.md."""
    with capsys.disabled():
        sys.stdout.write(f"\n{text}\n")


def is_sound(seen: Seen) -> None:
    """Asserts that no response is wrong and that there are no errors."""
    assert not seen.wrong, seen.wrong[:5]
    assert set(seen.statuses) == {200, 404}, seen


async def test_a_node_that_is_killed_and_comes_back_during_a_load_costs_no_read_and_no_row(
    client: Client, nodes: list[CassandraServer], ledgers: tuple[Ledger, Ledger], environment: dict[str, str],
    base: str, folder: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    before, whole = ledgers
    new = [message_id for message_id in whole.raw if message_id not in before.raw]
    async with client.asking() as seen:
        loading = load(whole, folder, environment)
        with closing(httpx.Client(base_url=base)) as http:
            await until(lambda: any(is_there(http, each) for each in random.sample(new, 5)), loading)
        nodes[2].kill()
        await asyncio.sleep(DOWN_S)
        assert not loading.end_within(0), "the load was over before the node came back"
        begun = time.monotonic()
        await asyncio.to_thread(nodes[2].start)
        started_s = time.monotonic() - begun
        code = await asyncio.to_thread(loading.finish)
        loaded_s = time.monotonic() - begun
    show(capsys, f"a node killed for {DOWN_S} s, up {started_s:.0f} s later, load over after {loaded_s:.0f} s: {seen}")
    assert code == 0, loading.printed()
    is_sound(seen)
    await check_all(whole, environment)


async def until(holds: object, loading: Process) -> None:
    while not await asyncio.to_thread(holds):
        assert not loading.end_within(0), loading.printed()
        await asyncio.sleep(0.5)


def is_there(http: httpx.Client, message_id: str) -> bool:
    return http.get(f"/api/v1/messages/{message_id}/raw").status_code == 200


async def check_all(ledger: Ledger, environment: dict[str, str]) -> None:
    """Compares every message, listing and milestone of a ledger with the store; the API would take minutes."""
    store = open_store(StoreSettings(environment["PERMANODE_STORE"], environment["PERMANODE_NETWORK"]))
    try:
        rows = await store.get_many(schema.messages, [(message_id,) for message_id in ledger.raw])
        assert [row and row["message"] for row in rows] == list(ledger.raw.values())
        for parent, ids in ledger.children.items():
            assert await listed(messages.list_children, store, parent) == ids, parent
        for tag, ids in ledger.tagged.items():
            assert await listed(messages.list_tagged, store, tag) == ids, tag
        for line in ledger.lines:
            ids = [each.hex() for each in reversed(line.order)]
            assert await listed(milestones.list_milestone_messages, store, line.index) == ids
    finally:
        store.close()


async def listed(find_page: Any, store: Store, key: str | int) -> list[str]:
    page = await find_page(store, key, newest=True, page_size=MOST_LISTED, cursor=None)
    return [row["message_id"] for row in page.rows]


async def test_a_stopped_node_costs_no_read_and_little_time(
    client: Client, nodes: list[CassandraServer], capsys: pytest.CaptureFixture[str]
) -> None:
    await client.ask(HEALTHY_S)
    healthy = await client.ask(HEALTHY_S)
    nodes[1].pause()
    try:
        slow = await client.ask(PAUSED_S)
    finally:
        nodes[1].resume()
    after = await client.ask(HEALTHY_S)
    show(capsys, f"healthy: {healthy}\none node stands still for {PAUSED_S} s: {slow}\nafter it: {after}")
    for seen in (healthy, slow, after):
        is_sound(seen)
    assert slow.percentile(0.99) <= 3 * healthy.percentile(0.99) + DELAY_MS


async def test_without_a_quorum_answers_are_whole_or_503(
    client: Client, nodes: list[CassandraServer], capsys: pytest.CaptureFixture[str]
) -> None:
    for node in nodes[1:]:
        node.pause()
    try:
        seen = await client.ask(3 * DEADLINE_S)
    finally:
        for node in nodes[1:]:
            node.resume()
    show(capsys, f"two nodes stand still for {3 * DEADLINE_S} s: {seen}")
    assert not seen.wrong, seen.wrong[:5]
    assert set(seen.statuses) <= {200, 404, 503}
    assert seen.statuses[503] > RATE
    limit = time.monotonic() + BACK_S
    while 503 in (back := await client.ask(2)).statuses:
        assert time.monotonic() < limit
    assert not back.wrong, back.wrong[:5]
    assert set(back.statuses) <= {200, 404}
