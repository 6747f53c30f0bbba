"""/health: whether this server can answer, for load balancers and old clients alike.

An archive is healthy when its stores answer; that it no longer grows is no illness.
"""

from collections.abc import Mapping

from api.network import NetworkMount
from api.operations import Family, Operation
from api.responses import HealthResponse


async def health(networks: Mapping[str, NetworkMount]) -> dict[str, object]:
    """Whether every network's store answers.

    503 as soon as one does not.
    """
    for network in networks.values():
        await network.store.ping()
    return {"isHealthy": True, "networks": sorted(networks)}


HEALTH = Family("health", (Operation("/health", health, HealthResponse),), wrap=lambda value: value)
