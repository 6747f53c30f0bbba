"""Explorer v2: what the routes of native tokens and NFTs share."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, TypeAlias

from api.explorer_v2.token_responses import FOUNDRY_ID
from api.fields.inx_chronicle_params import After
from api.fields.span_params import Given, edges_of
from api.http.page_sizes import MAXIMUM
from api.http.params import hexadecimal, path
from api.http.responses import Json
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import ledger, native_tokens
from db.queries.spans import find_span
from db.store import Row
from db.times import Window

TokenId = Annotated[
    str,
    path("tokenId", hexadecimal(38, may_have_0x=True), "ID of a native token: that of its foundry", FOUNDRY_ID),
]


ListOfToken: TypeAlias = Callable[..., Awaitable[Page]]
"""A query of db.queries.native_tokens: takes a store, a token and what limits and positions a page."""


async def listing(network: NetworkMount, token_id: str, items: list[Json], at: After, page: Page) -> Json:
    """Returns a page of a token's items. Raises NotFound for an unknown token."""
    if not items:
        await native_tokens.check_known(network.store, token_id)
    return {"tokenId": f"0x{token_id}", "items": items, "cursor": at.next(page), "ledgerIndex": page.as_of}


async def page_of(
    network: NetworkMount, token_id: str, listed: ListOfToken, at: After, span: Given, *, newest: bool
) -> Page:
    """Returns a page of a token's rows at ledgerIndex. `listed`: the query."""
    return await listed(
        network.store,
        token_id,
        as_of=await ledger.get_ledger_index(network.store, network.name),
        window=await window_of(network, span),
        newest=newest,
        page_size=at.page_size,
        cursor=at.cursor,
    )


async def pages_of(
    network: NetworkMount, token_id: str, listed: ListOfToken, span: Given, *, newest: bool
) -> AsyncGenerator[Page]:
    """Yields all pages of a token's rows. Raises NotFound for an unknown token."""
    await native_tokens.check_known(network.store, token_id)
    async for page in every_page(lambda at: page_of(network, token_id, listed, at, span, newest=newest)):
        yield page


async def window_of(network: NetworkMount, span: Given) -> Window | None:
    """Returns the milestones of a span."""
    return await find_span(network.store, network.name, *edges_of(span))


def amount_of(row: Row) -> str:
    """Returns the amount of the token in a row."""
    return hex(int.from_bytes(row["token_amount"], "little"))


async def every_page(page_at: Callable[[After], Awaitable[Page]]) -> AsyncGenerator[Page]:
    """Yields all pages of a listing."""
    at: After | None = After(MAXIMUM)
    while at is not None:
        page = await page_at(at)
        yield page
        at = None if page.cursor is None else After(MAXIMUM, page.cursor)


def seconds(row: Row) -> int:
    """Returns the time of a row's milestone, 0 for genesis."""
    return (row["ms_timestamp"] or 0) // 1000
