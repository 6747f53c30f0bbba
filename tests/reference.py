"""The rows of every table, computed from an oracle ledger's lines the slow and plain way.

Rules of this file: it reads node JSON and hex as they stand in the input and serializes the few parts it needs by hand;
nothing of ledger/ or etl/ is used, so that what they do can be compared with it. Rows are dicts by column name with
the values of the Store port: HEX as text, BLOB as bytes. Partitions alone come from db/partitions.py, which has tests
of its own, given one ascending load of everything.
"""

import gzip
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from db.model import Type
from db.partitions import grow, lookup_key_text, place
from db.schema import BY_NAME
from db.store import WritableStore
from tests.conftest import ROOT, SHARED

ORACLE = next(
    folder for folder in (SHARED / "iota" / "ledger" / "chrysalis", ROOT / "tests" / "oracle") if folder.is_dir()
)
"""The Chrysalis oracle ledger: of the full data set, else the packed copy that the repository ships."""

Rows: TypeAlias = dict[str, list[dict[str, Any]]]

STATES = {"noTransaction": 0, "included": 1, "conflicting": 2}
PENDING_RANGE = 2_147_483_647


def read_text(path: Path) -> str:
    """The text of a file, or of the same file with .gz behind its name."""
    packed = path.with_name(f"{path.name}.gz")
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text("utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON values of a .jsonl file, packed or not."""
    return [json.loads(line) for line in read_text(path).splitlines() if line]


def read_json(path: Path) -> Any:
    """The JSON value of a file, packed or not."""
    return json.loads(read_text(path))


def u16(value: int) -> bytes:
    """Two bytes, little-endian."""
    return value.to_bytes(2, "little")


def output_bytes(output: dict[str, Any]) -> bytes:
    """Output type, address type, address, amount (TIP-7)."""
    address, amount = output["address"], int(output["amount"])
    return bytes([output["type"], address["type"]]) + bytes.fromhex(address["address"]) + amount.to_bytes(8, "little")


def input_bytes(entry: dict[str, Any]) -> bytes:
    """Input type, transaction id, output index (TIP-7)."""
    return bytes([entry["type"]]) + bytes.fromhex(entry["transactionId"]) + u16(entry["transactionOutputIndex"])


def unlock_bytes(block: dict[str, Any]) -> bytes:
    """Unlock type, then signature type, public key and signature, or the index meant (TIP-7)."""
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


def message_rows(rows: Rows, milestone: dict[str, Any], entry: dict[str, Any], position: int) -> None:
    """Rows of one referenced message."""
    message, metadata, message_id = entry["message"], entry["metadata"], entry["id"]
    data = bytes.fromhex(entry["bytes_hex"])
    state = STATES[metadata["ledgerInclusionState"]]
    index, ms_timestamp = milestone["index"], 1000 * milestone["timestamp"]
    at = {"milestone_index": index, "message_id": message_id}
    seen = at | {"ms_timestamp": ms_timestamp, "inclusion_state": state}
    rows["messages"].append(
        seen
        | {
            "version": 1,
            "message": data,
            "white_flag_index": position,
            "conflict_reason": metadata.get("conflictReason"),
        }
    )
    kind = None if message["payload"] is None else message["payload"]["type"]
    rows["messages_by_milestone"].append(
        at | {"white_flag_index": position, "payload_kind": kind, "inclusion_state": state}
    )
    rows["parents"] += [seen | {"parent_id": parent} for parent in message["parentMessageIds"]]
    rows["tags"] += [seen | {"tag": tag} for tag in tags_of(message)]
    if kind == 0:
        transaction_rows(rows, entry, seen, position)


def transaction_rows(rows: Rows, entry: dict[str, Any], seen: dict[str, Any], position: int) -> None:
    """Rows of one attachment of a transaction."""
    payload, transaction_id, message_id = entry["message"]["payload"], entry["transactionId"], entry["id"]
    index, state = seen["milestone_index"], seen["inclusion_state"]
    at = {"message_id": message_id, "milestone_index": index, "inclusion_state": state}
    rows["transactions_by_state"].append(at | {"transaction_id": transaction_id})
    spends = zip(payload["essence"]["inputs"], payload["unlockBlocks"], strict=True)
    for idx, (spent, unlock) in enumerate(spends):
        own = bytes.fromhex(transaction_id) + u16(idx) + unlock_bytes(unlock)
        data = input_bytes(spent) + unlock_bytes(unlock)
        spent_idx = spent["transactionOutputIndex"]
        rows["transactions"] += [
            at | {"transaction_id": transaction_id, "idx": idx, "variant": "input", "data": data},
            at | {"transaction_id": spent["transactionId"], "idx": spent_idx, "variant": "unlock", "data": own},
        ]
        if state == 1:
            rows["outputs"].append(
                {
                    "output_id": spent["transactionId"] + u16(spent_idx).hex(),
                    "spent_milestone_index": index,
                    "spent_white_flag_index": position,
                    "spent_transaction_id": transaction_id,
                    "spent_message_id": message_id,
                }
            )
    for idx, output in enumerate(payload["essence"]["outputs"]):
        data, output_id = output_bytes(output), transaction_id + u16(idx).hex()
        rows["transactions"].append(
            at | {"transaction_id": transaction_id, "idx": idx, "variant": "output", "data": data}
        )
        output_rows(rows, output, output_id, message_id, index, seen["ms_timestamp"], position, included=state == 1)
    history_rows(rows, payload, transaction_id, seen)


def ed25519_address(public_key: str) -> str:
    """Address type, BLAKE2b-256 of the public key (TIP-7)."""
    return "00" + hashlib.blake2b(bytes.fromhex(public_key), digest_size=32).hexdigest()


def history_rows(rows: Rows, payload: dict[str, Any], transaction_id: str, seen: dict[str, Any]) -> None:
    """Rows of one attachment of a transaction under every address that it pays or that signed it."""
    outputs = payload["essence"]["outputs"]
    signers = {
        ed25519_address(block["signature"]["publicKey"]) for block in payload["unlockBlocks"] if block["type"] == 0
    }
    received: Counter[str] = Counter()
    for output in outputs:
        received[owner(output)] += int(output["amount"])
    for address in sorted(signers | set(received)):
        direction = "received" if address not in signers else "both" if address in received else "sent"
        rows["transactions_by_address"].append(
            {
                "address": address,
                "included": seen["inclusion_state"] == 1,
                "milestone_index": seen["milestone_index"],
                "transaction_id": transaction_id,
                "message_id": seen["message_id"],
                "ms_timestamp": seen["ms_timestamp"],
                "direction": direction,
                "received": received[address],
                "inputs_count": len(payload["essence"]["inputs"]),
                "outputs_count": len(outputs),
            }
        )


def owner(output: dict[str, Any]) -> str:
    """The serialized address of an output."""
    return f"{output['address']['type']:02x}{output['address']['address']}"


def receipt_bytes(receipt: dict[str, Any]) -> bytes:
    """A receipt payload with the treasury transaction inside (TIP-17)."""
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


def receipt_rows(rows: Rows, milestone: dict[str, Any], position: int, network: str) -> None:
    """Rows of the funds that a milestone migrates."""
    receipt, index = milestone["payload"]["receipt"], milestone["index"]
    at = {"network": network, "milestone_index": index}
    rows["receipts"].append(at | {"migrated_at": receipt["migratedAt"], "payload": receipt_bytes(receipt)})
    amount = receipt["transaction"]["output"]["amount"]
    rows["treasury"].append(at | {"milestone_id": milestone["milestoneId"], "amount": amount})
    migrated: Counter[str] = Counter()
    for fund in receipt["funds"]:
        migrated[owner(fund)] += fund["deposit"]
    rows["transactions_by_address"] += [
        {
            "address": address,
            "included": True,
            "milestone_index": index,
            "transaction_id": receipt["transaction"]["input"]["milestoneId"],
            "message_id": milestone["messageId"],
            "ms_timestamp": 1000 * milestone["timestamp"],
            "direction": "migrated",
            "received": deposit,
            "inputs_count": 1,
            "outputs_count": len(receipt["funds"]),
        }
        for address, deposit in migrated.items()
    ]
    for idx, fund in enumerate(receipt["funds"]):
        output = {"type": 0, "address": fund["address"], "amount": fund["deposit"]}
        output_id = milestone["milestoneId"] + u16(idx).hex()
        output_rows(
            rows,
            output,
            output_id,
            milestone["messageId"],
            index,
            1000 * milestone["timestamp"],
            position,
            included=True,
        )


def output_rows(
    rows: Rows,
    output: dict[str, Any],
    output_id: str,
    message_id: str,
    index: int,
    ms_timestamp: int | None,
    position: int | None,
    *,
    included: bool,
) -> None:
    """Rows of one output that an attachment, a receipt or genesis creates."""
    owned = {"address": owner(output), "amount": output["amount"]}
    rows["outputs_by_address"].append(
        owned
        | {
            "output_kind": "legacy",
            "variant": "address",
            "included": included,
            "milestone_index": index,
            "output_id": output_id,
            "message_id": message_id,
            "ms_timestamp": ms_timestamp,
            "output_type": output["type"],
        }
    )
    if included:
        rows["outputs"].append(
            owned
            | {
                "output_id": output_id,
                "created_milestone_index": index,
                "created_white_flag_index": position,
                "created_message_id": message_id,
                "output_kind": "legacy",
                "data": output_bytes(output),
            }
        )


def milestone_rows(rows: Rows, milestone: dict[str, Any], entries: Sequence[dict[str, Any]], network: str) -> None:
    """Rows of one milestone, its messages apart."""
    index, milestone_id = milestone["index"], milestone["milestoneId"]
    own = next(entry for entry in entries if entry["id"] == milestone["messageId"])
    rows["milestones"].append(
        {
            "milestone_index": index,
            "message_id": milestone["messageId"],
            "milestone_id": milestone_id,
            "timestamp": milestone["timestamp"],
            "payload": payload_slice(bytes.fromhex(own["bytes_hex"])),
        }
    )
    if milestone["payload"]["receipt"] is not None:
        receipt_rows(rows, milestone, entries.index(own), network)
    rows["milestone_ids"].append({"milestone_id": milestone_id, "milestone_index": index})
    rows["sync"].append(
        {
            "milestone_index": index,
            "ms_timestamp": 1000 * milestone["timestamp"],
            "synced_by": 0,
            "logged_by": None,
            "message_count": len(entries),
            "verified": "merkle",
            "layout": 2,
        }
    )


def pending_rows(rows: Rows, entries: Sequence[dict[str, Any]], newest: int) -> None:
    """Rows of messages that no milestone references, seen when `newest` was the newest milestone."""
    estimate = newest + 1
    for entry in entries:
        message_id = entry["id"]
        rows["pending_messages"].append(
            {"message_id": message_id, "version": 1, "message": bytes.fromhex(entry["bytes_hex"])}
        )
        keys = [("parents", parent) for parent in entry["message"]["parentMessageIds"]]
        keys += [("tags", tag) for tag in tags_of(entry["message"])]
        for lookup, key in keys:
            at = {"lookup": lookup, "key": key, "bucket": estimate // 10}
            seen = {"ms_range_id": PENDING_RANGE, "est_milestone_index": estimate}
            rows["pending"].append(at | seen | {"row_id": message_id, "message_id": message_id})
            if at not in rows["pending_hints"]:
                rows["pending_hints"].append(at)


def merged(rows: Iterable[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """One row a key: partial rows put together."""
    whole: dict[Any, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        whole[row[key]] |= row
    return list(whole.values())


def intervals(indices: Iterable[int]) -> list[list[int]]:
    """Runs of consecutive integers as [first, last]."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return runs


def summary_rows(rows: Rows, network: str, chunk_size: int) -> None:
    """ranges and date_cache: what follows from sync and milestones."""
    by_range: dict[int, list[dict[str, Any]]] = defaultdict(list)
    by_day: dict[str, list[int]] = defaultdict(list)
    for row in rows["sync"]:
        row["ms_range_id"] = row["milestone_index"] // chunk_size
        by_range[row["ms_range_id"]].append(row)
        by_day[datetime.fromtimestamp(row["ms_timestamp"] // 1000, UTC).date().isoformat()].append(
            row["milestone_index"]
        )
    for ms_range_id, members in by_range.items():
        times = [row["ms_timestamp"] for row in sorted(members, key=lambda row: row["milestone_index"])]
        rows["ranges"].append(
            {
                "network": network,
                "ms_range_id": ms_range_id,
                "complete": json.dumps(intervals(row["milestone_index"] for row in members)),
                "incomplete": "[]",
                "milestone_count": len(members),
                "message_count": sum(row["message_count"] for row in members),
                "min_timestamp": min(times),
                "max_timestamp": max(times),
                "rising": times == sorted(times),
                "layout": 2,
            }
        )
    rows["date_cache"] = [
        {"date": day, "start_ms": min(indices), "end_ms": max(indices)} for day, indices in by_day.items()
    ]


Lookup: TypeAlias = tuple[tuple[str, ...], str, dict[str, Any]]
"""Key columns, hint table, what its hints add."""

LOOKUPS: dict[str, Lookup] = {
    "tags": (("tag",), "tag_hints", {"table_kind": "message"}),
    "outputs_by_address": (("address", "output_kind", "variant", "included"), "addresses_hints", {}),
    "transactions_by_address": (
        ("address", "included"),
        "addresses_hints",
        {"output_kind": "transaction", "variant": "address"},
    ),
}


def partition_rows(
    rows: Rows, run: Iterable[int], chunk_size: int, partition_size: int, lookups: Mapping[str, Lookup] = LOOKUPS
) -> None:
    """Splits and tails of the lookups, then the partition of each of their rows, then the hints."""
    by_range: dict[int, list[int]] = defaultdict(list)
    for index in run:
        by_range[index // chunk_size].append(index)
    for lookup, (key, hints, constants) in lookups.items():
        members: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in rows[lookup]:
            row["ms_range_id"] = row["milestone_index"] // chunk_size
            members[(*(row[name] for name in key), row["ms_range_id"])].append(row)
        for (*values, ms_range_id), inside in members.items():
            counts = sorted(Counter(row["milestone_index"] for row in inside).items())
            splits = grow(None, counts, by_range[ms_range_id], -1, chunk_size=chunk_size, partition_size=partition_size)
            if splits is not None:
                rows["splits"].append(
                    {
                        "lookup": lookup,
                        "ms_range_id": ms_range_id,
                        "key": lookup_key_text(values),
                        "first_milestones": json.dumps(splits.first_milestones),
                        "open_count": splits.open_count,
                        "counted_to": splits.counted_to,
                    }
                )
            for row in inside:
                row["partition_id"] = place(splits.first_milestones if splits else (), row["milestone_index"])
            for partition_id in sorted({row["partition_id"] for row in inside}):
                hint = dict(zip(key, values, strict=True)) | constants
                rows[hints].append(hint | {"ms_range_id": ms_range_id, "partition_id": partition_id})
        rows["tails"] += [
            {"lookup": lookup, "ms_range_id": ms_range_id, "milestone_index": max(indices)}
            for ms_range_id, indices in by_range.items()
        ]


def reference_rows(
    milestones: Sequence[dict[str, Any]],
    pending: Sequence[dict[str, Any]],
    chunk_size: int,
    partition_size: int,
    network: str,
) -> Rows:
    """Table → rows of one ascending load of those lines. Columns that a row lacks are null.

    Left out: keyspace_info and lease, which say nothing of the data, and rejects, as nothing is refused.
    """
    rows: Rows = defaultdict(list)
    for line in milestones:
        for position, entry in enumerate(line["messages"]):
            message_rows(rows, line["milestone"], entry, position)
        milestone_rows(rows, line["milestone"], line["messages"], network)
    run = [line["milestone"]["index"] for line in milestones]
    rows["outputs"] = merged(rows["outputs"], "output_id")
    partition_rows(rows, run, chunk_size, partition_size)
    summary_rows(rows, network, chunk_size)
    pending_rows(rows, pending, max(run, default=0))
    return dict(rows)


def write(store: WritableStore, rows: Rows) -> None:
    """Puts those rows into a store, in one batch that is published."""
    with store.batch(publish=True) as batch:
        for name, members in rows.items():
            table = BY_NAME[name]
            shapes: dict[tuple[str, ...], list[list[Any]]] = defaultdict(list)
            for row in members:
                columns = tuple(column for column in table.names if column in row)
                assert len(columns) == len(row), (name, row.keys() - set(columns))
                shapes[columns].append([native(table.column(column).type, row[column]) for column in columns])
            for columns, values in shapes.items():
                batch.upsert(table, columns, values)


def native(type_: Type, value: Any) -> Any:
    """A value of the port as a batch takes it: ids as bytes."""
    return bytes.fromhex(value) if type_ is Type.HEX and value is not None else value
