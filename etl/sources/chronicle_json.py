"""Documents of inx-chronicle from its database and its tests: raw blocks with metadata, in MongoDB's extended JSON.

There are two forms: an object of milestones, {INDEX: {milestone_data: {payload, milestone_id, …}, cone: {POSITION:
{raw, metadata, block_id}}, …}}, and a list of blocks without milestone payloads, [{_id, raw, metadata}].
"""

from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from etl.sources.cone import Cone, Entry, RejectedItem
from etl.sources.fields import (
    has_key,
    read_conflict_reason,
    read_inclusion_state,
    read_milestone_index,
)
from ledger.chrysalis.values import TreasuryInput, TreasuryOutput, TreasuryTransaction
from ledger.eras import STARDUST, Coordinator, KeyRange
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.json import ADDRESS_KEYS
from ledger.stardust.json_parse import parse_milestone_json
from ledger.stardust.values import Milestone, MilestoneSignature, ParametersOption, ReceiptOption

CONFLICT_REASONS = {
    "none": 0,
    "input_utxo_already_spent": 1,
    "input_utxo_already_spent_in_this_milestone": 2,
    "input_utxo_not_found": 3,
    "created_consumed_amount_mismatch": 4,
    "invalid_signature": 5,
    "timelock_not_expired": 6,
    "invalid_native_tokens": 7,
    "storage_deposit_return_unfulfilled": 8,
    "invalid_unlock": 9,
    "inputs_commitments_mismatch": 10,
    "unverified_sender": 11,
    "invalid_chain_state_transition": 12,
    "semantic_validation_failed": 255,
}

ADDRESS_TYPES = {"ed25519": 0, "alias": 8, "nft": 16}

MALFORMED = (KeyError, TypeError, AttributeError, ValueError)
"""The exceptions of an invalid value. A document contains many milestones; one of them must not reject the others."""


class ChronicleMilestones:
    """Milestones by index, each with its cone."""

    name = "inx-chronicle JSON, milestones"

    def claims(self, document: Any) -> bool:
        """Claims objects whose members all have milestone_data and cone."""
        if not isinstance(document, dict) or not document:
            return False
        return all(has_key(each, "milestone_data") and has_key(each, "cone") for each in document.values())

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone per member."""
        return [_cone(each) for each in document.values()]


class ChronicleBlocks:
    """Blocks of one or more milestones, without the payloads of the milestones."""

    name = "inx-chronicle JSON, blocks"

    def claims(self, document: Any) -> bool:
        """Claims lists whose items all have raw and metadata."""
        if not isinstance(document, list) or not document:
            return False
        return all(has_key(each, "raw") and has_key(each, "metadata") for each in document)

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone for each milestone that references blocks of the list."""
        by_index: dict[int, list[Any]] = {}
        for each in document:
            index = read_milestone_index(
                each["metadata"].get("referenced_by_milestone_index"), "metadata.referenced_by_milestone_index"
            )
            by_index.setdefault(index, []).append(each)
        cones = []
        for index, records in sorted(by_index.items()):
            cone = Cone(index, codec=STARDUST)
            _take(cone, records, "_id")
            cones.append(cone)
        return cones


def _cone(value: dict[str, Any]) -> Cone:
    data = value["milestone_data"]
    essence = data["payload"]["essence"]
    cone = Cone(read_milestone_index(essence["index"], "essence.index"), codec=STARDUST)
    try:
        cone.milestone = _milestone(essence, data["payload"]["signatures"])
        _check_id(data, stardust.milestone_id(cone.milestone))
        cone.coordinator = _coordinator(data.get("node_config"))
    except MALFORMED as error:
        cone.rejected.append(RejectedItem("", f"milestone: {_reason_of(error)}"))
    _take(cone, value["cone"].values(), "block_id")
    return cone


def _check_id(data: dict[str, Any], derived: bytes) -> None:
    if "milestone_id" in data and _binary(data["milestone_id"], "milestone_id") != derived:
        raise JsonError("milestone_id", f"{derived.hex()} by the payload")


def _coordinator(config: Any) -> Coordinator | None:
    """The coordinator from the node's configuration. A range whose ends are equal is open."""
    if config is None:
        return None
    try:
        ranges = tuple(
            KeyRange(
                bytes.fromhex(each["public_key"].removeprefix("0x")),
                each["start"],
                each["end"] if each["end"] > each["start"] else None,
            )
            for each in config["milestone_key_ranges"]
        )
        return Coordinator(ranges, config["milestone_public_key_count"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise JsonError("node_config", "milestone_key_ranges and milestone_public_key_count") from None


def _milestone(essence: dict[str, Any], signatures: list[dict[str, Any]]) -> Milestone:
    """Parses a milestone payload by converting it to the node's JSON. Errors use the names of the node's JSON."""
    return parse_milestone_json(
        {
            "type": Milestone.KIND,
            "index": essence["index"],
            "timestamp": essence["timestamp"],
            "protocolVersion": essence["protocol_version"],
            "previousMilestoneId": _prefixed(essence["previous_milestone_id"], "previous_milestone_id"),
            "parents": [_prefixed(each, "parents") for each in essence["parents"]],
            "inclusionMerkleRoot": _prefixed(essence["inclusion_merkle_root"], "inclusion_merkle_root"),
            "appliedMerkleRoot": _prefixed(essence["applied_merkle_root"], "applied_merkle_root"),
            "metadata": _prefixed(essence["metadata"], "metadata"),
            "options": [_option(each) for each in essence["options"]],
            "signatures": [
                {
                    "type": MilestoneSignature.KIND,
                    "publicKey": _prefixed(each["public_key"], "public_key"),
                    "signature": _prefixed(each["signature"], "signature"),
                }
                for each in signatures
            ],
        }
    )


def _option(value: dict[str, Any]) -> dict[str, Any]:
    """Converts a milestone option from the form of inx-chronicle, where parameters are a list of numbers."""
    match value["kind"]:
        case "receipt":
            treasury = value["transaction"]
            return {
                "type": ReceiptOption.KIND,
                "migratedAt": value["migrated_at"],
                "final": value["last"],
                "funds": [_funds(each) for each in value["funds"]],
                "transaction": {
                    "type": TreasuryTransaction.KIND,
                    "input": {
                        "type": TreasuryInput.KIND,
                        "milestoneId": _prefixed(treasury["input_milestone_id"], "input_milestone_id"),
                    },
                    "output": {"type": TreasuryOutput.KIND, "amount": treasury["output_amount"]},
                },
            }
        case "parameters":
            return {
                "type": ParametersOption.KIND,
                "targetMilestoneIndex": value["target_milestone_index"],
                "protocolVersion": value["protocol_version"],
                "params": f"0x{bytes(value['binary_parameters']).hex()}",
            }
        case unknown:
            raise JsonError("options.kind", f"receipt or parameters, found {unknown!r}")


def _funds(value: dict[str, Any]) -> dict[str, Any]:
    ((kind, address),) = value["address"].items()
    if kind not in ADDRESS_TYPES:
        raise JsonError("funds.address", f"one of {', '.join(ADDRESS_TYPES)}, found {kind!r}")
    tag = ADDRESS_TYPES[kind]
    return {
        "tailTransactionHash": _prefixed(value["tail_transaction_hash"], "tail_transaction_hash"),
        "address": {"type": tag, ADDRESS_KEYS[tag]: _prefixed(address, "address")},
        "deposit": value["amount"],
    }


def _take(cone: Cone, records: Iterable[Any], id_key: str) -> None:
    for position, record in enumerate(records):
        item = f"blocks[{position}]"
        try:
            block_id = _binary(record.get(id_key), id_key)
            item = block_id.hex()
            metadata = record["metadata"]
            reason = metadata.get("conflict_reason")
            data = _binary(record["raw"], "raw")
            entry = Entry(
                block_id,
                stardust.decode_block(data),
                data,
                metadata.get("referenced_by_milestone_index"),
                read_inclusion_state(metadata.get("inclusion_state"), "metadata.inclusion_state"),
                read_conflict_reason(CONFLICT_REASONS.get(reason, reason), "metadata.conflict_reason"),
            )
            cone.entries.append(entry)
        except MALFORMED as error:
            cone.rejected.append(RejectedItem(item, _reason_of(error)))


def _reason_of(error: Exception) -> str:
    if isinstance(error, JsonError | CodecError):
        return str(error)
    return f"this format's keys expected, {type(error).__name__}: {error}"


def _prefixed(value: Any, path: str) -> str:
    return f"0x{_binary(value, path).hex()}"


def _binary(value: Any, path: str) -> bytes:
    try:
        return b64decode(value["$binary"]["base64"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise JsonError(path, '{"$binary": {"base64": TEXT}}') from None
