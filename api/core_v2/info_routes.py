"""Core API v2: `info`, and the endpoints that need a node, which an archive answers with 501.

Protocol parameters are those that milestones announced, before the first announcement those in the settings. Unknown
numbers are 0.
"""

from collections.abc import Sequence

from api import era_routing as eras
from api.core_v2.responses import InfoV2
from api.era_routing import Era
from api.fields.params import PeerId
from api.http.errors import NotKept
from api.http.operations import Handler, Operation
from api.http.responses import ErrorResponse, Json
from api.network import NetworkMount
from api.version import VERSION
from db.queries import milestones
from db.store import Row
from db.sync import complete
from ledger.base_token import base_token_json
from ledger.stardust.codec import PROTOCOL_VERSION
from ledger.stardust.json import option_json
from ledger.stardust.protocol_parameters import ProtocolParameters, decode_parameters, parameters_json
from ledger.stardust.values import ParametersOption


async def info(network: NetworkMount) -> Json:
    """Returns what a node returns: everything that clients check before other requests.

    Rates are 0, because an archive sees no traffic. `isHealthy` is true once the archive holds a milestone.
    `confirmedMilestone` is the last milestone before a gap, `pruningIndex` the one before the first. The status is 501
    if all milestones are Chrysalis milestones.
    """
    held = await complete(network.store, network.name)
    confirmed, newest = (held[0][1], held[-1][1]) if held else (0, 0)
    newest_row = await milestones.find_milestone(network.store, newest)
    if newest_row is not None and eras.of_milestone(newest_row) is not Era.STARDUST:
        raise NotKept(f"network {network.name} has no Stardust milestone: use node REST v1")
    announced = await milestones.list_parameters(network.store, network.name, confirmed)
    return {
        "name": "Permanode",
        "version": VERSION,
        "status": {
            "isHealthy": bool(held),
            "latestMilestone": milestone_info(newest, newest_row),
            "confirmedMilestone": milestone_info(confirmed, await milestones.find_milestone(network.store, confirmed)),
            "pruningIndex": held[0][0] - 1 if held else 0,
        },
        "supportedProtocolVersions": [PROTOCOL_VERSION],
        "protocol": parameters_json(holding(network, announced, confirmed)),
        "pendingProtocolParameters": [
            option_json(ParametersOption(row["milestone_index"], row["protocol_version"], row["params"]))
            for row in reversed(announced)
            if row["milestone_index"] > confirmed
        ],
        "baseToken": base_token_json(network.base_token),
        "metrics": {"blocksPerSecond": 0, "referencedBlocksPerSecond": 0, "referencedRate": 0},
        "features": [],
    }


def holding(network: NetworkMount, announced: Sequence[Row], milestone_index: int) -> ProtocolParameters:
    """Returns the latest announced parameters that apply at a milestone. Before any announcement, returns those of
    the network.
    """
    params = next((row["params"] for row in announced if row["milestone_index"] <= milestone_index), None)
    return parameters_of(network) if params is None else decode_parameters(params)


def parameters_of(network: NetworkMount) -> ProtocolParameters:
    """Returns the parameters before any announcement: those in the settings, else only the names of the network."""
    names = network.stardust_name or network.name, network.bech32_hrp
    return network.parameters or ProtocolParameters(PROTOCOL_VERSION, *names, network.min_pow_score, 0, 0, 0, 0, 0)


def milestone_info(index: int, row: Row | None) -> Json:
    """Returns a milestone as `info` writes it, only its index if it is not loaded."""
    if row is None:
        return {"index": index}
    return {"index": index, "timestamp": row["timestamp"], "milestoneId": f"0x{row['milestone_id']}"}


async def tips(network: NetworkMount) -> Json:  # noqa: ARG001 (every handler takes its network)
    """An archive has no tips, because it attaches no blocks.

    The status is always 501.
    """
    raise NotKept("an archive has no tips: it attaches no blocks")


async def submit_block(network: NetworkMount) -> Json:  # noqa: ARG001
    """An archive does not accept blocks.

    Send them to a node. The status is always 501.
    """
    raise NotKept("an archive takes no blocks: send them to a node of the network")


async def peers(network: NetworkMount) -> Json:  # noqa: ARG001
    """An archive has no peers.

    The status is always 501.
    """
    raise NotKept("an archive has no peers")


async def peer(network: NetworkMount, peer_id: PeerId) -> Json:  # noqa: ARG001
    """An archive has no peers.

    The status is always 501.
    """
    raise NotKept("an archive has no peers")


async def whiteflag(network: NetworkMount) -> Json:  # noqa: ARG001
    """An archive computes no milestones; a node does so for its coordinator.

    The status is always 501.
    """
    raise NotKept("an archive computes no milestones")


async def prune_database(network: NetworkMount) -> Json:  # noqa: ARG001
    """An archive is never pruned.

    The status is always 501.
    """
    raise NotKept("an archive is never pruned")


async def create_snapshots(network: NetworkMount) -> Json:  # noqa: ARG001
    """An archive makes no snapshots.

    The status is always 501.
    """
    raise NotKept("an archive makes no snapshots")


def rejected(path: str, handler: Handler, method: str = "GET") -> Operation:
    """Returns an operation that always responds with an error that states why."""
    return Operation(path, handler, ErrorResponse, (501,), method=method, status=501)


INFO_V2 = (
    Operation("/info", info, InfoV2, (501,)),
    rejected("/tips", tips),
    rejected("/blocks", submit_block, "POST"),
    rejected("/peers", peers),
    rejected("/peers/{peerId}", peer),
    rejected("/whiteflag", whiteflag, "POST"),
    rejected("/control/database/prune", prune_database, "POST"),
    rejected("/control/snapshots/create", create_snapshots, "POST"),
)
