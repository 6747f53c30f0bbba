"""The rows of every table, computed from the Chrysalis oracle ledger's lines with simple, slow code.

It reads node JSON and hex directly from the input and serializes the few parts that it needs. It uses nothing of
ledger/ or etl/, so tests can compare the project's results with it. reference_rows.py computes the rows.
"""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, SHARED
from tests.reference_facts import Genesis, Message, Milestone, Output, Receipt, Spend, Transaction
from tests.reference_reading import Reading
from tests.reference_rows import u16

ORACLE = next(
    folder for folder in (SHARED / "iota" / "ledger" / "chrysalis", ROOT / "tests" / "oracle") if folder.is_dir()
)
"""The Chrysalis oracle ledger: from the full data set if present, otherwise the shipped packed copy."""

STATES = {"noTransaction": 0, "included": 1, "conflicting": 2}


def read_text(path: Path) -> str:
    """The text of a file, or of the same file with the suffix .gz."""
    packed = path.with_name(f"{path.name}.gz")
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text("utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON values of a .jsonl file, packed or not."""
    return [json.loads(line) for line in read_text(path).splitlines() if line]


def read_json(path: Path) -> Any:
    """The JSON value of a file, packed or not."""
    return json.loads(read_text(path))


def output_bytes(output: dict[str, Any]) -> bytes:
    """Output type, address type, address, amount (TIP-7)."""
    address, amount = output["address"], int(output["amount"])
    return bytes([output["type"], address["type"]]) + bytes.fromhex(address["address"]) + amount.to_bytes(8, "little")


def input_bytes(entry: dict[str, Any]) -> bytes:
    """Input type, transaction id, output index (TIP-7)."""
    return bytes([entry["type"]]) + bytes.fromhex(entry["transactionId"]) + u16(entry["transactionOutputIndex"])


def unlock_bytes(block: dict[str, Any]) -> bytes:
    """Unlock type, then signature type, public key and signature, or the referenced index (TIP-7)."""
    if block["type"] == 1:
        return b"\x01" + u16(block["reference"])
    signature = block["signature"]
    return bytes([0, signature["type"]]) + bytes.fromhex(signature["publicKey"] + signature["signature"])


def payload_slice(message: bytes) -> bytes:
    """The payload of a message: after network id, parents and its own length, before the nonce (TIP-6)."""
    return message[9 + 32 * message[8] + 4 : -8]


def tags_of(message: dict[str, Any]) -> list[str]:
    """The index of an indexation payload, direct or inside a transaction."""
    payload = message["payload"]
    if payload is not None and payload["type"] == 0:
        payload = payload["essence"]["payload"]
    return [payload["index"]] if payload is not None and payload["type"] == 2 else []


def ed25519_address(public_key: str) -> str:
    """Address type, BLAKE2b-256 of the public key (TIP-7)."""
    return "00" + hashlib.blake2b(bytes.fromhex(public_key), digest_size=32).hexdigest()


def owner(output: dict[str, Any]) -> str:
    """The serialized address of an output."""
    return f"{output['address']['type']:02x}{output['address']['address']}"


def output_fact(output: dict[str, Any]) -> Output:
    """An output of a transaction, of genesis, or created from migrated funds."""
    address = owner(output)
    return Output(output["type"], "legacy", address, output["amount"], output_bytes(output), {"address": address})


def spend_fact(entry: dict[str, Any], unlock: dict[str, Any]) -> Spend:
    """An input and its unlock block."""
    output_id = entry["transactionId"] + u16(entry["transactionOutputIndex"]).hex()
    signer = ed25519_address(unlock["signature"]["publicKey"]) if unlock["type"] == 0 else None
    return Spend(input_bytes(entry), output_id, unlock_bytes(unlock), signer)


def message_fact(entry: dict[str, Any]) -> Message:
    """A message of a line, or a pending one."""
    message, metadata = entry["message"], entry["metadata"]
    payload, transaction = message["payload"], None
    if payload is not None and payload["type"] == 0:
        essence = payload["essence"]
        spends = [spend_fact(*each) for each in zip(essence["inputs"], payload["unlockBlocks"], strict=True)]
        transaction = Transaction(entry["transactionId"], spends, [output_fact(each) for each in essence["outputs"]])
    return Message(
        entry["id"],
        1,
        bytes.fromhex(entry["bytes_hex"]),
        message["parentMessageIds"],
        None if payload is None else payload["type"],
        tags_of(message),
        transaction,
        STATES.get(metadata.get("ledgerInclusionState")),
        metadata.get("conflictReason"),
    )


def milestone_fact(line: dict[str, Any]) -> Milestone:
    """A line: the milestone and its cone, with its own message last."""
    milestone, entries = line["milestone"], line["messages"]
    own = next(entry for entry in entries if entry["id"] == milestone["messageId"])
    receipt = milestone["payload"]["receipt"]
    return Milestone(
        milestone["index"],
        milestone["timestamp"],
        milestone["milestoneId"],
        own["id"],
        payload_slice(bytes.fromhex(own["bytes_hex"])),
        [message_fact(entry) for entry in entries],
        None if receipt is None else receipt_fact(receipt, own["id"], entries.index(own)),
    )


def receipt_fact(receipt: dict[str, Any], message_id: str, position: int) -> Receipt:
    """A receipt of the milestone whose own message has that position."""
    funds = [{"type": 0, "address": fund["address"], "amount": fund["deposit"]} for fund in receipt["funds"]]
    return Receipt(
        receipt["migratedAt"],
        receipt_bytes(receipt),
        receipt["transaction"]["input"]["milestoneId"],
        receipt["transaction"]["output"]["amount"],
        [output_fact(each) for each in funds],
        message_id,
        position,
    )


def receipt_bytes(receipt: dict[str, Any]) -> bytes:
    """A receipt payload that contains the treasury transaction (TIP-17)."""
    funds: bytes = b"".join(
        bytes.fromhex(fund["tailTransactionHash"])
        + bytes([fund["address"]["type"]])
        + bytes.fromhex(fund["address"]["address"])
        + fund["deposit"].to_bytes(8, "little")
        for fund in receipt["funds"]
    )
    before, after = receipt["transaction"]["input"], receipt["transaction"]["output"]
    treasury = (4).to_bytes(4, "little") + bytes([before["type"]]) + bytes.fromhex(before["milestoneId"])
    treasury += bytes([after["type"]]) + after["amount"].to_bytes(8, "little")
    migrated_at: int = receipt["migratedAt"]
    data: bytes = (
        (3).to_bytes(4, "little")
        + migrated_at.to_bytes(4, "little")
        + bytes([receipt["final"]])
        + u16(len(receipt["funds"]))
        + funds
        + len(treasury).to_bytes(4, "little")
        + treasury
    )
    return data


def genesis_fact(document: dict[str, Any]) -> Genesis:
    """A genesis.json."""
    treasury = document["treasury"]
    outputs = {each["outputId"]: output_fact(each["output"]) for each in document["outputs"]}
    return Genesis(document["ledgerIndex"], outputs, (treasury["milestoneId"], treasury["amount"]))


READING = Reading(milestone_fact, message_fact, lambda: genesis_fact(read_json(ORACLE / "genesis.json")))
reference_rows, whole_rows = READING.rows, READING.whole_rows
