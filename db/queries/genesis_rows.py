"""Rows of lookups that list a genesis output at the genesis.

A ledger that begins with a snapshot lists the outputs of it at the milestone of the genesis. If the milestone that
created such an output is loaded too, the output has another row there, and `outputs` has that milestone. A listing of
all outputs, each where it was created, then omits the row at the genesis. A listing of the outputs that were unspent
begins at the genesis instead.
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from db import schema
from db.lazy_rows import values_of
from db.listing.page import Keep
from db.listing.streams import get_network
from db.queries.ledger import find_genesis
from db.store import Row, Store

_GENESIS: WeakKeyDictionary[Store, int] = WeakKeyDictionary()


def created_rows(store: Store, keep: Keep | None = None) -> Keep:
    """Keeps the rows of outputs that were created in their milestone, and of those the ones that `keep` does. Rows of
    attachments without effect are kept.
    """

    async def kept(rows: Sequence[Row], as_of: int | None) -> Sequence[Row]:
        rows = await _created(store, rows)
        return rows if keep is None else await keep(rows, as_of)

    return kept


async def first_state(store: Store) -> int:
    """The milestone of the genesis; 0 without a ledger state. The one of a store does not change."""
    genesis = _GENESIS.get(store)
    if genesis is None:
        genesis = await find_genesis(store, await get_network(store))
        if genesis is None:
            return 0
        _GENESIS[store] = genesis
    return genesis


async def _created(store: Store, rows: Sequence[Row]) -> Sequence[Row]:
    genesis = await first_state(store)
    if not genesis or genesis not in values_of(rows, "milestone_index"):
        return rows
    listed = [row for row in rows if row["milestone_index"] == genesis and row.get("included", True)]
    outputs = await store.get_many(schema.outputs, [(row["output_id"],) for row in listed])
    others = {id(row) for row, output in zip(listed, outputs, strict=True) if output and not _is_of(row, output)}
    return [row for row in rows if id(row) not in others]


def _is_of(row: Row, output: Row) -> bool:
    """Whether a row of a lookup is that of the message in `outputs`."""
    if output["created_milestone_index"] is None:
        return True
    if row["milestone_index"] != output["created_milestone_index"]:
        return False
    if "message_id" in row:
        return bool(row["message_id"] == output["created_message_id"])
    return bool(row["white_flag_index"] == (output["created_white_flag_index"] or 0))
