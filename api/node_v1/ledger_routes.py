"""Node REST v1, the ledger state: balances, the treasury, receipts, and the changes of a milestone.

Endpoints that need a live node return 501 with the reason.
"""

from api.era_routing import Era
from api.fields.chrysalis_params import Ed25519Address, NodeAddress
from api.fields.params import MigratedAt, OldestFirst, PageSize, PeerId, State, StateIndex
from api.fields.span_params import Span
from api.handlers.ledger_state import list_receipts, state_index, treasury, utxo_changes
from api.http.errors import NotKept
from api.http.operations import Operation
from api.http.responses import ErrorResponse, Json
from api.network import NetworkMount
from api.node_v1.ledger_responses import BalanceResponse, ReceiptsResponse, TreasuryResponse, UtxoChangesResponse
from api.node_v1.pages import address_head
from db.listing.page import Page
from db.queries import ledger
from ledger.chrysalis.codec import decode_payload
from ledger.chrysalis.dust import Dust
from ledger.chrysalis.json import payload_json
from ledger.chrysalis.transaction import ED25519


async def balance(network: NetworkMount, address: NodeAddress, at: StateIndex) -> Json:
    """Returns the balance of an address at ledgerIndex, 0 for an address without history."""
    return await balance_of(network, network.address(address), at)


async def balance_of(network: NetworkMount, serialized: str, at: int | None) -> Json:
    """Returns the balance of a serialized address in hex."""
    ledger_index = await state_index(network, at)
    row = await ledger.find_balance(network.store, serialized, ledger_index)
    dust = Dust(row["dust_allowance"], row["dust_outputs"]) if row else Dust()
    return {
        **address_head(serialized),
        "balance": row["balance"] if row else 0,
        "dustAllowed": dust.allowed,
        "ledgerIndex": ledger_index,
    }


async def ed25519_balance(network: NetworkMount, address: Ed25519Address, at: StateIndex) -> Json:
    """Returns the balance of an Ed25519 address in hex at ledgerIndex.

    `dustAllowed` is true if the address may receive one more output below the dust threshold.
    """
    return await balance_of(network, f"{ED25519:02x}{address}", at)


async def receipts(network: NetworkMount, page_size: PageSize, state: State, newest: OldestFirst, span: Span) -> Json:
    """Returns all receipts, by the legacy milestone that they migrate from."""
    page = await list_receipts(network, Era.CHRYSALIS, span, newest=newest, page_size=page_size, cursor=state)
    return receipts_json(page)


async def receipts_of(
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
    page = await list_receipts(
        network, Era.CHRYSALIS, span, migrated_at=migrated_at, newest=newest, page_size=page_size, cursor=state
    )
    return receipts_json(page)


def receipts_json(page: Page) -> Json:
    """Returns a page of rows of `receipts` as the node writes them."""
    items = [
        {"receipt": payload_json(decode_payload(row["payload"])), "milestoneIndex": row["milestone_index"]}
        for row in page.rows
    ]
    return {"receipts": items, "state": page.cursor}


async def tips(network: NetworkMount) -> Json:  # noqa: ARG001 (every handler takes its network)
    """An archive has no tips, because it attaches no messages.

    The status is always 501.
    """
    raise NotKept("an archive has no tips: it attaches no messages")


async def peers(network: NetworkMount) -> Json:  # noqa: ARG001
    """An archive has no peers.

    The status is always 501.
    """
    raise NotKept("an archive has no peers")


async def peer(network: NetworkMount, peer_id: PeerId) -> Json:  # noqa: ARG001
    """An archive has no peers.

    The status is always 501.
    """
    raise NotKept("an archive has no peers")


async def submit_message(network: NetworkMount) -> Json:  # noqa: ARG001
    """An archive does not accept messages.

    Send them to a node. The status is always 501.
    """
    raise NotKept("an archive takes no messages: send them to a node of the network")


LEDGER_V1 = (
    Operation("/addresses/{address}", balance, BalanceResponse, (404, 501)),
    Operation("/addresses/ed25519/{address}", ed25519_balance, BalanceResponse, (404, 501)),
    Operation("/milestones/{index}/utxo-changes", utxo_changes, UtxoChangesResponse, (404, 501)),
    Operation("/treasury", treasury, TreasuryResponse, (404, 501)),
    Operation("/receipts", receipts, ReceiptsResponse),
    Operation("/receipts/{migratedAt}", receipts_of, ReceiptsResponse),
    Operation("/tips", tips, ErrorResponse, (501,), status=501),
    Operation("/peers", peers, ErrorResponse, (501,), status=501),
    Operation("/peers/{peerId}", peer, ErrorResponse, (501,), status=501),
    Operation("/messages", submit_message, ErrorResponse, (501,), method="POST", status=501),
)
