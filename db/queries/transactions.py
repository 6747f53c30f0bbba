"""Questions about transactions.

Rules of this file: as in messages.py. Several messages may attach a transaction; at most one of them is included.
"""

from db import schema
from db.store import Bound, NotFound, Row, Store

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


async def _last_attachment(store: Store, transaction_id: str, inclusion_state: int) -> Row | None:
    state = Bound((inclusion_state,))
    table = schema.transactions_by_state
    rows = await store.slice(table, (transaction_id,), lower=state, upper=state, reverse=True, limit=1)
    return rows[0] if rows else None
