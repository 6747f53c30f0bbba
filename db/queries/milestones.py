"""Questions about milestones, and how far the ledger is known.

Rules of this file: as in messages.py.
"""

from db import schema
from db.paging import Page, list_partition
from db.store import NotFound, Row, Store
from db.sync import find_ledger_index


async def find_milestone(store: Store, milestone_index: int) -> Row | None:
    """A row of `milestones`; None when it is not loaded."""
    return await store.get(schema.milestones, (milestone_index,))


async def get_milestone(store: Store, milestone_index: int) -> Row:
    """As find_milestone; NotFound when it is not loaded."""
    row = await find_milestone(store, milestone_index)
    if row is None:
        raise NotFound(f"milestone {milestone_index}")
    return row


async def find_milestone_by_id(store: Store, milestone_id: str) -> Row | None:
    """A row of `milestones` by milestone id; None when unknown."""
    row = await store.get(schema.milestone_ids, (milestone_id,))
    return await find_milestone(store, row["milestone_index"]) if row else None


async def list_milestone_messages(
    store: Store, milestone_index: int, *, newest: bool, page_size: int, cursor: str | None
) -> Page:
    """Rows of `messages_by_milestone` in white-flag order; `newest`: exactly backwards."""
    return await list_partition(
        store,
        schema.messages_by_milestone,
        (milestone_index,),
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        columns=(),
    )


async def get_ledger_index(store: Store, network: str) -> int:
    """The last milestone of the first contiguous run of complete ones; 0 while none is complete."""
    return await find_ledger_index(store, network) or 0
