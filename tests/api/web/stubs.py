"""Pages over operations that return given JSON: for values that no ledger of the tests has."""

import json
import tempfile
from collections.abc import Mapping

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from api.network import NetworkMount
from api.web.explorer import Explorer
from db.connect import StoreSettings
from db.store import NotFound
from tests.api.conftest import filled_with
from tests.api.web.conftest import BROWSER

NETWORK = "stub"


def operations_with(bodies: Mapping[str, object]) -> ASGIApp:
    """Operations that return the body of the last segment of a path, else that of an empty one."""

    async def operations(scope: Scope, _: Receive, send: Send) -> None:
        last = scope["path"].rpartition("/")[2]
        if last == "log" and last not in bodies:
            raise NotFound("the log")
        body = bodies[last] if last in bodies else bodies[""]
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    return operations


async def shown_with(bodies: Mapping[str, object], path: str) -> str:
    """The page at a path of the network NETWORK, with these bodies."""
    with tempfile.TemporaryDirectory() as folder:
        store = filled_with(StoreSettings(f"sqlite:///{folder}", NETWORK), {})
        explorer = Explorer(operations_with(bodies), {NETWORK: NetworkMount(store, NETWORK, "tst")})
        transport = httpx.ASGITransport(app=explorer)
        async with httpx.AsyncClient(transport=transport, base_url="http://archive", headers=BROWSER) as client:
            page = await client.get(path)
        store.close()
    assert page.status_code == 200, page.text
    return page.text
