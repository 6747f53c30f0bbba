"""Explorer v2, an extension: transactions that no milestone references yet, and the outputs that they would create.

Of several pending attachments of a transaction, each is an item. An item expires a day after its message was received,
and is not pending any more once a milestone references it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from api import era_routing as eras
from api.explorer_v2.pending_responses import PendingOutputs, PendingOutputsOfAddress, PendingTransaction
from api.fields.inx_chronicle_params import (
    BLOCK_TAG,
    ROLES,
    After,
    ExplorerNewestFirst,
    ExplorerPageSize,
    OwnCursor,
    Role,
    tag_of,
)
from api.fields.params import Address, Utf8
from api.fields.stardust_params import TransactionId
from api.http.operations import Operation
from api.http.params import hexadecimal, path
from api.http.responses import Json
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import pending
from db.queries.lookups import By
from db.roles import CHAIN, TAG
from db.store import Row

WIRE = {variant: role for role, variant in ROLES.items()}

OutputTag = Annotated[
    str, replace(BLOCK_TAG, meaning="Tag feature of basic outputs and NFTs: hex, or with utf8=true text")
]
ChainId = Annotated[
    str,
    path(
        "chainId",
        hexadecimal(32, 38, may_have_0x=True),
        "ID of an alias or NFT (32 bytes), or of a foundry (38 bytes)",
        "0x3530d5878c92cdd5961f0be93bca3c035b692447a12999c2fe90e2f1344cdb04",
    ),
]


async def pending_transaction(
    network: NetworkMount,
    transaction_id: TransactionId,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns the blocks with a transaction that no milestone references yet.

    The list is empty if there are none.
    """
    at = after or After(page_size)
    page = await pending.list_pending_attachments(
        network.store, transaction_id, newest=newest, page_size=at.page_size, cursor=at.cursor
    )
    return {
        "transactionId": f"0x{transaction_id}",
        "items": [{"blockId": f"0x{row['message_id']}", "payload": payload_of(row)} for row in page.rows],
        "cursor": at.next(page),
    }


async def pending_outputs_by_address(
    network: NetworkMount,
    address: Address,
    role: Role,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns the outputs of pending transactions that name an address."""
    serialized = network.address(address)
    requested = [By(variant, serialized) for variant in ((role,) if role else ROLES.values())]
    found = await pending_outputs(network, requested, after or After(page_size), newest=newest)
    return {"address": network.bech32(serialized), "role": WIRE[role] if role else None} | found


async def pending_outputs_by_tag(
    network: NetworkMount,
    tag: OutputTag,
    utf8: Utf8,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns the outputs of pending transactions with a tag feature."""
    return await pending_outputs(network, [By(TAG, tag_of(tag, utf8=utf8))], after or After(page_size), newest=newest)


async def pending_outputs_by_chain(
    network: NetworkMount,
    chain_id: ChainId,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns the states of an alias, NFT or foundry in pending transactions."""
    return await pending_outputs(network, [By(CHAIN, chain_id)], after or After(page_size), newest=newest)


async def pending_outputs(network: NetworkMount, requested: Sequence[By], at: After, *, newest: bool) -> Json:
    """Returns a page of the outputs of pending transactions under these keys."""
    page: Page = await pending.list_pending_outputs(
        network.store, requested, kinds=network.kinds, newest=newest, page_size=at.page_size, cursor=at.cursor
    )
    return {"items": [output_item(row) for row in page.rows], "cursor": at.next(page)}


def output_item(row: Row) -> Json:
    """Returns a row of `pending` about an output as an item."""
    index = int.from_bytes(bytes.fromhex(row["output_id"][64:]), "little")
    return {
        "outputId": f"0x{row['output_id']}",
        "blockId": f"0x{row['message_id']}",
        "output": payload_of(row)["essence"]["outputs"][index],
    }


def payload_of(row: Row) -> Json:
    """Returns the transaction of a pending message in the JSON of its era."""
    found = eras.transaction_of(row)
    assert found is not None, "only transactions have these rows"
    return found[1]


_NO_SPAN = "no milestone references these blocks yet"

EXPLORER_PENDING = (
    Operation("/pending/transactions/{transactionId}", pending_transaction, PendingTransaction, no_span=_NO_SPAN),
    Operation(
        "/pending/outputs/by-address/{address}", pending_outputs_by_address, PendingOutputsOfAddress, no_span=_NO_SPAN
    ),
    Operation("/pending/outputs", pending_outputs_by_tag, PendingOutputs, no_span=_NO_SPAN),
    Operation("/pending/outputs/by-chain/{chainId}", pending_outputs_by_chain, PendingOutputs, no_span=_NO_SPAN),
)
