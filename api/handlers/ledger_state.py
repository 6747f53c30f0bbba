"""The ledger state: which one a response shows, what a milestone changed in it, the treasury, and
receipts.
"""

from api.era_routing import RECEIPT_TYPES, Era
from api.fields.params import MilestoneIndex
from api.fields.span_params import Given, edges_of
from api.http.rendered import PartlyRendered, RenderedList
from api.http.responses import Json
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import ledger, milestones
from db.queries.spans import find_span
from db.store import NotFound


async def ledger_index(network: NetworkMount, as_of: int | None) -> int:
    """Returns the `ledgerIndex` of a response about outputs: that of the ledger state, else the last complete
    milestone.
    """
    return await milestones.get_ledger_index(network.store, network.name) if as_of is None else as_of


async def known_index(network: NetworkMount, requested: int | None) -> int:
    """Returns the requested ledger index, by default the current one. Raises NotFound for a later one."""
    newest = await ledger.get_ledger_index(network.store, network.name)
    if requested is not None and requested > newest:
        raise NotFound(f"the ledger state of {requested}")
    return newest if requested is None else requested


async def state_index(network: NetworkMount, requested: int | None) -> int:
    """Like `known_index`. Raises NotFound for an index before the genesis, too."""
    if requested is None:
        return await ledger.get_ledger_index(network.store, network.name)
    index = await known_index(network, requested)
    genesis = await ledger.find_genesis(network.store, network.name)
    if genesis is not None and index < genesis:
        raise NotFound(f"the ledger state of {index}, which is before the genesis ({genesis}),")
    return index


async def listed_index(network: NetworkMount, requested: int | None) -> int | None:
    """Like `state_index`. By default the current one, or None for all loaded data if there is no genesis."""
    if requested is None:
        return await ledger.find_ledger_index(network.store, network.name)
    return await state_index(network, requested)


async def utxo_changes(network: NetworkMount, index: MilestoneIndex) -> Json:
    """Returns the outputs that a milestone created and spent, in the order in which they took effect."""
    return await written_changes(network, index, "")


async def written_changes(network: NetworkMount, index: int, prefix: str) -> Json:
    """Returns the changes of a milestone, with output ids that begin with `prefix`. The lists are rendered."""
    if index not in await ledger.get_applied(network.store, network.name):
        raise NotFound(f"the changes of milestone {index}")
    created, consumed = RenderedList(), RenderedList()
    async for some in ledger.list_changes(network.store, index):
        created.extend([prefix + change.output_id for change in some if not change.is_spent])
        consumed.extend([prefix + change.output_id for change in some if change.is_spent])
    return PartlyRendered({"index": index}, createdOutputs=created, consumedOutputs=consumed)


async def treasury(network: NetworkMount) -> Json:
    """Returns the funds left for migration, and the milestone whose receipt left them."""
    ledger_index = await ledger.get_ledger_index(network.store, network.name)
    row = await ledger.get_treasury(network.store, network.name, ledger_index)
    return {"milestoneId": row["milestone_id"], "amount": row["amount"]}


async def list_receipts(
    network: NetworkMount,
    era: Era,
    span: Given,
    *,
    migrated_at: int | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """Returns a page of rows of `receipts` of an era, from the milestones of a span."""
    return await ledger.list_receipts(
        network.store,
        network.name,
        first_byte=RECEIPT_TYPES[era],
        migrated_at=migrated_at,
        window=await find_span(network.store, network.name, *edges_of(span)),
        newest=newest,
        page_size=page_size,
        cursor=cursor,
    )
