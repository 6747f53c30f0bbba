"""Every operation over the stores that other tests here leave out without `--slow`: whole bodies, and listings in small
pages.

Expected are the bodies that follow from the input files, which external clients get too (tests/clients); for Wormhole
networks those of the embedded store, which other tests here compare with the records.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings
from db.store import WritableStore
from tests.api.conftest import STORES, Filled, fill, fill_stardust, new_store
from tests.api.contract import described
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.api.wormhole_network import World
from tests.clients.api_requests_poi import BODY
from tests.clients.api_requests_wormhole import wormhole_requests
from tests.clients.walks import Walk, walks
from tests.reference_log import reference_log

Client: TypeAlias = httpx.AsyncClient

EMBEDDED = STORES[0].values[0]

OTHERS = [
    pytest.param(("sqlite", "tiny"), id="tiny", marks=pytest.mark.thorough),
    pytest.param(("cassandra", ""), id="cassandra", marks=pytest.mark.cassandra),
    pytest.param(("cassandra", "acsylla"), id="acsylla", marks=[pytest.mark.cassandra, pytest.mark.slow]),
]

LONGEST = 60
"""Most items of a listing that is read page by page."""

CURSORS = ("state", "cursor")

PARAMETERS = {
    (each.method, each.path): {parameter["name"] for parameter in each.operation.get("parameters", ())}
    for each in described()
}


@pytest.fixture(scope="module")
def make_client(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    filled: Filled,
    oracle: Oracle,
    stardust: StardustLedger,
    world: World,
) -> Callable[[tuple[str, str]], Client]:
    """Kind of store → a client of a server with both oracle ledgers and a Wormhole network in such stores."""
    network, hrp = oracle.expected["network"], oracle.expected["bech32Hrp"]

    def make(kind: tuple[str, str]) -> Client:
        def store(name: str, its_network: str, fill_one: Callable[[StoreSettings], WritableStore]) -> WritableStore:
            if (name, *kind) not in filled:
                filled[name, *kind] = fill_one(new_store(request, tmp_path_factory, name, its_network, kind))
            return filled[name, *kind]

        chrysalis = store("logged", network, lambda settings: fill(settings, oracle))
        reference_log(network, oracle.milestones).write(chrysalis)
        mounts = {
            network: NetworkMount(chrysalis, network, hrp, is_of_one_era=True),
            stardust.network: stardust.mount(
                store("stardust", stardust.network, lambda settings: fill_stardust(settings, stardust))
            ),
            WORMHOLE: NetworkMount(store("wormhole", WORMHOLE, world.fill), WORMHOLE, wormhole="mainnet"),
        }
        app = create_app(mounts, network, ApiSettings(stardust_network=stardust.network))
        return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")

    return make


@pytest.fixture(scope="module")
def walked(oracle: Oracle, stardust: StardustLedger) -> list[Walk]:
    """A call for each form of response of each operation of IOTA networks."""
    return [walk for walk in walks(oracle, stardust) if not walk.is_alias]


@pytest.fixture(params=OTHERS)
def client(request: pytest.FixtureRequest, make_client: Callable[[tuple[str, str]], Client]) -> Client:
    return make_client(request.param)


async def test_every_operation_gives_the_same_body(client: Client, walked: list[Walk]) -> None:
    for walk in walked:
        answer = await client.request(walk.method, walk.url, params=walk.query, json=walk.given.get(BODY))
        body = answer.content.hex() if walk.is_bytes else answer.json()
        walk.check({"answer": body} if answer.is_success else {"refused": answer.status_code, "message": body})
    assert len(walked) > 900


def list_of(body: Json) -> list[Any]:
    """The items of a page."""
    found = [each for name, each in body.get("data", body).items() if isinstance(each, list) and name != "addresses"]
    return found[0] if len(found) == 1 else []


@pytest.mark.parametrize("page_size", [1, 7])
async def test_every_listing_has_the_same_items_page_by_page(
    client: Client, walked: list[Walk], page_size: int
) -> None:
    listings: dict[str, Walk] = {}
    for walk in walked:
        sizes = PARAMETERS[walk.method, walk.path] & {"page_size", "pageSize"}
        if sizes and walk.status == 200 and not walk.varying:
            known = listings.get(walk.operation)
            if len(list_of(walk.answer)) <= LONGEST and (
                known is None or len(list_of(walk.answer)) > len(list_of(known.answer))
            ):
                listings[walk.operation] = walk
    assert len([walk for walk in listings.values() if len(list_of(walk.answer)) > 7]) > 20
    for walk in listings.values():
        # Some listings accept both names.
        name = "page_size" if "page_size" in PARAMETERS[walk.method, walk.path] else "pageSize"
        query, found = walk.query | {name: page_size}, []
        while True:
            body = (await client.get(walk.url, params=query)).json()
            page = list_of(body)
            assert len(page) <= page_size, walk
            found += page
            following = {each: body.get("data", body).get(each) for each in CURSORS}
            following = {each: cursor for each, cursor in following.items() if cursor is not None}
            if not following or (not page and len(found) == len(list_of(walk.answer))):
                break
            query |= following
        assert found == list_of(walk.answer), walk


async def test_every_operation_of_wormhole_gives_the_same_body(
    client: Client, make_client: Callable[[tuple[str, str]], Client], world: World
) -> None:
    embedded = make_client(EMBEDDED)
    for (path, method, operation, is_alias), given in wormhole_requests(world):
        walk = Walk(method, path, operation["operationId"], 200, given, None, (), is_alias)
        for more in ({}, {"pageSize": 3, "page": 1}, {"numRows": 3}):
            if is_alias or not more.keys() <= PARAMETERS[method, path]:
                continue
            answers = [
                await each.request(method, walk.url, params=walk.query | more, json=given.get(BODY))
                for each in (embedded, client)
            ]
            assert answers[0].status_code == (200 if "200" in operation["responses"] else 501), walk
            assert answers[1].json() == answers[0].json(), walk
