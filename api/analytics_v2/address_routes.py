"""Analytics v2, an extension: what an address sent and received, and its balance over time.

The series is also available as CSV and NDJSON, complete and streamed; `pageSize` and `cursor` then have no effect.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

from api.analytics_v2.params import End, Start
from api.analytics_v2.responses import AddressPoint, AddressSeries
from api.analytics_v2.series_routes import LEAST_AT_ONCE, page_of, place, remaining_milestones
from api.fields.inx_chronicle_params import After, ExplorerNewestFirst, ExplorerPageSize, OwnCursor
from api.fields.params import Address
from api.http.operations import Operation
from api.http.responses import Json
from api.http.streaming import exports_of
from api.network import NetworkMount
from db.intervals import intersect
from db.queries import ledger
from db.queries.analytics import ROWS_AT_ONCE
from db.queries.series import Batch, list_of_address
from db.queries.spans import Edge
from db.store import Row


async def address_batches(
    network: NetworkMount,
    address: str,
    start: Edge | None,
    end: Edge | None,
    *,
    newest: bool,
    as_of: int,
    after: int | None = None,
    at_once: int = ROWS_AT_ONCE,
) -> AsyncIterator[Batch]:
    """Yields batches of what an address sent and received, in a span up to a ledger index, after the row where the
    previous page ended.
    """
    window = await remaining_milestones(network, start, end, after, newest=newest)
    known = replace(window, milestones=intersect(window.milestones, [(0, as_of)]))
    async for batch in list_of_address(network.store, address, known, newest=newest, at_once=at_once):
        yield batch


def address_point(row: Row) -> Json:
    """Returns one item of the series of an address."""
    return {
        "milestoneIndex": row["milestone_index"],
        "timestamp": row["ms_timestamp"] // 1000,
        "sent": str(row["sent_tokens"]),
        "received": str(row["recv_tokens"]),
        "balance": str(row["balance"]),
    }


async def address_series(
    network: NetworkMount,
    address: Address,
    start: Start,
    end: End,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns what an address sent and received in each milestone, and its balance after it.

    With Accept CSV or NDJSON, the response contains all items. Both amounts are gross: change counts as sent and as
    received. The balance counts outputs whose owner is the address, like the richest addresses. The list is empty for
    an address without history.
    """
    serialized = network.address(address)
    as_of = await ledger.get_ledger_index(network.store, network.name)
    at = after or After(page_size)
    cursor_text = f"{network.name} address {serialized} {start} {end} {newest}"
    batches = address_batches(
        network,
        serialized,
        start,
        end,
        newest=newest,
        as_of=as_of,
        after=place(at, cursor_text),
        at_once=max(at.page_size + 1, LEAST_AT_ONCE),
    )
    page = await page_of(batches, address_point, "milestone_index", cursor_text, at)
    return {"address": network.bech32(serialized)} | page | {"ledgerIndex": as_of}


async def all_of_address(
    network: NetworkMount, address: tuple[str, bytes], start: Edge | None, end: Edge | None, *, newest: bool
) -> AsyncGenerator[list[Json]]:
    """Yields everything that an address sent and received."""
    as_of = await ledger.get_ledger_index(network.store, network.name)
    async for batch in address_batches(network, network.address(address), start, end, newest=newest, as_of=as_of):
        yield [address_point(row) for row in batch.rows]


ANALYTICS_OF_ADDRESSES = (
    Operation(
        "/addresses/{address}",
        address_series,
        AddressSeries,
        (501,),
        exports=exports_of(all_of_address, tuple(AddressPoint.model_fields)),
    ),
)
