"""Node REST v1: `info`."""

from api.http.responses import Json
from api.network import NetworkMount
from api.version import VERSION
from db.queries import milestones
from db.sync import complete


async def info(network: NetworkMount) -> Json:
    """Returns what a node returns: everything that clients check before other requests.

    Rates are 0, because an archive sees no traffic. `isHealthy` is true once the archive holds a milestone.
    `confirmedMilestoneIndex` is the last milestone before a gap, `pruningIndex` the one before the first.
    """
    held = await complete(network.store, network.name)
    newest = held[-1][1] if held else 0
    newest_row = await milestones.find_milestone(network.store, newest)
    return {
        "name": "Permanode",
        "version": VERSION,
        "isHealthy": bool(held),
        "networkId": network.name,
        "bech32HRP": network.bech32_hrp,
        "minPoWScore": network.min_pow_score,
        "messagesPerSecond": 0,
        "referencedMessagesPerSecond": 0,
        "referencedRate": 0,
        "latestMilestoneTimestamp": newest_row["timestamp"] if newest_row else 0,
        "latestMilestoneIndex": newest,
        "confirmedMilestoneIndex": held[0][1] if held else 0,
        "pruningIndex": held[0][0] - 1 if held else 0,
        "features": [],
    }
