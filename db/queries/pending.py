"""Queries of pending transactions and outputs: those of messages that no milestone references yet.

Every attachment of a transaction is one row, and each of its outputs. Rows expire a day after the message was received.
A row whose message is in `messages` does not count any more.
"""

from collections.abc import Sequence

from db import schema
from db.listing.page import Listing, Page, list_page
from db.listing.streams import Source, pending_source
from db.partitions import lookup_key_text
from db.queries.lookups import By, QueryText, roles_under
from db.roles import KINDS, listing_key
from db.store import Row, Store

OUTPUT_ID = slice(0, 68)
"""The output id in `pending.row_id`, before the message id, in hex."""


async def list_pending_outputs(
    store: Store,
    requested: Sequence[By],
    *,
    kinds: Sequence[str] = KINDS,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of outputs of pending transactions under any of these keys, each attachment once: rows of `pending` with
    `output_id` and the `message` of `pending_messages`.
    """
    role_keys = roles_under(requested, kinds)
    sources = [
        pending_source(role.table.name, lookup_key_text(listing_key(role, by.key, included=False)))
        for role, by in role_keys
    ]
    page = await _list(
        store, sources, QueryText("pending", role_keys, ()), newest=newest, page_size=page_size, cursor=cursor
    )
    return Page([row | {"output_id": row["row_id"][OUTPUT_ID]} for row in page.rows], page.cursor)


async def list_pending_attachments(
    store: Store, transaction_id: str, *, newest: bool, page_size: int, cursor: str | None
) -> Page:
    """A page of the pending messages that attach a transaction: rows of `pending` with the `message` of
    `pending_messages`.
    """
    source = pending_source(schema.transactions.name, transaction_id)
    return await _list(store, [source], f"pending {transaction_id}", newest=newest, page_size=page_size, cursor=cursor)


async def _list(
    store: Store, sources: Sequence[Source], query: object, *, newest: bool, page_size: int, cursor: str | None
) -> Page:
    async def keep(rows: list[Row], _: int | None) -> list[Row]:
        keys = [(row["message_id"],) for row in rows]
        final, waiting = (
            await store.get_many(schema.messages, keys),
            await store.get_many(schema.pending_messages, keys),
        )
        return [
            row | {"version": message["version"], "message": message["message"]}
            for row, settled, message in zip(rows, final, waiting, strict=True)
            if settled is None and message is not None
        ]

    listing = Listing(schema.pending, sources, query, keep=keep)
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)
