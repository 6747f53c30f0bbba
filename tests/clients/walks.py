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

    path: str
    operation: str
    given: Mapping[str, Any]
    answer: Any

    @property
    def is_bytes(self) -> bool:
        return isinstance(self.answer, str)


def below(path: str) -> str:
    """A path without its mount."""
    return next((path.removeprefix(mount) for mount in MOUNTS if path.startswith(f"{mount}/")), path)


def walks(oracle: Oracle) -> Iterator[Walk]:
    """At least one for each operation of openapi.yaml, in its order; KeyError names a path that nobody asks."""
    asked = questions(oracle)
    for path, item in yaml.safe_load((ROOT / "openapi.yaml").read_text("utf-8"))["paths"].items():
        network = {"network": oracle.expected["network"]} if "{network}" in path else {}
        for operation in item.values():
            for given, answer in asked[below(path)]:
                yield Walk(path, operation["operationId"], network | given, answer)


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
        "/api/routes": [({}, {"routes": ["core/v1", network, "v1"]})],
        "/info": [({}, {"data": bodies.info(oracle)})],
        "/messages": [({"index": tag}, {"data": bodies.tagged(oracle, tag)}) for tag in oracle.tagged],
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
    }
