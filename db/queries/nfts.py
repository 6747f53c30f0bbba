"""Queries of NFTs: their states, each with the state before it."""

from collections.abc import Sequence

from db import schema
from db.listing.page import Page
from db.listing.streams import key_of
from db.queries.lookups import list_states
from db.roles import NFT
from db.store import Bound, NotFound, Row, Store
from db.times import Window


async def list_nft_states(
    store: Store,
    nft_id: str,
    *,
    as_of: int,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> tuple[Page, list[Row | None]]:
    """A page of the states of an NFT (milestone_index, white_flag_index, output_id, ms_timestamp), and the state before
    each of them. None: it is the first known one.
    """
    page = await list_states(
        store, NFT, nft_id, columns=("ms_timestamp",), window=window, as_of=as_of,
        newest=newest, page_size=page_size, cursor=cursor,
    )  # fmt: skip
    in_order = page.rows[::-1] if newest else page.rows
    follow = window is None or await _follow_each_other(store, nft_id, in_order)
    apart = in_order[:1] if follow else in_order
    earlier: list[Row | None] = [await _before(store, nft_id, row) for row in apart]
    if follow:
        earlier += in_order[:-1]
    return page, earlier[::-1] if newest else earlier


async def _follow_each_other(store: Store, nft_id: str, in_order: Sequence[Row]) -> bool:
    """Whether no state is between these. A window of time may leave some out, because timestamps need not rise."""
    if len(in_order) < 2:
        return True
    start = Bound(key_of(schema.nft_outputs, in_order[0]))
    page = await list_states(store, NFT, nft_id, newest=False, page_size=len(in_order), cursor=None, start=start)
    return [row["output_id"] for row in page.rows] == [row["output_id"] for row in in_order]


async def check_known(store: Store, nft_id: str, rows: Sequence[Row]) -> None:
    """Raises NotFound if a page of states has no rows because the NFT never existed."""
    if not rows and not await store.slice(schema.addresses_hints, (nft_id, "chain", NFT, True), limit=1):
        raise NotFound(f"NFT {nft_id}")


async def _before(store: Store, nft_id: str, row: Row) -> Row | None:
    """The state before a state."""
    start = Bound(key_of(schema.nft_outputs, row), inclusive=False)
    page = await list_states(
        store, NFT, nft_id, columns=("ms_timestamp",), newest=True, page_size=1, cursor=None, start=start
    )
    return page.rows[0] if page.rows else None
