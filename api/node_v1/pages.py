"""Pages of listings as node REST v1 and Chronicle v1 write them."""

from api.fields.inclusion_state import inclusion
from api.fields.params import END_TIMESTAMP, START_TIMESTAMP
from api.fields.span_params import Given, edges_of
from api.http.errors import BadParameter
from api.http.responses import Json
from api.network import NetworkMount
from db.lazy_rows import values_of
from db.listing.page import Page
from db.queries.spans import Edge, find_span
from db.store import Row
from db.times import Window
from ledger.chrysalis.transaction import ED25519


def listing(head: Json, items: str, column: str, page: Page, page_size: int, *, expanded: bool = False) -> Json:
    """Returns a page as JSON, with `state` for the next page. `expanded` replaces ids by Chronicle's records."""
    values = [record(row, column) for row in page.rows] if expanded else values_of(page.rows, column)
    return head | {"maxResults": page_size, "count": len(values), items: values, "state": page.cursor}


def record(row: Row, column: str) -> Json:
    """Returns Chronicle's record of a row's message. A pending message has neither inclusion state nor milestone."""
    return {"id": row[column], "inclusionState": inclusion(row), "milestoneIndex": row.get("milestone_index")}


def address_head(address: str) -> Json:
    """Returns the type and the bytes of a serialized address."""
    return {"addressType": int(address[:2], 16), "address": address[2:]}


def serialized_ed25519(network: NetworkMount, address: str) -> tuple[str, bytes]:
    """Returns an Ed25519 address in hex as a parsed bech32 address of the network."""
    return network.bech32_hrp, bytes([ED25519]) + bytes.fromhex(address)


async def window(network: NetworkMount, given: Given) -> Window | None:
    """Returns the milestones of a TimedSpan, or None if nothing limits them.

    Raises BadParameter if `end_timestamp` is before `start_timestamp`. The genesis has no timestamp, so these two
    exclude it.
    """
    if [*given.values()].count(None) == len(given):
        return None
    starts, ends = edges_of(given)
    start, end = given[START_TIMESTAMP.name], given[END_TIMESTAMP.name]
    if start is not None and end is not None and end < start:
        raise BadParameter(END_TIMESTAMP.name, f"start_timestamp ({start}) or later", str(end))
    with_genesis = start is None and end is None
    if start is not None:
        starts.append(Edge(first_s=start))
    if end is not None:
        ends.append(Edge(last_s=end - 1))
    return await find_span(network.store, network.name, starts, ends, with_genesis=with_genesis)
