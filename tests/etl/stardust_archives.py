"""The Stardust oracle ledger as files of every input format, built from its node JSON.

Apart from eras, it uses no project code. A form returns the bytes of a file with one milestone.
"""

import struct
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path

import orjson

from ledger.eras import STARDUST, Eras
from tests.etl.archives import Json, dump, eras_of
from tests.reference import read_lines, read_text
from tests.reference_stardust import ORACLE, payload_slice

NETWORK = "permatest-2"


def eras() -> Eras:
    """The eras of the oracle ledger's network."""
    return eras_of(NETWORK, STARDUST)


@cache
def _lines() -> list[str]:
    return read_text(ORACLE / "milestones.jsonl").splitlines()


@cache
def _oracle() -> list[Json]:
    return oracle()


def oracle() -> list[Json]:
    """The ledger's lines, by milestone from 1. Tests may change these copies."""
    return [orjson.loads(line) for line in _lines()]


def line_of(number: int) -> Json:
    """One of them."""
    found: Json = orjson.loads(_lines()[number - 1])
    return found


@cache
def pending() -> list[Json]:
    """Blocks that no milestone references."""
    return read_lines(ORACLE / "pending.jsonl")


def order_of(number: int) -> list[bytes]:
    """Block ids of a milestone by the oracle's white-flag index."""
    blocks = sorted(_oracle()[number - 1]["blocks"], key=lambda each: each["metadata"]["whiteFlagIndex"])
    return [bytes.fromhex(each["id"][2:]) for each in blocks]


def bytes_of(number: int) -> dict[bytes, bytes]:
    """Block id → bytes of a milestone."""
    blocks = _oracle()[number - 1]["blocks"]
    return {bytes.fromhex(each["id"][2:]): bytes.fromhex(each["bytes_hex"]) for each in blocks}


def milestone_bytes(line: Json) -> bytes:
    """The milestone payload of a line."""
    return payload_slice(bytes.fromhex(line["milestone"]["bytes_hex"]))


def archive_d(line: Json) -> bytes:
    """Format D in its "V2" form, ids and messages tagged; blocks sorted by id."""

    def record(text: str, block: Json, metadata: Json) -> Json:
        return {
            "message_id": {"Shimmer": text},
            "message": {"Shimmer": block},
            "milestone_index": metadata.get("referencedByMilestoneIndex"),
            "inclusion_state": metadata.get("ledgerInclusionState"),
            "conflict_reason": metadata.get("conflictReason"),
            "proof": None,
            "protocol_version": 2,
        }

    milestone = line["milestone"]
    payload = milestone["payload"]
    own = {"protocolVersion": 2, "parents": payload["parents"], "payload": payload, "nonce": "0"}
    blocks = sorted(line["blocks"], key=lambda each: each["id"])
    return dump(
        {
            "milestone": {"message": record(milestone["blockId"], own, {})},
            "messages": [record(each["id"], each["block"], each["metadata"]) for each in blocks],
        }
    )


def binary(text: str) -> Json:
    """Hex with 0x, as MongoDB's extended JSON."""
    return {"$binary": {"base64": b64encode(bytes.fromhex(text[2:])).decode(), "subType": "00"}}


def chronicle_option(option: Json) -> Json:
    """Follows inx-chronicle's src/model/payload/milestone/mod.rs: no available document contains an option."""
    if option["type"] == 1:
        return {
            "kind": "parameters",
            "target_milestone_index": option["targetMilestoneIndex"],
            "protocol_version": option["protocolVersion"],
            "binary_parameters": list(bytes.fromhex(option["params"][2:])),
        }
    treasury = option["transaction"]
    return {
        "kind": "receipt",
        "migrated_at": option["migratedAt"],
        "last": option["final"],
        "funds": [
            {
                "tail_transaction_hash": binary(each["tailTransactionHash"]),
                "address": {"ed25519": binary(each["address"]["pubKeyHash"])},
                "amount": each["deposit"],
            }
            for each in option["funds"]
        ],
        "transaction": {
            "input_milestone_id": binary(treasury["input"]["milestoneId"]),
            "output_amount": treasury["output"]["amount"],
        },
    }


def chronicle_json(line: Json) -> bytes:
    """inx-chronicle's own format, spread over several lines."""
    payload = line["milestone"]["payload"]
    essence = {
        "index": payload["index"],
        "timestamp": payload["timestamp"],
        "protocol_version": payload["protocolVersion"],
        "previous_milestone_id": binary(payload["previousMilestoneId"]),
        "parents": [binary(each) for each in payload["parents"]],
        "inclusion_merkle_root": binary(payload["inclusionMerkleRoot"]),
        "applied_merkle_root": binary(payload["appliedMerkleRoot"]),
        "metadata": binary(payload.get("metadata", "0x")),
        "options": [chronicle_option(each) for each in payload.get("options", ())],
    }
    signatures = [
        {"kind": "ed25519", "public_key": binary(each["publicKey"]), "signature": binary(each["signature"])}
        for each in payload["signatures"]
    ]
    states = {"noTransaction": "no_transaction"}
    cone = {
        str(position): {
            "raw": binary(f"0x{each['bytes_hex']}"),
            "metadata": {
                "referenced_by_milestone_index": each["metadata"]["referencedByMilestoneIndex"],
                "inclusion_state": states.get(*[each["metadata"]["ledgerInclusionState"]] * 2),
                "conflict_reason": each["metadata"].get("conflictReason", "none"),
            },
            "block_id": binary(each["id"]),
        }
        for position, each in enumerate(line["blocks"])
    }
    data = {
        "payload": {"essence": essence, "signatures": signatures},
        "milestone_id": binary(line["milestone"]["milestoneId"]),
    }
    document = {str(payload["index"]): {"milestone_data": data, "cone": cone, "consumed": [], "created": []}}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def packed(line: Json) -> bytes:
    """Raw blocks, each preceded by its length, after the milestone's payload."""
    records = [milestone_bytes(line), *(bytes.fromhex(each["bytes_hex"]) for each in line["blocks"])]
    return b"".join(struct.pack("<I", len(record)) + record for record in records)


FORMS: dict[str, Callable[[Json], bytes]] = {
    "node JSON": dump,
    "archive D": archive_d,
    "inx-chronicle": chronicle_json,
    "packed": packed,
}
STATELESS = {"packed"}
"""Forms that contain no inclusion state."""


def has_options(line: Json) -> bool:
    """Whether its milestone contains a receipt or protocol parameters."""
    return bool(line["milestone"]["payload"].get("options"))


def has_conflicts(line: Json) -> bool:
    """Whether one of its blocks conflicts."""
    return any(each["metadata"]["ledgerInclusionState"] == "conflicting" for each in line["blocks"])


def write_folder(folder: Path, lines: list[Json], *loose: bytes) -> Path:
    """Raw blocks and milestone payloads, each in its own file, and blocks beside them."""
    folder.mkdir(parents=True)
    for line in lines:
        (folder / f"{line['milestone']['index']}.milestone").write_bytes(milestone_bytes(line))
    blocks = [bytes.fromhex(each["bytes_hex"]) for line in lines for each in line["blocks"]]
    for data in (*blocks, *loose):
        (folder / f"{blake2b(data, digest_size=32).hexdigest()}.block").write_bytes(data)
    return folder


def of_state(line: Json, state: str) -> list[Json]:
    """Entries of a line with that inclusion state."""
    return [each for each in line["blocks"] if each["metadata"]["ledgerInclusionState"] == state]
