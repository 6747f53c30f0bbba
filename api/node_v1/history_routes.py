"""Node REST v1, the history of an address, as inx-api-core-v1 returns it: by pages, or complete as CSV.

Results are at ledgerIndex, because sent amounts follow from the ledger state. A history begins after genesis. By
default CSV has the oldest transaction first, as in the original.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime

from api.fields.chrysalis_params import Ed25519Address, HistoryOrder, HistoryPageSize, NodeAddress
from api.fields.inclusion_state import inclusion
from api.fields.params import Proof, State
from api.fields.span_params import TimedSpan
from api.handlers.listing_proofs import with_proof
from api.http.operations import Operation
from api.http.page_sizes import MAXIMUM
from api.http.responses import Json
from api.http.streaming import CSV, Export, csv_text
from api.network import NetworkMount
from api.node_v1.ledger_responses import HistoryResponse
from api.node_v1.pages import address_head, serialized_ed25519, window
from db.queries import ledger, messages, transactions
from db.store import Row

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
"""Column title → JSON field."""

NO_CONFLICT = 0
"""CSV value of a transaction that took effect."""


async def tx_history(
    network: NetworkMount,
    address: NodeAddress,
    page_size: HistoryPageSize,
    state: State,
    newest: HistoryOrder,
    span: TimedSpan,
    proof: Proof,
) -> Json:
    """Returns what an address received and sent, newest first by default.

    With `Accept: text/csv` the response contains the whole history between the ends, oldest first by default.
    """
    serialized = network.address(address)
    applied = await ledger.get_applied(network.store, network.name)
    limits = await window(network, span)
    page = await transactions.list_history(
        network.store,
        serialized,
        applied,
        window=limits,
        newest=newest is not False,
        page_size=page_size,
        cursor=state,
    )
    answer = {
        **address_head(serialized),
        "maxResults": page_size,
        "count": len(page.rows),
        "history": await history_items(network, page.rows),
        "ledgerIndex": page.as_of,
        "state": page.cursor,
    }
    return await with_proof(network, proof, answer, page, ("transactions_by_address", serialized), limits)


async def ed25519_tx_history(
    network: NetworkMount,
    address: Ed25519Address,
    page_size: HistoryPageSize,
    state: State,
    newest: HistoryOrder,
    span: TimedSpan,
    proof: Proof,
) -> Json:
    """Returns what an Ed25519 address in hex received and sent, newest first by default.

    With `Accept: text/csv` the response contains the whole history between the ends, oldest first by default. The list
    includes conflicting transactions, which change no balance. Funds migrated to the address are `migrated`; their
    `transactionId` is the id of the milestone whose treasury they left.
    """
    return await tx_history(network, serialized_ed25519(network, address), page_size, state, newest, span, proof)


async def history_items(network: NetworkMount, rows: Sequence[Row]) -> list[Json]:
    """Returns rows of `transactions_by_address` as the node writes them, with the conflict reason if it is known."""
    conflicting = [row["message_id"] for row in rows if not row["included"]]
    found = await messages.find_messages(network.store, conflicting)
    reasons = {row["message_id"]: row["conflict_reason"] for row in found}
    return [history_item(row, reasons.get(row["message_id"])) for row in rows]


def history_item(row: Row, conflict_reason: int | None) -> Json:
    """Returns one row as the node writes it."""
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


async def tx_history_csv(
    network: NetworkMount, address: NodeAddress, newest: HistoryOrder, span: TimedSpan
) -> AsyncGenerator[str]:
    """Yields the history of an address between two ends, one page per part."""
    serialized = network.address(address)
    applied = await ledger.get_applied(network.store, network.name)
    lines = csv_head(serialized[2:], applied.stop - 1, datetime.now(UTC).timestamp())
    between = await window(network, span)
    cursor: str | None = None
    while True:
        page = await transactions.list_history(
            network.store,
            serialized,
            applied,
            window=between,
            newest=newest is True,
            page_size=MAXIMUM,
            cursor=cursor,
        )
        lines += [csv_line(item) for item in await history_items(network, page.rows)]
        yield csv_text(lines)
        if page.cursor is None:
            return
        cursor, lines = page.cursor, []


def ed25519_tx_history_csv(
    network: NetworkMount, address: Ed25519Address, newest: HistoryOrder, span: TimedSpan
) -> AsyncGenerator[str]:
    """Yields the history of an Ed25519 address in hex."""
    return tx_history_csv(network, serialized_ed25519(network, address), newest, span)


def csv_head(address: str, ledger_index: int, made_at: float) -> list[list[object]]:
    """Returns the lines before the items."""
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
    """Returns an item as a line of the table."""
    shown = item | {"milestoneTimestampReferenced": rfc3339(item["milestoneTimestampReferenced"])}
    if item["ledgerInclusionState"] != "conflicting":
        shown["conflictReason"] = NO_CONFLICT
    return [shown.get(field) for field in CSV_COLUMNS.values()]


def rfc3339(seconds: float) -> str:
    """Returns a time since 1970 as UTC date and time."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def csv_example(answer: Json) -> str:
    """Returns a JSON response with a whole history as CSV."""
    whole = answer["data"]
    newest, *_ = items = whole["history"]
    head = csv_head(whole["address"], whole["ledgerIndex"], newest["milestoneTimestampReferenced"])
    return csv_text([*head, *map(csv_line, reversed(items))])


HISTORY_V1 = (
    Operation(
        "/addresses/{address}/tx-history",
        tx_history,
        HistoryResponse,
        (404, 501),
        exports={CSV: Export(tx_history_csv, csv_example)},
    ),
    Operation(
        "/addresses/ed25519/{address}/tx-history",
        ed25519_tx_history,
        HistoryResponse,
        (404, 501),
        exports={CSV: Export(ed25519_tx_history_csv, csv_example)},
    ),
)
