"""The node's core API v2: what a node says of itself, and what an archive cannot answer as it is no node.

Rules of this file: as in core_v2.py. Protocol parameters are those that milestones announced, before that the network's
own (settings); a number that nobody tells is 0.
"""

from collections.abc import Sequence

from api import era_routing as eras
from api.core_v2.responses import InfoV2
from api.era_routing import Era
from api.fields.stardust_params import PeerId
from api.http.errors import NotKept
from api.http.operations import Handler, Operation
from api.http.responses import ErrorResponse, Json
from api.network import NetworkMount
from api.version import program_version
from db.queries import milestones
from db.store import Row
from db.sync import complete
from ledger.base_token import base_token_json
from ledger.stardust.codec import PROTOCOL_VERSION
from ledger.stardust.json import option_json
from ledger.stardust.protocol_parameters import ProtocolParameters, decode_parameters, parameters_json
from ledger.stardust.values import ParametersOption


async def info(network: NetworkMount) -> Json:
    """What a node would say of itself: all that clients check before they ask for anything else.

    Rates are zero, as an archive sees no traffic. It is healthy once it holds a milestone; `confirmedMilestone` is the
    last one before a gap, `pruningIndex` the one before its first. 501 where all milestones are of Chrysalis.
    """
    held = await complete(network.store, network.name)
    confirmed, newest = (held[0][1], held[-1][1]) if held else (0, 0)
    newest_row = await milestones.find_milestone(network.store, newest)
    if newest_row is not None and eras.of_milestone(newest_row) is not Era.STARDUST:
        raise NotKept(f"network {network.name} has no milestone of Stardust here: ask node REST v1")
    announced = await milestones.list_parameters(network.store, network.name, confirmed)
    return {
        "name": "Permanode",
        "version": program_version(),
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
    """Those of the announced parameters that hold at a milestone, the last of them first; before any, the network's."""
    params = next((row["params"] for row in announced if row["milestone_index"] <= milestone_index), None)
    return parameters_of(network) if params is None else decode_parameters(params)


def parameters_of(network: NetworkMount) -> ProtocolParameters:
    """What held before a milestone announced any parameters: what is set, else names alone."""
    names = network.stardust_name or network.name, network.bech32_hrp
    return network.parameters or ProtocolParameters(PROTOCOL_VERSION, *names, network.min_pow_score, 0, 0, 0, 0, 0)


def milestone_info(index: int, row: Row | None) -> Json:
    """A milestone in info's words; its index alone where it is not loaded."""
    if row is None:
        return {"index": index}
    return {"index": index, "timestamp": row["timestamp"], "milestoneId": f"0x{row['milestone_id']}"}


async def tips(network: NetworkMount) -> Json:  # noqa: ARG001 (every handler takes its network)
    """Tips are where a node would attach new blocks; an archive has none."""
    raise NotKept("an archive has no tips: it attaches no blocks")


async def submit_block(network: NetworkMount) -> Json:  # noqa: ARG001
    """New blocks go to a node; an archive only answers."""
    raise NotKept("an archive takes no blocks: send them to a node of the network")


async def peers(network: NetworkMount) -> Json:  # noqa: ARG001
    """Peers of a node; an archive has none."""
    raise NotKept("an archive has no peers")


async def peer(network: NetworkMount, peer_id: PeerId) -> Json:  # noqa: ARG001
    """A peer of a node; an archive has none."""
    raise NotKept("an archive has no peers")


async def whiteflag(network: NetworkMount) -> Json:  # noqa: ARG001
    """What a node computes for a coordinator; an archive issues no milestones."""
    raise NotKept("an archive computes no milestones")


async def prune_database(network: NetworkMount) -> Json:  # noqa: ARG001
    """Nodes drop what is old; an archive never does."""
    raise NotKept("an archive is never pruned")


async def create_snapshots(network: NetworkMount) -> Json:  # noqa: ARG001
    """Snapshots are files that nodes start from; an archive makes none."""
    raise NotKept("an archive makes no snapshots")


def refused(path: str, handler: Handler, method: str = "GET") -> Operation:
    """An operation that says why an archive does not answer it."""
    return Operation(path, handler, ErrorResponse, (501,), method=method, status=501)


INFO_V2 = (
    Operation("/info", info, InfoV2, (501,)),
    refused("/tips", tips),
    refused("/blocks", submit_block, "POST"),
    refused("/peers", peers),
    refused("/peers/{peerId}", peer),
    refused("/whiteflag", whiteflag, "POST"),
    refused("/control/database/prune", prune_database, "POST"),
    refused("/control/snapshots/create", create_snapshots, "POST"),
)
