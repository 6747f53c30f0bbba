"""Questions about transactions.

Rules of this file: as in messages.py. Several messages may attach a transaction; at most one of them is included.
"""

from collections.abc import Sequence

from db import schema
from db.listing.page import Page, list_lookup
from db.store import Bound, NotFound, Row, Store

HISTORIES = schema.LOOKUPS[2]

MIGRATED = "migrated"
"""transactions_by_address.direction of what no transaction paid."""

TOLD = ("included", "ms_timestamp", "direction", "received", "sent", "inputs_count", "outputs_count")
"""What a history tells beside ids and milestones."""

INCLUDED = 1
"""transactions_by_state.inclusion_state of the attachment that took effect."""

CONFLICTING = 2
"""The same of those that took none."""


async def get_included_message_id(store: Store, transaction_id: str) -> str:
    """The message whose attachment of the transaction is included; NotFound when there is none."""
    row = await _last_attachment(store, transaction_id, INCLUDED)
    if row is None:
        raise NotFound(f"an included transaction {transaction_id}")
    found: str = row["message_id"]
    return found


async def find_conflicting_message_id(store: Store, transaction_id: str) -> str | None:
    """Of the messages whose attachment of the transaction took no effect the one with the greatest id."""
    row = await _last_attachment(store, transaction_id, CONFLICTING)
    return row["message_id"] if row else None


async def list_history(
    store: Store, address: str, applied: range, *, newest: bool, page_size: int, cursor: str | None
) -> Page:
    """Rows of `transactions_by_address`: all that an address received, sent and tried to.

    `applied` are the milestones of the ledger state, of which alone all amounts are known; a cursor brings their last
    one along.
    """

    async def keep(rows: list[Row], _: int | None) -> list[Row]:
        return [row for row in rows if row["milestone_index"] >= applied.start]

    return await list_lookup(
        store,
        HISTORIES,
        [(address, True), (address, False)],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        keep=keep if applied.start > 1 else None,
        question="history",
        as_of=applied.stop - 1,
        columns=TOLD,
    )


async def list_by_address(
    store: Store, address: str, *, included: Sequence[bool], newest: bool, page_size: int, cursor: str | None
) -> Page:
    """Rows of `transactions_by_address`: attachments that an address is paid by or signed; `included` ones, others or
    both. A page may be short, and empty, while its cursor still leads on: work is bounded.
    """

    async def keep(rows: list[Row], _: int | None) -> list[Row]:
        return [row for row in rows if row["direction"] != MIGRATED]

    return await list_lookup(
        store,
        HISTORIES,
        [(address, each) for each in included],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        keep=keep,
        question="transactions",
        columns=("direction",),
    )


async def _last_attachment(store: Store, transaction_id: str, inclusion_state: int) -> Row | None:
    state = Bound((inclusion_state,))
    table = schema.transactions_by_state
    rows = await store.slice(table, (transaction_id,), lower=state, upper=state, reverse=True, limit=1)
    return rows[0] if rows else None
