"""Node REST v1 (Chrysalis: TIP-13, Hornet 1.x), with the parameters that Chronicle v1 adds to the same routes.

A handler runs one named query of db/queries and writes the result as the node does. Keys have Hornet's order. They are
left out where Hornet leaves them out: `referencedByMilestoneIndex` and `ledgerInclusionState` of pending messages,
`milestoneIndex` except for the milestone's own message, `conflictReason` except for conflicts, and always
`shouldPromote` and `shouldReattach`, which only a live node can determine. A listing of an unknown object is empty, not
an error.
"""

import orjson

from api import era_routing as eras
from api.fields.chrysalis_params import (
    MESSAGE_ID,
    TRANSACTION_ID,
    Expanded,
    MessageId,
    NodePageSize,
    NodePageSizeOf100,
    Tag,
    TransactionId,
    tag_of,
)
from api.fields.inclusion_state import CONFLICTING, INCLUSION
from api.fields.params import (
    MilestoneIndex,
    NewestFirst,
    OldestFirst,
    PageSize,
    Proof,
    State,
    Utf8,
)
from api.fields.span_params import TimedSpan
from api.handlers.listing_proofs import with_proof
from api.http.operations import Family, Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.node_v1.history_routes import HISTORY_V1
from api.node_v1.info_routes import info
from api.node_v1.ledger_routes import LEDGER_V1
from api.node_v1.output_routes import OUTPUTS_V1
from api.node_v1.pages import listing, window
from api.node_v1.responses import (
    InfoResponse,
    MessageChildrenResponse,
    MessageMetadataResponse,
    MessageResponse,
    MessagesByIndexResponse,
    MilestoneMessagesResponse,
    MilestoneResponse,
)
from db.listing.page import Page
from db.queries import messages, milestones, transactions
from db.store import Row
from ledger.chrysalis.codec import parents_of, payload_type
from ledger.chrysalis.json_text import message_text
from ledger.chrysalis.values import Milestone


async def message(network: NetworkMount, message_id: MessageId) -> orjson.Fragment:
    """Returns a message by its id."""
    row = await eras.get_message(network, message_id, eras.Era.CHRYSALIS)
    return orjson.Fragment(message_text(row["message"]))


async def message_metadata(network: NetworkMount, message_id: MessageId) -> Json:
    """Returns the metadata of a message.

    A pending message, which no milestone references, has neither milestone nor inclusion state.
    """
    return await message_metadata_json(network, await eras.get_message(network, message_id, eras.Era.CHRYSALIS))


async def message_metadata_json(network: NetworkMount, row: Row) -> Json:
    """Returns a row of `messages` or `pending_messages` as the node writes the metadata of a message."""
    data: bytes = row["message"]
    metadata: Json = {
        "messageId": row["message_id"],
        "parentMessageIds": [parent.hex() for parent in parents_of(data)],
        "isSolid": True,
    }
    index = row.get("milestone_index")
    if index is None:
        return metadata
    metadata["referencedByMilestoneIndex"] = index
    if payload_type(data) == Milestone.KIND:
        issued = await milestones.find_milestone(network.store, index)
        if issued is not None and issued["message_id"] == row["message_id"]:
            metadata["milestoneIndex"] = index
    metadata["ledgerInclusionState"] = INCLUSION[row["inclusion_state"]]
    if row["inclusion_state"] == CONFLICTING and row["conflict_reason"] is not None:
        metadata["conflictReason"] = row["conflict_reason"]
    return metadata


async def message_raw(network: NetworkMount, message_id: MessageId) -> bytes:
    """Returns the canonical bytes of a message.

    Their BLAKE2b-256 is its id.
    """
    data: bytes = (await eras.get_message(network, message_id, eras.Era.CHRYSALIS))["message"]
    return data


async def message_children(
    network: NetworkMount,
    message_id: MessageId,
    page_size: NodePageSizeOf100,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    span: TimedSpan,
    proof: Proof,
) -> Json:
    """Returns the messages that approve a message.

    Pending messages count as the newest.
    """
    limits = await window(network, span)
    page = await messages.list_children(
        network.store,
        message_id,
        with_inclusion=expanded,
        window=limits,
        newest=newest,
        page_size=page_size,
        cursor=state,
    )
    answer = listing({"messageId": message_id}, "childrenMessageIds", "message_id", page, page_size, expanded=expanded)
    return await with_proof(network, proof, answer, page, ("messages_by_parent", message_id), limits)


async def messages_by_index(
    network: NetworkMount,
    index: Tag,
    utf8: Utf8,
    page_size: NodePageSize,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    span: TimedSpan,
    proof: Proof,
) -> Json:
    """Returns the messages with an index, direct or inside a transaction.

    Pending messages count as the newest.
    """
    tag = tag_of(index, utf8=utf8)
    limits = await window(network, span)
    page = await messages.list_tagged(
        network.store, tag, with_inclusion=expanded, window=limits, newest=newest, page_size=page_size, cursor=state
    )
    answer = listing({"index": tag}, "messageIds", "message_id", page, page_size, expanded=expanded)
    return await with_proof(network, proof, answer, page, ("messages_by_tag", tag), limits)


async def included_message(network: NetworkMount, transaction_id: TransactionId) -> orjson.Fragment:
    """Returns the message that included a transaction.

    Other attachments of the transaction took no effect.
    """
    return await message(network, await transactions.get_included_message_id(network.store, transaction_id))


async def included_message_metadata(network: NetworkMount, transaction_id: TransactionId) -> Json:
    """Returns the metadata of the message that included a transaction."""
    return await message_metadata(network, await transactions.get_included_message_id(network.store, transaction_id))


async def included_message_raw(network: NetworkMount, transaction_id: TransactionId) -> bytes:
    """Returns the canonical bytes of the message that included a transaction."""
    return await message_raw(network, await transactions.get_included_message_id(network.store, transaction_id))


async def included_message_children(
    network: NetworkMount,
    transaction_id: TransactionId,
    page_size: NodePageSizeOf100,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    span: TimedSpan,
    proof: Proof,
) -> Json:
    """Returns the messages that approve the message that included a transaction."""
    message_id = await transactions.get_included_message_id(network.store, transaction_id)
    return await message_children(network, message_id, page_size, state, newest, expanded, span, proof)


async def milestone(network: NetworkMount, index: MilestoneIndex) -> Json:
    """Returns a milestone by its index."""
    row = await milestones.get_milestone(network.store, index)
    eras.expect(eras.Era.CHRYSALIS, eras.of_milestone(row), f"milestone {index}")
    return {"index": index, "messageId": row["message_id"], "timestamp": row["timestamp"]}


async def milestone_messages(
    network: NetworkMount,
    index: MilestoneIndex,
    page_size: PageSize,
    state: State,
    newest: OldestFirst,
    expanded: Expanded,
) -> Json:
    """Returns the messages that a milestone references, in white-flag order.

    Its own message is the last. No node has this endpoint; it comes from the permanode plan. `sort=newest` returns the
    exact reverse.
    """
    await milestones.get_milestone(network.store, index)
    page = await milestones.list_milestone_messages(
        network.store, index, with_inclusion=expanded, newest=newest, page_size=page_size, cursor=state
    )
    rows = [row | {"milestone_index": index} for row in page.rows]
    answer = Page(rows, page.cursor)
    return listing({"index": index}, "messageIds", "message_id", answer, page_size, expanded=expanded)


NODE_V1 = Family(
    "node REST v1",
    (
        Operation("/info", info, InfoResponse),
        Operation("/messages", messages_by_index, MessagesByIndexResponse, (404,)),
        Operation("/messages/{messageId}", message, MessageResponse, (404,), immutable=MESSAGE_ID),
        Operation("/messages/{messageId}/metadata", message_metadata, MessageMetadataResponse, (404,)),
        Operation("/messages/{messageId}/raw", message_raw, None, (404,), immutable=MESSAGE_ID),
        Operation("/messages/{messageId}/children", message_children, MessageChildrenResponse, (404,)),
        *(
            Operation(
                f"/transactions/{{transactionId}}/included-message{part}", handler, answer, (404,), immutable=immutable
            )
            for part, handler, answer, immutable in (
                ("", included_message, MessageResponse, TRANSACTION_ID),
                ("/metadata", included_message_metadata, MessageMetadataResponse, None),
                ("/raw", included_message_raw, None, TRANSACTION_ID),
                ("/children", included_message_children, MessageChildrenResponse, None),
            )
        ),
        *OUTPUTS_V1,
        Operation("/milestones/{index}", milestone, MilestoneResponse, (404,)),
        Operation(
            "/milestones/{index}/messages",
            milestone_messages,
            MilestoneMessagesResponse,
            (404,),
            is_extension=True,
            no_span="one milestone references all these messages",
        ),
        *LEDGER_V1,
        *HISTORY_V1,
    ),
    wrap=lambda value: {"data": value},
    empty_is_none=True,
)
