"""The rows of every table, computed from the facts of an oracle ledger with simple, slow code.

It uses nothing of ledger/ or etl/, so tests can compare the project's results with it. Rows are dicts by column name
with the values of the Store port: HEX as text, BLOB as bytes. Partitions come from tests/partition_model.py for one
ascending load of everything.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from db.model import Type
from db.schema import BY_NAME
from db.store import WritableStore
from tests.cassandra_rows import many_at_a_time
from tests.partition_model import grow, key_text, place
from tests.reference_facts import Message, Milestone, Output, Receipt, Transaction
from tests.reference_lookups import STATES

Rows: TypeAlias = dict[str, list[dict[str, Any]]]

PENDING_RANGE = 2_147_483_647


def u16(value: int) -> bytes:
    """Two bytes, little-endian."""
    return value.to_bytes(2, "little")


def id_row(rows: Rows, id_: str) -> None:
    """The row of an id in the table for search, once."""
    row = {"prefix": id_[:4], "id": id_}
    if row not in rows["ids_by_prefix"]:
        rows["ids_by_prefix"].append(row)


def message_rows(rows: Rows, milestone: Milestone, message: Message, position: int) -> None:
    """Rows of one referenced message."""
    at = {"milestone_index": milestone.index, "message_id": message.message_id}
    seen = at | {"ms_timestamp": 1000 * milestone.timestamp, "inclusion_state": message.state}
    rows["messages"].append(
        seen
        | {
            "version": message.version,
            "message": message.data,
            "white_flag_index": position,
            "conflict_reason": message.conflict_reason,
        }
    )
    rows["messages_by_milestone"].append(
        at | {"white_flag_index": position, "payload_kind": message.payload_kind, "inclusion_state": message.state}
    )
    id_row(rows, message.message_id)
    rows["parents"] += [seen | {"parent_id": parent} for parent in message.parents]
    rows["tags"] += [seen | {"tag": tag} for tag in message.tags]
    if message.transaction is not None:
        transaction_rows(rows, message.transaction, seen, position)


def transaction_rows(rows: Rows, transaction: Transaction, seen: dict[str, Any], position: int) -> None:
    """Rows of one attachment of a transaction."""
    transaction_id, message_id = transaction.transaction_id, seen["message_id"]
    index, state = seen["milestone_index"], seen["inclusion_state"]
    at = {"message_id": message_id, "milestone_index": index, "inclusion_state": state}
    rows["transactions_by_state"].append(at | {"transaction_id": transaction_id})
    id_row(rows, transaction_id)
    for idx, spend in enumerate(transaction.spends):
        own = bytes.fromhex(transaction_id) + u16(idx) + spend.unlock
        spent_id, spent_idx = spend.output_id[:64], int.from_bytes(bytes.fromhex(spend.output_id[64:]), "little")
        rows["transactions"] += [
            at | {"transaction_id": transaction_id, "idx": idx, "variant": "input", "data": spend.data + spend.unlock},
            at | {"transaction_id": spent_id, "idx": spent_idx, "variant": "unlock", "data": own},
        ]
        if state == 1:
            rows["outputs"].append(
                {
                    "output_id": spend.output_id,
                    "spent_milestone_index": index,
                    "spent_white_flag_index": position,
                    "spent_transaction_id": transaction_id,
                    "spent_message_id": message_id,
                }
            )
    for idx, output in enumerate(transaction.outputs):
        rows["transactions"].append(
            at | {"transaction_id": transaction_id, "idx": idx, "variant": "output", "data": output.data}
        )
        output_id = transaction_id + u16(idx).hex()
        output_rows(rows, output, output_id, message_id, index, seen["ms_timestamp"], position, included=state == 1)
    history_rows(rows, transaction, seen)


def history_rows(rows: Rows, transaction: Transaction, seen: dict[str, Any]) -> None:
    """Rows of one attachment of a transaction under every address that it pays or that signed it."""
    signers = {spend.signer for spend in transaction.spends if spend.signer is not None}
    received: Counter[str] = Counter()
    for output in transaction.outputs:
        received[output.owner] += output.amount
    for address in sorted(signers | set(received)):
        direction = "received" if address not in signers else "both" if address in received else "sent"
        rows["transactions_by_address"].append(
            {
                "address": address,
                "included": seen["inclusion_state"] == 1,
                "milestone_index": seen["milestone_index"],
                "transaction_id": transaction.transaction_id,
                "message_id": seen["message_id"],
                "ms_timestamp": seen["ms_timestamp"],
                "direction": direction,
                "received": received[address],
                "inputs_count": len(transaction.spends),
                "outputs_count": len(transaction.outputs),
            }
        )


def receipt_rows(rows: Rows, milestone: Milestone, receipt: Receipt, network: str) -> None:
    """Rows of the funds that a milestone migrates."""
    index, ms_timestamp = milestone.index, 1000 * milestone.timestamp
    at = {"network": network, "milestone_index": index}
    rows["receipts"].append(at | {"migrated_at": receipt.migrated_at, "payload": receipt.payload})
    rows["treasury"].append(at | {"milestone_id": milestone.milestone_id, "amount": receipt.treasury_amount})
    migrated: Counter[str] = Counter()
    for fund in receipt.funds:
        migrated[fund.owner] += fund.amount
    rows["transactions_by_address"] += [
        {
            "address": address,
            "included": True,
            "milestone_index": index,
            "transaction_id": receipt.treasury_before,
            "message_id": receipt.message_id,
            "ms_timestamp": ms_timestamp,
            "direction": "migrated",
            "received": deposit,
            "inputs_count": 1,
            "outputs_count": len(receipt.funds),
        }
        for address, deposit in migrated.items()
    ]
    for idx, fund in enumerate(receipt.funds):
        output_id = milestone.milestone_id + u16(idx).hex()
        output_rows(rows, fund, output_id, receipt.message_id, index, ms_timestamp, receipt.position, included=True)


def output_rows(
    rows: Rows,
    output: Output,
    output_id: str,
    message_id: str,
    index: int,
    ms_timestamp: int | None,
    position: int | None,
    *,
    included: bool,
) -> None:
    """Rows of one output that an attachment, a receipt or genesis creates."""
    row = {
        "amount": output.amount,
        "milestone_index": index,
        "output_id": output_id,
        "ms_timestamp": ms_timestamp,
        "output_type": output.output_type,
        **output.filter_values,
    }
    made = {"output_kind": output.kind, "included": included, "message_id": message_id}
    for variant, key in output.keys(output_id).items():
        if variant == "chain":
            if included:
                at = {"chain_id": key, "white_flag_index": position or 0}
                id_row(rows, key)
                rows[STATES[output.kind]].append(row | at)
        elif variant == "tag":
            rows["outputs_by_tag"].append(row | made)
        else:
            rows["outputs_by_address"].append(row | made | {"variant": variant, "address": key})
    if included:
        rows["outputs"].append(
            {
                "output_id": output_id,
                "created_milestone_index": index,
                "created_white_flag_index": position,
                "created_message_id": message_id,
                "output_kind": output.kind,
                "address": output.owner,
                "amount": output.amount,
                "data": output.data,
            }
        )


def milestone_rows(rows: Rows, milestone: Milestone, network: str) -> None:
    """Rows of one milestone, without its messages."""
    index, milestone_id = milestone.index, milestone.milestone_id
    rows["milestones"].append(
        {
            "milestone_index": index,
            "message_id": milestone.message_id,
            "milestone_id": milestone_id,
            "timestamp": milestone.timestamp,
            "payload": milestone.payload,
        }
    )
    if milestone.receipt is not None:
        receipt_rows(rows, milestone, milestone.receipt, network)
    for first, version, params in milestone.parameters:
        rows["protocol_parameters"].append(
            {
                "network": network,
                "milestone_index": first,
                "announced_by": index,
                "protocol_version": version,
                "params": params,
            }
        )
    id_row(rows, milestone_id)
    rows["milestone_ids"].append({"milestone_id": milestone_id, "milestone_index": index})
    rows["sync"].append(
        {
            "milestone_index": index,
            "ms_timestamp": 1000 * milestone.timestamp,
            "synced_by": 0,
            "logged_by": None,
            "message_count": len(milestone.messages),
            "verified": "merkle",
            "layout": 2,
        }
    )


def pending_rows(rows: Rows, messages: Sequence[Message], newest: int) -> None:
    """Rows of messages that no milestone references, seen when `newest` was the newest milestone."""
    estimate = newest + 1
    for message in messages:
        message_id = message.message_id
        rows["pending_messages"].append({"message_id": message_id, "version": message.version, "message": message.data})
        keys = [("parents", parent, message_id) for parent in message.parents]
        keys += [("tags", tag, message_id) for tag in message.tags]
        if message.transaction is not None:
            keys += pending_keys(message.transaction, message_id)
        for lookup, key, row_id in keys:
            at = {"lookup": lookup, "key": key, "bucket": estimate // 10}
            seen = {"ms_range_id": PENDING_RANGE, "est_milestone_index": estimate}
            rows["pending"].append(at | seen | {"row_id": row_id, "message_id": message_id})
            if at not in rows["pending_hints"]:
                rows["pending_hints"].append(at)


def pending_keys(transaction: Transaction, message_id: str) -> list[tuple[str, str, str]]:
    """Lookup, key and row id of the rows of a pending attachment of a transaction, beside those of its message."""
    found = [("transactions", transaction.transaction_id, message_id)]
    for index, output in enumerate(transaction.outputs):
        output_id = transaction.transaction_id + u16(index).hex()
        for role, value in output.keys(output_id).items():
            if role == "chain":
                found.append((STATES[output.kind], value, output_id + message_id))
            elif role == "tag":
                found.append(("outputs_by_tag", f"{value}:{output.kind}:false", output_id + message_id))
            else:
                found.append(("outputs_by_address", f"{value}:{output.kind}:{role}:false", output_id + message_id))
    return found


def merged(rows: Iterable[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """One row per key: merges partial rows."""
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
    """ranges and date_cache, derived from sync and milestones."""
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
                "logged": json.dumps(intervals(row["milestone_index"] for row in members if row["logged_by"] == 0)),
            }
        )
        rows["proofs"].append(proof_row(network, ms_range_id, members, "merkle"))
    rows["date_cache"] = [
        {"date": day, "start_ms": min(indices), "end_ms": max(indices)} for day, indices in by_day.items()
    ]


def proof_row(network: str, ms_range_id: int, sync_rows: Iterable[dict[str, Any]], level: str) -> dict[str, Any]:
    """The row of a range in which all milestones are proved to that level."""
    levels = json.dumps({level: intervals(row["milestone_index"] for row in sync_rows)})
    return {"network": network, "ms_range_id": ms_range_id, "levels": levels}


Lookup: TypeAlias = tuple[tuple[str, ...], str, dict[str, Any]]
"""Key columns, hint table, and the columns that its hints add."""

LOOKUPS: dict[str, Lookup] = {
    "tags": (("tag",), "tag_hints", {"table_kind": "message"}),
    "outputs_by_address": (("address", "output_kind", "variant", "included"), "addresses_hints", {}),
    "transactions_by_address": (
        ("address", "included"),
        "addresses_hints",
        {"output_kind": "transaction", "variant": "address"},
    ),
}


STARDUST_LOOKUPS: dict[str, Lookup] = {
    "outputs_by_tag": (("tag", "output_kind"), "tag_hints", {}),
    **{
        table: (("chain_id",), "addresses_hints", {"output_kind": "chain", "variant": kind, "included": True})
        for kind, table in STATES.items()
    },
}
"""The additional lookups of milestones with Stardust blocks."""

HINT_NAMES = {
    "outputs_by_tag": {"output_kind": "table_kind"},
    "native_token_updates": {"token_id": "address"},
} | {table: {"chain_id": "address"} for table in STATES.values()}
"""Key columns that have another name in their hints."""


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
                        "key": key_text(values),
                        "first_milestones": json.dumps(splits.first_milestones),
                        "open_count": splits.open_count,
                        "counted_to": splits.counted_to,
                    }
                )
            for row in inside:
                row["partition_id"] = place(splits.first_milestones if splits else (), row["milestone_index"])
            for partition_id in sorted({row["partition_id"] for row in inside}):
                names = [HINT_NAMES.get(lookup, {}).get(name, name) for name in key]
                hint = dict(zip(names, values, strict=True)) | constants
                rows[hints].append(hint | {"ms_range_id": ms_range_id, "partition_id": partition_id})
        rows["tails"] += [
            {"lookup": lookup, "ms_range_id": ms_range_id, "milestone_index": max(indices)}
            for ms_range_id, indices in by_range.items()
        ]


def table_rows(
    milestones: Sequence[Milestone], pending: Sequence[Message], chunk_size: int, partition_size: int, network: str
) -> Rows:
    """Table → rows of one ascending load of those milestones. Missing columns are null.

    Without keyspace_info and lease, which do not depend on the data, and without rejects, as no line is rejected.
    """
    rows: Rows = defaultdict(list)
    for milestone in milestones:
        for position, message in enumerate(milestone.messages):
            message_rows(rows, milestone, message, position)
        milestone_rows(rows, milestone, network)
    run = [milestone.index for milestone in milestones]
    rows["outputs"] = merged(rows["outputs"], "output_id")
    is_stardust = any(message.version == 2 for milestone in milestones for message in milestone.messages)
    lookups = LOOKUPS | STARDUST_LOOKUPS if is_stardust else LOOKUPS
    partition_rows(rows, run, chunk_size, partition_size, lookups)
    summary_rows(rows, network, chunk_size)
    pending_rows(rows, pending, max(run, default=0))
    return dict(rows)


def write(store: WritableStore, rows: Rows) -> None:
    """Inserts those rows into a store in one published batch."""
    with store.batch(publish=True) as batch, many_at_a_time(batch):
        for name, members in rows.items():
            table = BY_NAME[name]
            shapes: dict[tuple[str, ...], list[list[Any]]] = defaultdict(list)
            for row in members:
                columns = tuple(column for column in table.names if column in row)
                assert len(columns) == len(row), (name, row.keys() - set(columns))
                shapes[columns].append([row[column] for column in columns])
            for columns, values in shapes.items():
                types = [table.column(column).type for column in columns]
                batch.upsert(table, columns, [[*map(native, types, each)] for each in values])


def native(type_: Type, value: Any) -> Any:
    """A value of the port in the form that a batch takes: ids as bytes."""
    return bytes.fromhex(value) if type_ is Type.HEX and value is not None else value
