"""Questions to every operation of openapi.yaml, with ids that the oracle ledger holds, and the whole bodies to answer.

Rules of this file: a question stands under its path below the mount, as every mount answers alike; a body is what
follows from the oracle's lines, bytes are hex.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.api.oracle import Json, Oracle
from tests.clients import bodies
from tests.conftest import ROOT

MOUNTS = ("/api/v1", "/api/core/v1", "/api/{network}")


@dataclass(frozen=True)
class Walk:
    """One call of an operation. `given`: parameter, as on the wire → value. `answer`: a JSON body, or hex of bytes."""

    method: str
    path: str
    operation: str
    status: int
    given: Mapping[str, Any]
    answer: Any

    @property
    def is_bytes(self) -> bool:
        return isinstance(self.answer, str)

    @property
    def printed(self) -> Json:
        """What a driver prints of it; what was refused comes with the whole body."""
        return {"answer": self.answer} if self.status == 200 else {"refused": self.status, "message": self.answer}


def below(method: str, path: str) -> str:
    """A path without its mount, after its method where that is not get."""
    rest = next((path.removeprefix(mount) for mount in MOUNTS if path.startswith(f"{mount}/")), path)
    return rest if method == "get" else f"{method} {rest}"


def walks(oracle: Oracle) -> Iterator[Walk]:
    """At least one for each operation of openapi.yaml, in its order; KeyError names a path that nobody asks.

    What promises no 200 has to answer 501.
    """
    asked = questions(oracle)
    for path, item in yaml.safe_load((ROOT / "openapi.yaml").read_text("utf-8"))["paths"].items():
        network = {"network": oracle.expected["network"]} if "{network}" in path else {}
        for method, operation in item.items():
            status = 200 if "200" in operation["responses"] else 501
            for given, answer in asked[below(method, path)]:
                yield Walk(method, path, operation["operationId"], status, network | given, answer)


def of_every_kind(oracle: Oracle) -> list[Json]:
    """Messages of the ledger, one of each payload, inclusion state and what else changes their bodies' form."""
    found: dict[tuple[Any, ...], Json] = {}
    for entry in oracle.entries:
        payload = entry["message"]["payload"] or {"type": None}
        inside = payload["essence"] if payload["type"] == 0 else payload
        found.setdefault(
            (
                payload["type"],
                bool(inside.get("payload") or inside.get("receipt")),
                any(unlock["type"] for unlock in payload.get("unlockBlocks", [])),
                *sorted(set(entry["metadata"]) | {entry["metadata"].get("ledgerInclusionState", "")}),
            ),
            entry,
        )
    return list(found.values())


def questions(oracle: Oracle) -> dict[str, list[tuple[Json, Any]]]:
    """Path below the mount → what is given and the whole answer, of each form that the answer has."""
    entries, accounts, network = of_every_kind(oracle), oracle.expected["addresses"], oracle.expected["network"]
    lines = [line for line in oracle.milestones if line["milestone"]["index"] in (1, 10, 50)]
    included = [entry for entry in entries if entry is oracle.included.get(entry.get("transactionId", ""))]
    found = [next(key for key, each in oracle.outputs.items() if each["isSpent"] is spent) for spent in (True, False)]

    def of(entry: Json) -> dict[str, Any]:
        children = bodies.children(oracle, entry["id"])
        parts = {"": entry["message"], "/metadata": entry["metadata"], "/children": children}
        return {part: {"data": value} for part, value in parts.items()} | {"/raw": entry["bytes_hex"]}

    def outputs_of(account: Json) -> Json:
        return {"data": bodies.address_outputs(oracle, account["address"], include_spent=True)}

    parts = ("", "/metadata", "/raw", "/children")
    message, transaction = "/messages/{messageId}", "/transactions/{transactionId}/included-message"
    return {
        "/health": [({}, {"isHealthy": True, "networks": [network]})],
        "/info": [({}, {"data": bodies.info(oracle)})],
        "/messages": [({"index": tag}, {"data": bodies.tagged(oracle, tag)}) for tag in oracle.tagged],
        "post /messages": [({}, refusal("an archive takes no messages: send them to a node of the network"))],
        **{message + part: [({"messageId": entry["id"]}, of(entry)[part]) for entry in entries] for part in parts},
        **{
            transaction + part: [({"transactionId": entry["transactionId"]}, of(entry)[part]) for entry in included]
            for part in parts
        },
        "/outputs/{outputId}": [({"outputId": key}, {"data": oracle.outputs[key]}) for key in found],
        "/outputs/{transactionId}/{outputIndex}": [
            (
                {"transactionId": key[:64], "outputIndex": oracle.outputs[key]["outputIndex"]},
                {"data": oracle.outputs[key]},
            )
            for key in found
        ],
        "/addresses/{address}/outputs": [
            ({"address": account["bech32"], "include-spent": True}, outputs_of(account)) for account in accounts[12:]
        ],
        "/addresses/ed25519/{address}/outputs": [
            ({"address": account["address"], "include-spent": True}, outputs_of(account)) for account in accounts[12:]
        ],
        "/milestones/{index}": [
            ({"index": line["milestone"]["index"]}, {"data": bodies.milestone(line)}) for line in lines
        ],
        "/milestones/{index}/messages": [
            ({"index": line["milestone"]["index"]}, {"data": bodies.milestone_messages(line)}) for line in lines
        ],
        "/milestones/{index}/utxo-changes": [
            ({"index": line["milestone"]["index"]}, {"data": line["milestone"]["utxoChanges"]}) for line in lines
        ],
        "/addresses/{address}": [
            ({"address": account["bech32"]}, {"data": bodies.balance(oracle, account)}) for account in accounts
        ],
        "/addresses/ed25519/{address}": [
            ({"address": account["address"]}, {"data": bodies.balance(oracle, account)}) for account in accounts
        ],
        "/treasury": [({}, {"data": oracle.expected["treasury"]})],
        "/receipts": [({}, {"data": bodies.receipts(oracle)})],
        "/receipts/{migratedAt}": [
            ({"migratedAt": index}, {"data": bodies.receipts(oracle, index)}) for index in (100, 101, 102)
        ],
        "/tips": [({}, refusal("an archive has no tips: it attaches no messages"))],
        "/peers": [({}, refusal("an archive has no peers"))],
    }


def refusal(message: str) -> Json:
    """The whole body of a 501."""
    return {"error": {"code": "501", "message": message}}
