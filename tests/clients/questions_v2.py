"""Requests for every operation of the core API v2, with ids of the Stardust oracle ledger, and the expected bodies.

No generated client requests bytes here, because none of them sends an Accept header.
"""

from typing import Any

from tests.api.oracle import Json
from tests.api.stardust import StardustLedger
from tests.clients import bodies
from tests.clients.questions import Asked, Question, refused

PEER = "12D3KooWFJ8Nq6gHLLvigTpPSbyMmLk35k1TcpJof8Y4y8yFAB32"


def of_core_v2(ledger: StardustLedger) -> Asked:
    """The requests for a mount of the core API v2."""
    entries = of_every_kind(ledger)
    included = [entry for entry in entries if entry is ledger.included.get(entry.get("transactionId", ""))]
    outputs = outputs_of_every_kind(ledger)
    milestones = [each for each in ledger.milestone_entries if each["index"] in (1, 10, 30, 50)]
    asked = {
        "/info": [Question({}, ledger.info())],
        "/sync": [Question({}, bodies.sync(len(ledger.milestones)))],
        "/treasury": [Question({}, ledger.expected["treasury"])],
        "/receipts": [Question({}, ledger.receipts())],
        "/receipts/{migratedAt}": [Question({"migratedAt": at}, ledger.receipts(at)) for at in ledger.migrated_at],
        "/blocks/{blockId}": [Question({"blockId": entry["id"]}, entry["block"]) for entry in entries],
        "/blocks/{blockId}/metadata": [Question({"blockId": entry["id"]}, entry["metadata"]) for entry in entries],
        "/outputs/{outputId}": [Question({"outputId": key}, ledger.outputs[key]) for key in outputs],
        "/outputs/{outputId}/metadata": [
            Question({"outputId": key}, ledger.outputs[key]["metadata"]) for key in outputs
        ],
        "/tips": refused("an archive has no tips: it attaches no blocks"),
        "/peers": refused("an archive has no peers"),
        "/peers/{peerId}": [
            question._replace(given={"peerId": PEER}) for question in refused("an archive has no peers")
        ],
        "post /blocks": refused("an archive takes no blocks: send them to a node of the network"),
        "post /whiteflag": refused("an archive computes no milestones"),
        "post /control/database/prune": refused("an archive is never pruned"),
        "post /control/snapshots/create": refused("an archive makes no snapshots"),
    }
    for part, key in (("", "block"), ("/metadata", "metadata")):
        asked["/transactions/{transactionId}/included-block" + part] = [
            Question({"transactionId": entry["transactionId"]}, entry[key]) for entry in included
        ]
    for path, parameter, name in (
        ("/milestones/{milestoneId}", "milestoneId", "milestoneId"),
        ("/milestones/by-index/{index}", "index", "index"),
    ):
        asked[path] = [Question({parameter: each[name]}, each["payload"]) for each in milestones]
        asked[f"{path}/utxo-changes"] = [Question({parameter: each[name]}, each["utxoChanges"]) for each in milestones]
    return asked


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
