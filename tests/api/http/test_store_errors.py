"""A cluster that answers some reads of a request with an error: 503, and never a wrong or partial page."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from tests.api.conftest import READERS, fill
from tests.api.oracle import Oracle
from tests.cassandra_relay import ANSWERS, Relay
from tests.cassandra_server import CassandraServer

pytestmark = pytest.mark.slow

DEADLINE_S = 0.6
MOST_READS = 100


@pytest.fixture(scope="module")
def relay(cassandra: CassandraServer) -> Iterator[Relay]:
    opened = Relay((cassandra.address, cassandra.ports.native))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def settings(cassandra: CassandraServer, relay: Relay, oracle: Oracle) -> StoreSettings:
    """A store with small partitions behind the relay: a listing takes many reads."""
    direct = StoreSettings(f"cassandra://{cassandra.contact}/errors?rf=1", oracle.expected["network"], 7, 3)
    fill(direct, oracle).close()
    return replace(direct, url=f"cassandra://{relay.contact}/errors", speculative_delay_s=0.0)


@pytest.fixture(scope="module", params=READERS)
def app(settings: StoreSettings, request: pytest.FixtureRequest) -> Iterator[Any]:
    store = open_store(replace(settings, reader=request.param))
    mount = NetworkMount(store, settings.network, "atoi")
    yield create_app({"relayed": mount}, "relayed", ApiSettings(deadline_s=DEADLINE_S))
    store.close()


@pytest.fixture
def requested_again(request: pytest.FixtureRequest, answer: str) -> bool:
    """Whether the driver itself retries: acsylla's retries while a node is starting, even on the same node."""
    return bool(answer == "starting" and request.node.callspec.params["app"] == "acsylla")


def listed_pages(oracle: Oracle) -> dict[str, tuple[str, list[str]]]:
    """Request → its path, and the ids in its page."""
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    parent = max(oracle.children, key=lambda each: len(oracle.children[each]))
    address = max(oracle.addresses, key=lambda each: len(oracle.all_outputs(each)))
    return {
        "messageIds": (f"messages?index={tag}&page_size=8", oracle.tagged[tag][:8]),
        "childrenMessageIds": (f"messages/{parent}/children?page_size=8", oracle.children[parent][:8]),
        "outputIds": (
            f"addresses/ed25519/{address}/outputs?include-spent=true&page_size=5",
            oracle.all_outputs(address)[:5],
        ),
    }


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("listed", ["messageIds", "childrenMessageIds", "outputIds"])
async def test_an_error_at_any_of_its_reads_is_503_and_without_one_the_page_is_whole(
    client: httpx.AsyncClient, relay: Relay, oracle: Oracle, answer: str, listed: str, requested_again: bool
) -> None:
    path, ids = listed_pages(oracle)[listed]
    failures = 0
    for at in itertools.count():
        with relay.failing(answer, at=at):
            printed = await client.get(f"/api/v1/{path}")
        if not relay.failed:
            break
        failures += 1
        assert at < MOST_READS
        if requested_again:
            assert printed.json()["data"][listed] == ids
            continue
        assert printed.status_code == 503, printed.text
        assert printed.headers["retry-after"] == "2"
    assert printed.status_code == 200
    assert printed.json()["data"][listed] == ids
    assert len(ids) > 1
    assert failures > 1


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_error_is_never_taken_for_a_row_that_is_not_there(
    client: httpx.AsyncClient, relay: Relay, oracle: Oracle, answer: str, requested_again: bool
) -> None:
    entry = oracle.entries[0]
    for path, otherwise in ((f"messages/{entry['id']}", 200), (f"messages/{'00' * 32}", 404)):
        with relay.failing(answer, at=0):
            printed = await client.get(f"/api/v1/{path}")
        assert printed.status_code == (otherwise if requested_again else 503)
        assert relay.failed == 1
    assert (await client.get(f"/api/v1/messages/{entry['id']}")).json() == {"data": entry["message"]}
