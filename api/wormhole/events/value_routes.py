"""Functions of the event database that find rows by the value of a column.

Every column can be searched, by its whole value. `findvalues` returns all rows or the newest in one list, and fails if
there are more than it reads. `findrows`, an extension, returns pages.
"""

from collections.abc import Callable

from api.http.errors import BadParameter, NotKept
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.events.functions import Given, function
from api.wormhole.events.json import EventRow, details_json, keyed_json
from api.wormhole.events.params import (
    COLUMN_FAMILY,
    COLUMN_NAME,
    EMITTER_ADDRESS,
    EMITTER_CHAIN,
    FOUND,
    FOUND_ROWS,
    NEXT,
    NUM_ROWS,
    ROWS_MAX,
    VAA_BYTES,
    VALUE,
)
from api.wormhole.events.responses import EventFound, EventRows
from api.wormhole.events.row_routes import event_rows
from db.listing.page import Page
from db.queries.wormhole.value_search import NoSuchColumn, NoSuchValue, search_of
from db.queries.wormhole.values import list_values


async def findvalues(network: NetworkMount, given: Given) -> list[Json]:
    """Returns the rows whose column has this value, newest first: all, or the newest."""
    requested: int = given[NUM_ROWS.name]
    page = await found(network, given, requested or ROWS_MAX, None)
    if page.cursor is not None and not 0 < requested == len(page.rows):
        raise NotKept(
            f"more rows than one response reads: request fewer with {NUM_ROWS.name}, or use findrows, which has pages"
        )
    return await rows_json(network, given, page, details_json)


async def findrows(network: NetworkMount, given: Given) -> Json:
    """Returns the rows whose column has this value, by pages, each with its key. This is an extension."""
    page = await found(network, given, given[NUM_ROWS.name], given[NEXT.name] or None)
    return {"Rows": await rows_json(network, given, page, keyed_json), "Next": page.cursor or ""}


async def found(network: NetworkMount, given: Given, page_size: int, cursor: str | None) -> Page:
    """Returns a page of rows with this value. Raises BadParameter for an unknown column or an impossible value."""
    family, name, value = (given[each.name] for each in (COLUMN_FAMILY, COLUMN_NAME, VALUE))
    try:
        search = search_of(family, name, value)
    except NoSuchColumn:
        raise BadParameter(COLUMN_NAME.name, COLUMN_NAME.expected, f"{family}:{name}") from None
    except NoSuchValue as error:
        raise BadParameter(VALUE.name, str(error), value) from error
    emitter = given[EMITTER_CHAIN.name], given[EMITTER_ADDRESS.name]
    return await list_values(network.store, (family, name), search, emitter, page_size=page_size, cursor=cursor)


async def rows_json(network: NetworkMount, given: Given, page: Page, shape: Callable[[EventRow], Json]) -> list[Json]:
    """Returns the details of rows in that shape, without the VAA. On request they have the VAA's bytes."""
    hidden = {"SignedVAA": None} | ({} if given[VAA_BYTES.name] else {"SignedVAABytes": None})
    return [shape(row) | hidden for row in await event_rows(network, page.rows)]


VALUES = (
    *function("/findvalues", findvalues, FOUND, EventFound, (501,)),
    *function("/findrows", findrows, FOUND_ROWS, EventRows, is_extension=True),
)
