"""Queries of messages."""

from collections.abc import Sequence

from db import schema
from db.coverage import missing, note_part
from db.listing.page import Page, list_lookup, list_partition
from db.store import Row, Store, StoreDamaged
from db.times import Window
from ledger.ids import message_id as hash_message

TAGS = schema.LOOKUPS[0]

INCLUSION = ("inclusion_state",)
"""Columns of a listing of messages beside ids and milestones, if requested; reading them takes a tenth of a page's
time.
"""


async def find_message(store: Store, message_id: str) -> Row | None:
    """The row of `messages`, or of `pending_messages` while no milestone references the message; None if unknown."""
    row = await store.get(schema.messages, (message_id,)) or await store.get(schema.pending_messages, (message_id,))
    if row is not None:
        check_message(store, message_id, row)
    return row


def check_message(store: Store, message_id: str, row: Row) -> None:
    """Raises StoreDamaged unless the id of a row is the hash of its bytes, and notes it for /health."""
    if hash_message(row["message"] or b"").hex() != message_id:
        cause = f"the bytes of message {message_id} have another hash"
        store.note_damage(cause)
        raise StoreDamaged(f"{cause}; find the damaged rows with `permanode fsck`")


async def get_message(store: Store, message_id: str) -> Row:
    """Like `find_message`. Raises NotFound if unknown. A pending row has no milestone_index."""
    row = await find_message(store, message_id)
    if row is None:
        raise await missing(store, f"message {message_id}")
    return row


async def find_proof(store: Store, message_id: str) -> bytes | None:
    """The stored proof of a message of a selective store (ledger/message_proof.py); None without one."""
    row = await store.get(schema.message_proofs, (message_id,))
    return None if row is None else row["proof"]


async def find_messages(store: Store, message_ids: Sequence[str]) -> list[Row]:
    """The rows of `messages` for these ids, in this order, without unknown ones."""
    rows = await store.get_many(schema.messages, [(message_id,) for message_id in message_ids])
    found = [(message_id, row) for message_id, row in zip(message_ids, rows, strict=True) if row is not None]
    for message_id, row in found:
        check_message(store, message_id, row)
    return [row for _, row in found]


async def list_children(
    store: Store,
    message_id: str,
    *,
    with_inclusion: bool = False,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of `parents` (or `pending`): messages that have this message as a parent."""
    await note_part(store, f"parent 0x{message_id}")
    return await list_partition(
        store,
        schema.parents,
        (message_id,),
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        with_pending=True,
        window=window,
        columns=INCLUSION if with_inclusion else (),
    )


async def list_tagged(
    store: Store,
    tag: str,
    *,
    with_inclusion: bool = False,
    with_time: bool = False,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of `tags` (or `pending`): messages with this index or tag, directly or inside a transaction."""
    return await list_lookup(
        store,
        TAGS,
        [(tag,)],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        with_pending=True,
        window=window,
        columns=(*(INCLUSION if with_inclusion else ()), *(("ms_timestamp",) if with_time else ())),
    )
