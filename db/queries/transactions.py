"""Questions about transactions.

Rules of this file: as in messages.py. Several messages may attach a transaction; at most one of them is included.
"""

from db import schema
from db.store import Bound, NotFound, Store

INCLUDED = 1
"""transactions_by_state.inclusion_state of the attachment that took effect."""


async def get_included_message_id(store: Store, transaction_id: str) -> str:
    """The message whose attachment of the transaction is included; NotFound when there is none."""
    included = Bound((INCLUDED,))
    rows = await store.slice(schema.transactions_by_state, (transaction_id,), lower=included, upper=included, limit=1)
    if not rows:
        raise NotFound(f"an included transaction {transaction_id}")
    found: str = rows[0]["message_id"]
    return found
