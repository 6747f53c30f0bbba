"""Core API v2: milestones and what they changed: outputs, the treasury, receipts.

The outputs that a milestone changed are available for both eras, because the response has only ids.
"""

from api import era_routing as eras
from api.core_v2.responses import ReceiptsV2, TreasuryV2, UtxoChangesV2
from api.era_routing import Era
from api.fields.params import MigratedAt, MilestoneIndex, OldestFirst, PageSize, State
from api.fields.span_params import Span
from api.fields.stardust_params import MILESTONE_ID, MilestoneId
from api.fields.stardust_payloads import MilestonePayloadV2
from api.handlers import ledger_state
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import milestones
from db.store import Row
from ledger.stardust.codec import decode_option, decode_payload
from ledger.stardust.json import option_json, payload_json


def payload(row: Row) -> bytes:
    """Returns the bytes of a milestone's payload. Raises OtherEra for a Chrysalis milestone."""
    eras.expect(Era.STARDUST, eras.of_milestone(row), f"milestone {row['milestone_index']}")
    data: bytes = row["payload"]
    return data


async def milestone_by_id(network: NetworkMount, milestone_id: MilestoneId) -> Json:
    """Returns a milestone by its id."""
    return payload_json(decode_payload(await milestone_by_id_raw(network, milestone_id)))


async def milestone_by_id_raw(network: NetworkMount, milestone_id: MilestoneId) -> bytes:
    """Returns the bytes of a milestone's payload."""
    return payload(await milestones.get_milestone_by_id(network.store, milestone_id))


async def milestone_by_index(network: NetworkMount, index: MilestoneIndex) -> Json:
    """Returns a milestone by its index."""
    return payload_json(decode_payload(await milestone_by_index_raw(network, index)))


async def milestone_by_index_raw(network: NetworkMount, index: MilestoneIndex) -> bytes:
    """Returns the bytes of a milestone's payload."""
    return payload(await milestones.get_milestone(network.store, index))


async def utxo_changes_by_id(network: NetworkMount, milestone_id: MilestoneId) -> Json:
    """Returns the outputs that a milestone created and spent, in the order in which they took effect."""
    row = await milestones.get_milestone_by_id(network.store, milestone_id)
    return await utxo_changes_by_index(network, row["milestone_index"])


async def utxo_changes_by_index(network: NetworkMount, index: MilestoneIndex) -> Json:
    """Returns the outputs that a milestone created and spent, in the order in which they took effect."""
    return await ledger_state.written_changes(network, index, "0x")


async def treasury(network: NetworkMount) -> Json:
    """Returns the funds left for migration, and the milestone whose receipt left them."""
    left = await ledger_state.treasury(network)
    return {"milestoneId": f"0x{left['milestoneId']}", "amount": str(left["amount"])}


async def receipts(network: NetworkMount, page_size: PageSize, state: State, newest: OldestFirst, span: Span) -> Json:
    """Returns all receipts, by the legacy milestone that they migrate from.

    `state` is present if there are more. Nodes have no pages here. By default a page has as many receipts as a node
    lists.
    """
    page = await ledger_state.list_receipts(
        network, Era.STARDUST, span, newest=newest, page_size=page_size, cursor=state
    )
    return receipts_json(page)


async def receipts_migrated_at(
    network: NetworkMount,
    migrated_at: MigratedAt,
    page_size: PageSize,
    state: State,
    newest: OldestFirst,
    span: Span,
) -> Json:
    """Returns the receipts that migrate from one legacy milestone.

    The list is empty if there are none.
    """
    page = await ledger_state.list_receipts(
        network, Era.STARDUST, span, migrated_at=migrated_at, newest=newest, page_size=page_size, cursor=state
    )
    return receipts_json(page)


def receipts_json(page: Page) -> Json:
    """Returns a page of rows of `receipts` as the node writes them."""
    items = [
        {"receipt": option_json(decode_option(row["payload"])), "milestoneIndex": row["milestone_index"]}
        for row in page.rows
    ]
    return {"receipts": items} | ({} if page.cursor is None else {"state": page.cursor})


MILESTONES_V2 = (
    Operation(
        "/milestones/{milestoneId}",
        milestone_by_id,
        MilestonePayloadV2,
        (404,),
        immutable=MILESTONE_ID,
        raw=milestone_by_id_raw,
    ),
    Operation("/milestones/{milestoneId}/utxo-changes", utxo_changes_by_id, UtxoChangesV2, (404, 501)),
    Operation(
        "/milestones/by-index/{index}", milestone_by_index, MilestonePayloadV2, (404,), raw=milestone_by_index_raw
    ),
    Operation("/milestones/by-index/{index}/utxo-changes", utxo_changes_by_index, UtxoChangesV2, (404, 501)),
    Operation("/treasury", treasury, TreasuryV2, (404, 501)),
    Operation("/receipts", receipts, ReceiptsV2),
    Operation("/receipts/{migratedAt}", receipts_migrated_at, ReceiptsV2),
)
