"""The server itself: / for people, /health for load balancers and old clients, /api/routes for node software.

An archive is healthy if it can serve requests: the store of each network responds and holds a complete milestone or,
for Wormhole, any message. The age of the newest milestone does not count, because an archive need not grow. A node and
inx-chronicle report unhealthy after five minutes without a milestone.
"""

from collections.abc import Mapping, Sequence

from api.http.errors import NotReady
from api.http.operations import Family, Operation
from api.http.responses import HealthResponse, IndexResponse, RoutesResponse
from api.network import NetworkMount
from api.version import VERSION
from db.queries.wormhole.vaas import list_guardian_sets
from db.schema.protocols import WORMHOLE
from db.sync import find_ledger_index


async def health(networks: Mapping[str, NetworkMount]) -> dict[str, object]:
    """Returns whether this server can serve requests.

    The status is 503 if the store of a network does not respond, is damaged or holds no complete milestone yet. A
    Wormhole network needs a message instead. Requests need no credentials and do not count against the rate limit.
    """
    for name, network in networks.items():
        if (damage := network.store.damage()) is not None:
            raise NotReady(f"network {name} has a damaged store: {damage}")
        if network.protocol == WORMHOLE:
            # A load writes the guardian sets last.
            if not await list_guardian_sets(network.store, network.name):
                raise NotReady(f"network {name} holds no message yet")
        elif await find_ledger_index(network.store, network.name) is None:
            raise NotReady(f"network {name} holds no complete milestone yet")
    return {"isHealthy": True, "networks": sorted(networks)}


async def api_routes(mounts: Sequence[str]) -> dict[str, object]:
    """Returns the paths below /api, as node software lists them."""
    return {"routes": list(mounts)}


async def index(networks: Mapping[str, NetworkMount]) -> dict[str, object]:
    """Returns the networks of this server, and where its API is described.

    Clients that prefer HTML get the web explorer.
    """
    return {
        "name": "Permanode",
        "version": VERSION,
        "networks": [
            {"name": name, "protocol": network.protocol, "url": f"/api/{name}"}
            for name, network in sorted(networks.items())
        ],
        "docs": "/docs",
        "openapi": "/openapi.json",
    }


INDEX = Family("server", (Operation("/", index, IndexResponse),), wrap=lambda value: value)
HEALTH = Family("server", (Operation("/health", health, HealthResponse),), wrap=lambda value: value)
ROUTES = Family("server", (Operation("/api/routes", api_routes, RoutesResponse),), wrap=lambda value: value)
