"""Explorer v2, an extension: the blocks that contain a transaction, and what became of each.

Several blocks may contain the same transaction. The ledger applies at most one of them.
"""

from api.explorer_v2.responses import AttachmentList
from api.fields.inclusion_state import inclusion
from api.fields.inx_chronicle_params import After, ExplorerPageSize, OwnCursor
from api.fields.stardust_params import TransactionId
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from db.queries import transactions


async def attachments_of_transaction(
    network: NetworkMount, transaction_id: TransactionId, page_size: ExplorerPageSize, after: OwnCursor
) -> Json:
    """Returns the blocks and Chrysalis messages that contain a transaction and that a milestone references.

    The included one is first. The list is empty if there are none; pending/transactions has those that no milestone
    references yet.
    """
    at = after or After(page_size)
    page = await transactions.list_attachments(network.store, transaction_id, page_size=at.page_size, cursor=at.cursor)
    return {
        "transactionId": f"0x{transaction_id}",
        "items": [
            {
                "blockId": f"0x{row['message_id']}",
                "milestoneIndex": row["milestone_index"],
                "ledgerInclusionState": inclusion(row),
            }
            for row in page.rows
        ],
        "cursor": at.next(page),
    }


EXPLORER_ATTACHMENTS = (
    Operation(
        "/transactions/{transactionId}/blocks",
        attachments_of_transaction,
        AttachmentList,
        no_span="the blocks of a transaction are sorted by inclusion state",
    ),
)
