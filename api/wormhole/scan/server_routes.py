"""wormholescan's state of the server."""

from api.http.errors import NotReady
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.version import VERSION
from api.wormhole.scan.period_responses import Healthy, Ready, Version
from db.queries.wormhole.vaas import list_guardian_sets


async def scan_health(network: NetworkMount) -> Json:  # noqa: ARG001 (every handler takes its network)
    """Returns that the server works."""
    return {"status": "OK"}


async def scan_ready(network: NetworkMount) -> Json:
    """Returns that the store of the network responds and contains a message.

    Otherwise the status is 503, where wormholescan returns 500.
    """
    if not await list_guardian_sets(network.store, network.name):
        raise NotReady(f"network {network.name} holds no message yet")
    return {"ready": "OK"}


async def scan_version(network: NetworkMount) -> Json:  # noqa: ARG001
    """Returns the version of the program. The other fields describe a build of wormholescan and are empty."""
    return {"build_date": "", "build": VERSION, "branch": "", "machine": "", "user": ""}


SERVER = (
    Operation("/health", scan_health, Healthy),
    Operation("/ready", scan_ready, Ready),
    Operation("/version", scan_version, Version),
)
