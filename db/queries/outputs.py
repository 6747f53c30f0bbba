"""Questions about outputs.

Rules of this file: as in messages.py. Spent means spent by an included transaction; an address is the hex of its
serialized form.
"""

from collections.abc import Sequence

from db import schema
from db.paging import Page, list_lookup
from db.store import NotFound, Row, Store

ADDRESSES = schema.LOOKUPS[1]
OUTPUT_KINDS = ("legacy",)
"""Kinds that an address listing merges."""


async def find_output(store: Store, output_id: str) -> Row | None:
    """An output that an included transaction created; None when unknown.

    A row that only its spender wrote (its creator lies outside what was loaded) is not an output yet.
    """
    row = await store.get(schema.outputs, (output_id,))
    return row if row is not None and row["created_milestone_index"] is not None else None


async def get_output(store: Store, output_id: str) -> Row:
    """As find_output; NotFound when unknown."""
    row = await find_output(store, output_id)
    if row is None:
        raise NotFound(f"output {output_id}")
    return row


async def list_outputs_by_address(
    store: Store,
    address: str,
    *,
    output_type: int | None = None,
    include_spent: bool = True,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """Rows of `outputs_by_address`: the included outputs an address owns or owned, each once.

    With a filter a page may be short, and empty, while its cursor still leads on: work is bounded.
    """

    async def keep(rows: Sequence[Row]) -> list[bool]:
        kept = [output_type is None or row["output_type"] == output_type for row in rows]
        if include_spent:
            return kept
        wanted = [(row["output_id"],) for row, is_kept in zip(rows, kept, strict=True) if is_kept]
        found = iter(await store.get_many(schema.outputs, wanted))
        return [is_kept and not _is_spent(next(found)) for is_kept in kept]

    filtered = output_type is not None or not include_spent
    return await list_lookup(
        store,
        ADDRESSES,
        [(address, kind, "address", True) for kind in OUTPUT_KINDS],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        keep=keep if filtered else None,
        question=f"type {output_type} spent {include_spent}",
    )


def _is_spent(row: Row | None) -> bool:
    return row is not None and row["spent_milestone_index"] is not None
