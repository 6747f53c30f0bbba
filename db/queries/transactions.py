"""Queries of transactions. Several messages may attach a transaction; at most one of them is included."""

from collections.abc import Sequence

from db import schema
from db.coverage import missing, note_part
from db.listing.page import Page, list_lookup, list_partition
from db.store import Bound, Row, Store
from db.times import Window

HISTORIES = schema.LOOKUPS[2]

MIGRATED = "migrated"
"""transactions_by_address.direction of migrated funds, which no transaction paid."""

HISTORY_COLUMNS = ("included", "ms_timestamp", "direction", "received", "sent", "inputs_count", "outputs_count")
"""Columns of a history beside ids and milestones."""

INCLUDED = 1
"""transactions_by_state.inclusion_state of the attachment that took effect."""

CONFLICTING = 2
"""transactions_by_state.inclusion_state of attachments that took no effect."""


ATTACHMENTS_MAX = 100
"""The most attachments of a transaction that a query reads. Included ones come first."""


async def get_included_message_id(store: Store, transaction_id: str) -> str:
    """The message whose attachment of the transaction is included. Raises NotFound without one."""
    state = Bound((INCLUDED,))
    table = schema.transactions_by_state
    rows = await store.slice(table, (transaction_id,), lower=state, upper=state, reverse=True, limit=1)
    if not rows:
        raise await missing(store, f"an included transaction {transaction_id}")
    found: str = rows[0]["message_id"]
    return found


async def is_last_conflicting(store: Store, transaction_id: str, message_id: str, as_of: int | None) -> bool:
    """Whether no message with a greater id attaches the transaction without effect, up to a ledger index.

    Reads up to ATTACHMENTS_MAX attachments. Attachments of later milestones count towards this number.
    """
    rows = await store.slice(
        schema.transactions_by_state,
        (transaction_id,),
        lower=Bound((CONFLICTING, message_id), inclusive=False),
        upper=Bound((CONFLICTING,)),
        limit=1 if as_of is None else ATTACHMENTS_MAX,
    )
    return not any(as_of is None or row["milestone_index"] <= as_of for row in rows)


async def is_referenced(store: Store, transaction_id: str, as_of: int | None) -> bool:
    """Whether a milestone up to a ledger index references one of the first ATTACHMENTS_MAX attachments."""
    rows = await store.slice(schema.transactions_by_state, (transaction_id,), limit=ATTACHMENTS_MAX)
    return any(as_of is None or row["milestone_index"] <= as_of for row in rows)


async def list_attachments(store: Store, transaction_id: str, *, page_size: int, cursor: str | None) -> Page:
    """A page of `transactions_by_state`: the referenced messages that attach a transaction, the included one first."""
    await note_part(store, f"transaction 0x{transaction_id}")
    table = schema.transactions_by_state
    return await list_partition(store, table, (transaction_id,), newest=False, page_size=page_size, cursor=cursor)


async def list_history(
    store: Store,
    address: str,
    applied: range,
    *,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of `transactions_by_address`: everything that an address received, sent, or attempted to send.

    `applied` are the milestones in the ledger state, because amounts are known only for them. A cursor contains the
    last one.
    """

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        return [row for row in rows if row["milestone_index"] >= applied.start]

    return await list_lookup(
        store,
        HISTORIES,
        [(address, True), (address, False)],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        keep=keep if applied.start > 1 else None,
        query="history",
        window=window,
        as_of=applied.stop - 1,
        columns=HISTORY_COLUMNS,
    )


async def list_by_address(
    store: Store,
    address: str,
    *,
    included: Sequence[bool],
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of `transactions_by_address`: attachments that pay an address or that it signed. `included`: included
    ones, others, or both (None). A page may be short or empty and still have a cursor, because work is bounded.
    """

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        return [row for row in rows if row["direction"] != MIGRATED]

    return await list_lookup(
        store,
        HISTORIES,
        [(address, each) for each in included],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        keep=keep,
        query="transactions",
        window=window,
        columns=("direction",),
    )
