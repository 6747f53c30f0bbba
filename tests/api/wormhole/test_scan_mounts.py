"""wormholescan's own prefix, `/api/v1`, below a guardian's base URL: Wormhole's SDK has one base URL for both."""

from urllib.parse import quote

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.store import WritableStore
from tests.api.conftest import ON_ONE_STORE, STORES
from tests.api.oracle import Json, Oracle
from tests.api.wormhole_network import NETWORK, World
from tests.clients.api_requests_poi import BODY
from tests.clients.api_requests_wormhole import parameters, values
from tests.clients.walks import contract
from tests.conftest import needs_shared

OWN, ORIGINAL = f"/api/{NETWORK}/wormhole/v1", f"/api/{NETWORK}/api/v1"
ONE_STORE = pytest.mark.parametrize("wormhole_store", STORES[:1], indirect=True)


def requests_of(world: World) -> list[tuple[str, str, Json, Json | None]]:
    """Method, path, query and posted object of every operation at the original's prefix that has a 200."""
    found = []
    for path, method, operation, _ in contract(of_wormhole=True):
        if path.startswith("/api/{network}/api/v1/") and "200" in operation["responses"]:
            given = parameters(operation, values(world))
            filled = path.format(**{name: quote(str(value)) for name, value in given.items()})
            query = {name: value for name, value in given.items() if name != BODY and f"{{{name}}}" not in path}
            found.append((method, filled, query, given.get(BODY)))
    return found


@pytest.mark.thorough
@needs_shared
@ONE_STORE
async def test_every_operation_is_served_at_the_original_s_prefix(signed: httpx.AsyncClient, world: World) -> None:
    requests = requests_of(world)
    assert len(requests) > 25
    for method, path, query, body in requests:
        below = path.removeprefix(ORIGINAL)
        expected = await signed.request(method, OWN + below, params=query, json=body)
        assert (expected.status_code, len(expected.content) > 2) == (200, True), below
        for prefix in ("/api/v1", ORIGINAL):
            found = await signed.request(method, prefix + below, params=query, json=body)
            assert (found.status_code, found.content) == (200, expected.content), prefix + below


@ONE_STORE
async def test_an_unknown_path_below_it_is_an_error_of_wormholescan(signed: httpx.AsyncClient) -> None:
    for path in ("/api/v1/nothing", f"{ORIGINAL}/nothing"):
        answer = await signed.get(path)
        expected = {"code": 5, "message": f"no endpoint {path}", "details": []}
        assert (answer.status_code, answer.json()) == (404, expected)


@ON_ONE_STORE
@ONE_STORE
async def test_an_iota_network_by_default_keeps_the_prefix_for_nodes(
    mount: NetworkMount, wormhole_store: WritableStore, world: World, oracle: Oracle
) -> None:
    networks = {"iota": mount, "signed": NetworkMount(wormhole_store, NETWORK, wormhole="mainnet")}
    app = create_app(networks, "iota", ApiSettings())
    vaa = f"vaas/{world.verified[0].served['message_id']}"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        rejected = await client.get(f"/api/v1/{vaa}")
        served = await client.get(f"/api/signed/api/v1/{vaa}")
        node = await client.get("/api/v1/milestones/1")
        unknown = await client.get("/api/v1/nothing")
    message = "network iota has the protocol iota, which this path does not serve"
    assert (rejected.status_code, rejected.json()) == (404, {"code": 5, "message": message, "details": []})
    assert served.json()["data"]["id"] == world.verified[0].served["message_id"]
    assert node.json()["data"]["messageId"] == oracle.milestones[0]["milestone"]["messageId"]
    assert unknown.json()["error"]["message"] == "no endpoint /api/v1/nothing"
