"""The analysed ledger state: the row of `ms_analytics` after a milestone."""

from api.handlers.ledger_state import known_index
from api.network import NetworkMount
from db.listing.streams import get_chunk_size
from db.queries import analytics
from db.store import NotFound, Row


async def ledger_row(network: NetworkMount, requested: int | None) -> Row:
    """Returns the row of `ms_analytics` at a ledger index, by default the current one. Raises NotFound if it is
    missing.
    """
    index = await known_index(network, requested)
    return await state_row(network, index)


async def state_row(network: NetworkMount, index: int) -> Row:
    """Returns the row of `ms_analytics` of a milestone whose ledger state is analysed. Raises NotFound otherwise."""
    row = await analytics.find_milestone(network.store, await get_chunk_size(network.store), index)
    if row is None or row["holders"] is None:
        raise NotFound(f"an analysis of the ledger state of {index}")
    return row
