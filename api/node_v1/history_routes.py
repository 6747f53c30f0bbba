"""Node REST v1 of Chrysalis, what an address received and sent: a page of it, or all as CSV, as inx-api-core-v1 has it.

Rules of this file: as in node_v1.py; everything is as of ledgerIndex, as amounts sent follow from the ledger state. A
history begins after genesis. CSV runs from the oldest to the newest, as there, and has all of them.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime

from api.fields.chrysalis_params import Ed25519Address, HistoryPageSize
from api.fields.inclusion_state import inclusion
from api.fields.params import Address, State
from api.http.operations import Operation
from api.http.page_sizes import MAXIMUM
from api.http.responses import Json
from api.http.streaming import CSV, Export, csv_text
from api.network import NetworkMount
from api.node_v1.ledger_responses import HistoryResponse
from db.queries import ledger, messages, transactions
from db.store import Row
from ledger.chrysalis.transaction import ED25519

CSV_COLUMNS = {
    "MessageID": "messageId",
    "TransactionID": "transactionId",
    "ReferencedByMilestoneIndex": "referencedByMilestoneIndex",
    "MilestoneTimestampReferenced": "milestoneTimestampReferenced",
    "LedgerInclusionState": "ledgerInclusionState",
    "ConflictReason": "conflictReason",
    "InputsCount": "inputsCount",
    "OutputsCount": "outputsCount",
    "AddressBalanceChange": "addressBalanceChange",
}
"""Title of a column → the field of the JSON that it shows."""

NO_CONFLICT = 0
"""What CSV tells of a transaction that took effect."""


async def tx_history(network: NetworkMount, address: Address, page_size: HistoryPageSize, state: State) -> Json:
    """What an address received and sent, newest first; with Accept: text/csv all of it, oldest first."""
    return await ed25519_tx_history(network, network.ed25519_address(address), page_size, state)


async def ed25519_tx_history(
    network: NetworkMount, address: Ed25519Address, page_size: HistoryPageSize, state: State
) -> Json:
    """What an Ed25519 address, given in hex, received and sent, newest first; with Accept: text/csv all of it.

    Conflicting transactions are there too, and change no balance. Funds migrated to the address are `migrated`, their
    transactionId is the milestone of the treasury that they left.
    """
    applied = await ledger.get_applied(network.store, network.name)
    page = await transactions.list_history(
        network.store, f"{ED25519:02x}{address}", applied, newest=True, page_size=page_size, cursor=state
    )
    return {
        "addressType": ED25519,
        "address": address,
        "maxResults": page_size,
        "count": len(page.rows),
        "history": await history_items(network, page.rows),
        "ledgerIndex": page.as_of,
        "state": page.cursor,
    }


async def history_items(network: NetworkMount, rows: Sequence[Row]) -> list[Json]:
    """Rows of `transactions_by_address` in the node's words, conflicting ones with the reason where it is known."""
    conflicting = [row["message_id"] for row in rows if not row["included"]]
    found = await messages.find_messages(network.store, conflicting)
    reasons = {row["message_id"]: row["conflict_reason"] for row in found}
    return [history_item(row, reasons.get(row["message_id"])) for row in rows]


def history_item(row: Row, conflict_reason: int | None) -> Json:
    """One of them."""
    migrated = row["direction"] == transactions.MIGRATED
    item = {
        "messageId": row["message_id"],
        "transactionId": row["transaction_id"],
        "referencedByMilestoneIndex": row["milestone_index"],
        "milestoneTimestampReferenced": row["ms_timestamp"] // 1000,
        "ledgerInclusionState": "migrated" if migrated else inclusion(row),
    }
    if conflict_reason is not None:
        item["conflictReason"] = conflict_reason
    return item | {
        "inputsCount": row["inputs_count"],
        "outputsCount": row["outputs_count"],
        "addressBalanceChange": row["received"] - (row["sent"] or 0) if row["included"] else 0,
    }


def tx_history_csv(network: NetworkMount, address: Address) -> AsyncGenerator[str]:
    """The whole history of an address."""
    return ed25519_tx_history_csv(network, network.ed25519_address(address))


async def ed25519_tx_history_csv(network: NetworkMount, address: Ed25519Address) -> AsyncGenerator[str]:
    """The whole history of an Ed25519 address, a page a part."""
    applied = await ledger.get_applied(network.store, network.name)
    lines = csv_head(address, applied.stop - 1, datetime.now(UTC).timestamp())
    cursor: str | None = None
    while True:
        page = await transactions.list_history(
            network.store, f"{ED25519:02x}{address}", applied, newest=False, page_size=MAXIMUM, cursor=cursor
        )
        lines += [csv_line(item) for item in await history_items(network, page.rows)]
        yield csv_text(lines)
        if page.cursor is None:
            return
        cursor, lines = page.cursor, []


def csv_head(address: str, ledger_index: int, made_at: float) -> list[list[object]]:
    """The lines before the items."""
    return [
        ["Transaction History"],
        [],
        ["Address:", f"0x{address}"],
        ["LedgerIndex:", ledger_index],
        ["MaxResultsLimitReached:", "false"],
        ["Date:", rfc3339(made_at)],
        [],
        list(CSV_COLUMNS),
    ]


def csv_line(item: Json) -> list[object]:
    """An item of the JSON as a line of the table."""
    shown = item | {"milestoneTimestampReferenced": rfc3339(item["milestoneTimestampReferenced"])}
    if item["ledgerInclusionState"] != "conflicting":
        shown["conflictReason"] = NO_CONFLICT
    return [shown.get(field) for field in CSV_COLUMNS.values()]


def rfc3339(seconds: float) -> str:
    """A time since 1970 as UTC date and time."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def csv_example(answer: Json) -> str:
    """An answer in JSON that has all of a history, as CSV made when the newest of it was."""
    whole = answer["data"]
    newest, *_ = items = whole["history"]
    head = csv_head(whole["address"], whole["ledgerIndex"], newest["milestoneTimestampReferenced"])
    return csv_text([*head, *map(csv_line, reversed(items))])


HISTORY_V1 = (
    Operation(
        "/addresses/{address}/tx-history",
        tx_history,
        HistoryResponse,
        (501,),
        exports={CSV: Export(tx_history_csv, csv_example)},
    ),
    Operation(
        "/addresses/ed25519/{address}/tx-history",
        ed25519_tx_history,
        HistoryResponse,
        (501,),
        exports={CSV: Export(ed25519_tx_history_csv, csv_example)},
    ),
)
