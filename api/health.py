"""What a server says of itself: /health for load balancers and old clients alike, /api/routes for node software.

An archive is healthy when it can answer: each network's store answers and holds a complete milestone or, of Wormhole,
whatever was loaded. That it no longer grows is no illness, so the age of its newest milestone does not count (a node's
health, and inx-chronicle's, ends five minutes after it).
"""

from collections.abc import Mapping, Sequence

from api.http.errors import NotReady
from api.http.operations import Family, Operation
from api.http.responses import HealthResponse, RoutesResponse
from api.network import NetworkMount
from db.queries.wormhole.vaas import list_guardian_sets
from db.schema.protocols import WORMHOLE
from db.sync import find_ledger_index


async def health(networks: Mapping[str, NetworkMount]) -> dict[str, object]:
    """Whether this server can answer.

    503 as soon as one network's store does not answer, or holds no complete milestone yet; of Wormhole, no message.
    """
    for name, network in networks.items():
        if network.protocol == WORMHOLE:
            # Whatever is loaded, they are written last.
            if not await list_guardian_sets(network.store, network.name):
                raise NotReady(f"network {name} holds no message yet")
        elif await find_ledger_index(network.store, network.name) is None:
            raise NotReady(f"network {name} holds no complete milestone yet")
    return {"isHealthy": True, "networks": sorted(networks)}


async def api_routes(mounts: Sequence[str]) -> dict[str, object]:
    """What stands below /api, as node software lists it."""
    return {"routes": list(mounts)}


HEALTH = Family("server", (Operation("/health", health, HealthResponse),), wrap=lambda value: value)
ROUTES = Family("server", (Operation("/api/routes", api_routes, RoutesResponse),), wrap=lambda value: value)
