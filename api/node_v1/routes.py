"""Node REST v1 (Chrysalis: TIP-13, Hornet 1.x), with the parameters that Chronicle v1 adds to the same routes.

A handler runs one named query of db/queries and writes the result as the node does. Keys have Hornet's order. They are
left out where Hornet leaves them out: `referencedByMilestoneIndex` and `ledgerInclusionState` of pending messages,
`milestoneIndex` except for the milestone's own message, `conflictReason` except for conflicts, and always
`shouldPromote` and `shouldReattach`, which only a live node can determine. A listing of an unknown object is empty, not
an error.
"""

from api import era_routing as eras
from api.fields.chrysalis_params import (
    MESSAGE_ID,
    TRANSACTION_ID,
    Ed25519Address,
    Expanded,
    Included,
    IncludeSpent,
    IncludeSpentInHistory,
    MessageId,
    OutputId,
    OutputIndex,
    OutputType,
    PageSizeOf100,
    Tag,
    TransactionId,
    tag_of,
)
from api.fields.inclusion_state import CONFLICTING, INCLUSION
from api.fields.params import (
    Address,
    EndTimestamp,
    MilestoneIndex,
    NewestFirst,
    OldestFirst,
    PageSize,
    StartTimestamp,
    State,
    Utf8,
)
from api.handlers.ledger_state import ledger_index
from api.http.operations import Family, Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.node_v1.history_routes import HISTORY_V1
from api.node_v1.info_routes import info
from api.node_v1.ledger_routes import LEDGER_V1
from api.node_v1.pages import listing, window
from api.node_v1.responses import (
    AddressOutputsResponse,
    InfoResponse,
    MessageChildrenResponse,
    MessageMetadataResponse,
    MessageResponse,
    MessagesByIndexResponse,
    MilestoneMessagesResponse,
    MilestoneResponse,
    OutputResponse,
)
from db.queries import ledger, messages, milestones, outputs, transactions
from ledger.chrysalis.codec import decode_message, decode_output
from ledger.chrysalis.json import message_json, output_json
from ledger.chrysalis.transaction import ED25519

MILESTONE_PAYLOAD = 1


async def message(network: NetworkMount, message_id: MessageId) -> Json:
    """Returns a message by its id."""
    row = await eras.get_message(network, message_id, eras.Era.CHRYSALIS)
    return message_json(decode_message(row["message"]))


async def message_metadata(network: NetworkMount, message_id: MessageId) -> Json:
    """Returns the metadata of a message.

    A pending message, which no milestone references, has neither milestone nor inclusion state.
    """
    row = await eras.get_message(network, message_id, eras.Era.CHRYSALIS)
    value = decode_message(row["message"])
    metadata: Json = {
        "messageId": message_id,
        "parentMessageIds": [parent.hex() for parent in value.parents],
        "isSolid": True,
    }
    index = row.get("milestone_index")
    if index is None:
        return metadata
    metadata["referencedByMilestoneIndex"] = index
    if value.payload is not None and value.payload.KIND == MILESTONE_PAYLOAD:
        issued = await milestones.find_milestone(network.store, index)
        if issued is not None and issued["message_id"] == message_id:
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
    page_size: PageSizeOf100,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    start: StartTimestamp,
    end: EndTimestamp,
) -> Json:
    """Returns the messages that approve a message.

    Pending messages count as the newest.
    """
    span = await window(network, start, end)
    page = await messages.list_children(
        network.store,
        message_id,
        with_inclusion=expanded,
        window=span,
        newest=newest,
        page_size=page_size,
        cursor=state,
    )
    head = {"messageId": message_id}
    return listing(head, "childrenMessageIds", "message_id", page, page_size, expanded=expanded)


async def messages_by_index(
    network: NetworkMount,
    index: Tag,
    utf8: Utf8,
    page_size: PageSize,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    start: StartTimestamp,
    end: EndTimestamp,
) -> Json:
    """Returns the messages with an index, direct or inside a transaction.

    Pending messages count as the newest.
    """
    tag = tag_of(index, utf8=utf8)
    span = await window(network, start, end)
    page = await messages.list_tagged(
        network.store, tag, with_inclusion=expanded, window=span, newest=newest, page_size=page_size, cursor=state
    )
    return listing({"index": tag}, "messageIds", "message_id", page, page_size, expanded=expanded)


async def included_message(network: NetworkMount, transaction_id: TransactionId) -> Json:
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
    page_size: PageSizeOf100,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    start: StartTimestamp,
    end: EndTimestamp,
) -> Json:
    """Returns the messages that approve the message that included a transaction."""
    message_id = await transactions.get_included_message_id(network.store, transaction_id)
    return await message_children(network, message_id, page_size, state, newest, expanded, start, end)


async def output_of_transaction(
    network: NetworkMount, transaction_id: TransactionId, output_index: OutputIndex
) -> Json:
    """Returns an output by its transaction and index."""
    return await output(network, transaction_id + output_index.to_bytes(2, "little").hex())


async def output(network: NetworkMount, output_id: OutputId) -> Json:
    """Returns an output of an included transaction, and whether it is spent at ledgerIndex."""
    as_of = await ledger.find_ledger_index(network.store, network.name)
    found = await outputs.get_output(network.store, output_id, as_of)
    eras.expect(eras.Era.CHRYSALIS, eras.of_output(found), f"output {output_id}")
    value: Json = {
        "messageId": found["created_message_id"],
        "transactionId": output_id[:64],
        "outputIndex": int.from_bytes(bytes.fromhex(output_id[64:]), "little"),
        "isSpent": found["spent_milestone_index"] is not None,
    }
    if found["spent_milestone_index"] is not None:
        value["milestoneIndexSpent"] = found["spent_milestone_index"]
        value["transactionIdSpent"] = found["spent_transaction_id"]
    value["output"] = output_json(decode_output(found["data"]))
    value["ledgerIndex"] = await ledger_index(network, as_of)
    return value


async def address_outputs(
    network: NetworkMount,
    address: Address,
    output_type: OutputType,
    include_spent: IncludeSpent,
    included: Included,
    page_size: PageSize,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    start: StartTimestamp,
    end: EndTimestamp,
) -> Json:
    """Returns the outputs of an address, by default only those that are unspent at ledgerIndex."""
    return await ed25519_outputs(
        network,
        network.ed25519_address(address),
        output_type,
        include_spent,
        included,
        page_size,
        state,
        newest,
        expanded,
        start,
        end,
    )


async def ed25519_outputs(
    network: NetworkMount,
    address: Ed25519Address,
    output_type: OutputType,
    include_spent: IncludeSpentInHistory,
    included: Included,
    page_size: PageSizeOf100,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    start: StartTimestamp,
    end: EndTimestamp,
) -> Json:
    """Returns the outputs of an Ed25519 address in hex."""
    page = await outputs.list_outputs_by_address(
        network.store,
        f"{ED25519:02x}{address}",
        output_type=output_type,
        include_spent=include_spent,
        included=included,
        with_inclusion=expanded,
        window=await window(network, start, end),
        as_of=await ledger.find_ledger_index(network.store, network.name),
        newest=newest,
        page_size=page_size,
        cursor=state,
    )
    head = {"addressType": ED25519, "address": address}
    answer = listing(head, "outputIds", "output_id", page, page_size, expanded=expanded)
    answer["ledgerIndex"] = await ledger_index(network, page.as_of)
    return answer


async def milestone(network: NetworkMount, index: MilestoneIndex) -> Json:
    """Returns a milestone by its index."""
    row = await milestones.get_milestone(network.store, index)
    eras.expect(eras.Era.CHRYSALIS, eras.of_milestone(row), f"milestone {index}")
    return {"index": index, "messageId": row["message_id"], "timestamp": row["timestamp"]}


async def milestone_messages(
    network: NetworkMount, index: MilestoneIndex, page_size: PageSize, state: State, newest: OldestFirst
) -> Json:
    """Returns the messages that a milestone references, in white-flag order.

    Its own message is the last. No node has this endpoint; it comes from the permanode plan. `sort=newest` returns the
    exact reverse.
    """
    await milestones.get_milestone(network.store, index)
    page = await milestones.list_milestone_messages(
        network.store, index, newest=newest, page_size=page_size, cursor=state
    )
    return listing({"index": index}, "messageIds", "message_id", page, page_size)


NODE_V1 = Family(
    "node REST v1",
    (
        Operation("/info", info, InfoResponse),
        Operation("/messages", messages_by_index, MessagesByIndexResponse),
        Operation("/messages/{messageId}", message, MessageResponse, (404,), immutable=MESSAGE_ID),
        Operation("/messages/{messageId}/metadata", message_metadata, MessageMetadataResponse, (404,)),
        Operation("/messages/{messageId}/raw", message_raw, None, (404,), immutable=MESSAGE_ID),
        Operation("/messages/{messageId}/children", message_children, MessageChildrenResponse),
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
        Operation("/outputs/{outputId}", output, OutputResponse, (404,)),
        Operation("/outputs/{transactionId}/{outputIndex}", output_of_transaction, OutputResponse, (404,)),
        Operation("/addresses/{address}/outputs", address_outputs, AddressOutputsResponse),
        Operation("/addresses/ed25519/{address}/outputs", ed25519_outputs, AddressOutputsResponse),
        Operation("/milestones/{index}", milestone, MilestoneResponse, (404,)),
        Operation(
            "/milestones/{index}/messages", milestone_messages, MilestoneMessagesResponse, (404,), is_extension=True
        ),
        *LEDGER_V1,
        *HISTORY_V1,
    ),
    wrap=lambda value: {"data": value},
)
