"""Requests for every operation of the core API v2, with ids of the Stardust oracle ledger, and the expected bodies.

No generated client requests bytes here, because none of them sends an Accept header.
"""

from typing import Any

from tests.api.oracle import Json
from tests.api.stardust import StardustLedger
from tests.clients import bodies
from tests.clients.api_requests import PEER, ApiRequest, ApiRequests, rejected


def of_core_v2(ledger: StardustLedger) -> ApiRequests:
    """The requests for a mount of the core API v2."""
    entries = of_every_kind(ledger)
    included = [entry for entry in entries if entry is ledger.included.get(entry.get("transactionId", ""))]
    outputs = outputs_of_every_kind(ledger)
    milestones = [each for each in ledger.milestone_entries if each["index"] in (1, 10, 30, 50)]
    requests = {
        "/info": [ApiRequest({}, ledger.info())],
        "/sync": [ApiRequest({}, bodies.sync(len(ledger.milestones)))],
        "/treasury": [ApiRequest({}, ledger.expected["treasury"])],
        "/receipts": [ApiRequest({}, ledger.receipts())],
        "/receipts/{migratedAt}": [ApiRequest({"migratedAt": at}, ledger.receipts(at)) for at in ledger.migrated_at],
        "/blocks/{blockId}": [ApiRequest({"blockId": entry["id"]}, entry["block"]) for entry in entries],
        "/blocks/{blockId}/metadata": [ApiRequest({"blockId": entry["id"]}, entry["metadata"]) for entry in entries],
        "/outputs/{outputId}": [ApiRequest({"outputId": key}, ledger.outputs[key]) for key in outputs],
        "/outputs/{outputId}/metadata": [
            ApiRequest({"outputId": key}, ledger.outputs[key]["metadata"]) for key in outputs
        ],
        "/tips": rejected("an archive has no tips: it attaches no blocks"),
        "/peers": rejected("an archive has no peers"),
        "/peers/{peerId}": [
            api_request._replace(given={"peerId": PEER}) for api_request in rejected("an archive has no peers")
        ],
        "post /blocks": rejected("an archive takes no blocks: send them to a node of the network"),
        "post /whiteflag": rejected("an archive computes no milestones"),
        "post /control/database/prune": rejected("an archive is never pruned"),
        "post /control/snapshots/create": rejected("an archive makes no snapshots"),
    }
    for part, key in (("", "block"), ("/metadata", "metadata")):
        requests["/transactions/{transactionId}/included-block" + part] = [
            ApiRequest({"transactionId": entry["transactionId"]}, entry[key]) for entry in included
        ]
    for path, parameter, name in (
        ("/milestones/{milestoneId}", "milestoneId", "milestoneId"),
        ("/milestones/by-index/{index}", "index", "index"),
    ):
        requests[path] = [ApiRequest({parameter: each[name]}, each["payload"]) for each in milestones]
        requests[f"{path}/utxo-changes"] = [
            ApiRequest({parameter: each[name]}, each["utxoChanges"]) for each in milestones
        ]
    return requests


def of_every_kind(ledger: StardustLedger) -> list[Json]:
    """Blocks of the ledger: one of each payload, unlock, inclusion state and other property that changes the body's
    form.
    """
    found: dict[tuple[Any, ...], Json] = {}
    for entry in ledger.entries:
        payload = entry["block"].get("payload", {"type": None})
        inside = payload.get("essence", payload)
        unlocks = {unlock["type"] for unlock in payload.get("unlocks", [])}
        form = (*sorted(inside), *sorted(unlocks), *sorted(entry["metadata"]))
        found.setdefault((payload["type"], *form, entry["metadata"].get("ledgerInclusionState")), entry)
    return list(found.values())


def outputs_of_every_kind(ledger: StardustLedger) -> list[str]:
    """Ids of outputs, one of each type and set of keys, conditions and features, spent and unspent."""
    found: dict[tuple[Any, ...], str] = {}
    for output_id, each in ledger.outputs.items():
        output = each["output"]
        parts = [item["type"] for name in ("unlockConditions", "features") for item in output.get(name, [])]
        found.setdefault((output["type"], *sorted(output), *parts, each["metadata"]["isSpent"]), output_id)
    return list(found.values())
