"""Pages of VAAs in wormholescan's lists: by page number, as wormholescan has them, or by cursor, an extension.

A page by number reads all pages before it. If a filter drops most rows, the number of rows read stays bounded.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from api.http.errors import BadParameter
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import rfc3339, vaa_document
from api.wormhole.params import PAGE, SENT_BEFORE_S, SKIPPED_MAX, TO
from db.listing.page import EXAMINED_AT_LEAST, EXAMINED_PER_ROW, Page
from db.queries.wormhole.vaas import Filter, Span, list_vaas, read_listed

Lister: TypeAlias = Callable[[int, str | None], Awaitable[Page]]


def contracts_of(network: NetworkMount) -> str:
    """Returns which Wormhole contracts the network uses: mainnet, testnet or devnet."""
    assert network.wormhole is not None
    return network.wormhole


def lister(
    network: NetworkMount, sources: Sequence[tuple[str, str]], where: Filter, *, span: Span | None = None, newest: bool
) -> Lister:
    """Returns a function that reads a page of VAAs by page size and cursor."""

    def pages(page_size: int, cursor: str | None) -> Awaitable[Page]:
        return list_vaas(
            network.store, sources, where=where, span=span, newest=newest, page_size=page_size, cursor=cursor
        )

    return pages


async def numbered(pages: Lister, page: int, page_size: int, cursor: str | None) -> Page:
    """Returns a page by its cursor, or by its number.

    Raises BadParameter if too many results or rows precede the page.
    """
    if cursor is None:
        left = page * page_size
        if left > SKIPPED_MAX:
            raise BadParameter(PAGE.name, f"pages that begin within {SKIPPED_MAX} results", str(page))
        rows_left = EXAMINED_PER_ROW * SKIPPED_MAX
        while left:
            if rows_left <= 0:
                raise BadParameter(PAGE.name, "a page with fewer messages before it: the cursor leads there", str(page))
            rows_left -= max(EXAMINED_AT_LEAST, EXAMINED_PER_ROW * left)
            before = await pages(left, cursor)
            left, cursor = left - len(before.rows), before.cursor
            if cursor is None:
                return Page([], None)
    return await pages(page_size, cursor)


async def documents(network: NetworkMount, page: Page, *, with_payload: bool) -> list[Json]:
    """Returns the VAAs of a page as wormholescan's VaaDoc."""
    found = await read_listed(network.store, page.rows)
    return [vaa_document(contracts_of(network), row, written, with_payload=with_payload) for row, written in found]


def span_of(first_us: int | None, last_us: int | None) -> Span | None:
    """Returns the whole seconds between two times, both included, None for all. Raises BadParameter if it ends
    before it begins.
    """
    if first_us is None and last_us is None:
        return None
    if first_us is not None and last_us is not None and last_us < first_us:
        raise BadParameter(TO.name, "the time of from or a later one", rfc3339(last_us / 1_000_000))
    first = 0 if first_us is None else -(-first_us // 1_000_000)
    return first, SENT_BEFORE_S if last_us is None else last_us // 1_000_000
