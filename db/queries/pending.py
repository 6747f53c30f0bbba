"""Queries of pending transactions and outputs: those of messages that no milestone references yet.

Every attachment of a transaction is one row, and each of its outputs. Rows expire a day after the message was received.
A row whose message is in `messages` does not count any more.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from db import schema
from db.coverage import check_all
from db.listing.page import Listing, Page, list_page
from db.listing.streams import Source, merged, pending_source
from db.partitions import lookup_key_text
from db.queries.lookups import By, QueryText, roles_under
from db.queries.transactions import is_referenced
from db.roles import KINDS, listing_key
from db.store import Key, Row, Store
from ledger.chrysalis import codec as chrysalis
from ledger.stardust import codec as stardust

OUTPUT_ID = slice(0, 68)
"""The output id in `pending.row_id`, before the message id, in hex."""

TRANSACTION_ID_DIGITS = 64

PENDING = "pending messages"
"""What a selective store does not have."""

CODECS: Mapping[int, Any] = {1: chrysalis, 2: stardust}
"""pending_messages.version → codec of the bytes."""


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
    await check_all(store, PENDING)
    role_keys = roles_under(requested, kinds)
    sources = [
        pending_source(role.table.name, lookup_key_text(listing_key(role, by.key, included=False)))
        for role, by in role_keys
    ]
    page = await _list(
        store, sources, QueryText("pending", role_keys, ()), newest=newest, page_size=page_size, cursor=cursor
    )
    return Page([row | {"output_id": row["row_id"][OUTPUT_ID]} for row in page.rows], page.cursor)


def outputs_source(keys: Sequence[Key]) -> Source:
    """Rows of `pending` about the outputs under these keys of outputs_by_address, merged."""
    table = schema.outputs_by_address.name
    return merged([pending_source(table, lookup_key_text(key)) for key in keys], schema.pending)


async def with_outputs(store: Store, rows: Sequence[Row], as_of: int | None) -> list[Row]:
    """The rows of `pending` whose output only pending messages create, each output once, with `output_id`, and
    `version` and `message` of `pending_messages`.

    Of several attachments of a transaction, the last one counts. `as_of`: later milestones do not count.
    """
    transactions = dict.fromkeys(row["row_id"][:TRANSACTION_ID_DIGITS] for row in rows)
    last = {
        each: await _last_attachment(store, each)
        for each in transactions
        if not await is_referenced(store, each, as_of)
    }
    shown = [row for row in rows if last.get(row["row_id"][:TRANSACTION_ID_DIGITS]) == row["message_id"]]
    waiting = await store.get_many(schema.pending_messages, [(row["message_id"],) for row in shown])
    return [
        row | {"output_id": row["row_id"][OUTPUT_ID], "version": message["version"], "message": message["message"]}
        for row, message in zip(shown, waiting, strict=True)
        if message is not None
    ]


def output_type_of(row: Row) -> int:
    """The protocol's type number of the output in a row of `with_outputs`."""
    codec = CODECS[row["version"]]
    payload: Any = codec.decode_payload(codec.payload_bytes(row["message"]))
    index = int.from_bytes(bytes.fromhex(row["output_id"][TRANSACTION_ID_DIGITS:]), "little")
    kind: int = payload.essence.outputs[index].KIND
    return kind


async def _last_attachment(store: Store, transaction_id: str) -> str | None:
    """The pending message with the greatest position that attaches a transaction."""
    stream = pending_source(schema.transactions.name, transaction_id)(store, None, True)  # noqa: FBT003
    rows = await stream.next(1)
    return rows[0]["message_id"] if rows else None


async def list_pending_attachments(
    store: Store, transaction_id: str, *, newest: bool, page_size: int, cursor: str | None
) -> Page:
    """A page of the pending messages that attach a transaction: rows of `pending` with the `message` of
    `pending_messages`.
    """
    await check_all(store, PENDING)
    source = pending_source(schema.transactions.name, transaction_id)
    return await _list(store, [source], f"pending {transaction_id}", newest=newest, page_size=page_size, cursor=cursor)


async def _list(
    store: Store, sources: Sequence[Source], query: object, *, newest: bool, page_size: int, cursor: str | None
) -> Page:
    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
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
