"""Core API v2 (Stardust: TIP-25, Hornet 2.0): blocks and outputs, and the list of all operations of the family.

Ids have the prefix 0x, and responses have no envelope. A block's `milestoneIndex` and `whiteFlagIndex` are present once
a milestone references it. Raw bytes are the stored bytes. A Chrysalis output that was unspent at the start of Stardust
is returned as Stardust took it over: a basic output with the same address and amount. For a Chrysalis output that was
spent before, and for a Chrysalis message, the status is 404, and the error names the family that serves it.
"""

import orjson

from api import era_routing as eras
from api.core_v2.info_routes import INFO_V2
from api.core_v2.milestone_routes import MILESTONES_V2
from api.core_v2.responses import BlockMetadata, OutputMetadata, OutputWithMetadata
from api.era_routing import Era
from api.fields.inclusion_state import CONFLICTING, INCLUSION
from api.fields.stardust_params import BLOCK_ID, TRANSACTION_ID, BlockId, OutputId, TransactionId
from api.fields.stardust_payloads import Block
from api.fields.sync_responses import SyncResponse
from api.handlers.ledger_state import ledger_index
from api.handlers.sync_status import sync
from api.http.operations import Family, Operation
from api.http.responses import Json
from api.network import NetworkMount
from db.queries import ledger, messages, milestones, outputs, transactions
from db.roles import LEGACY
from db.store import Row
from ledger.chrysalis.codec import TreasuryOutput
from ledger.chrysalis.codec import decode_output as decode_legacy_output
from ledger.stardust.codec import decode_payload, encode_output, parents_of, payload_bytes, payload_type
from ledger.stardust.conflicts import carried_over
from ledger.stardust.json_text import block_text, output_text
from ledger.stardust.values import Milestone


async def block(network: NetworkMount, block_id: BlockId) -> orjson.Fragment:
    """Returns a block by its id."""
    row = await eras.get_message(network, block_id, Era.STARDUST)
    return orjson.Fragment(block_text(row["message"]))


async def block_raw(network: NetworkMount, block_id: BlockId) -> bytes:
    """Returns the canonical bytes of a block.

    Their BLAKE2b-256 is its id.
    """
    data: bytes = (await eras.get_message(network, block_id, Era.STARDUST))["message"]
    return data


async def block_metadata(network: NetworkMount, block_id: BlockId) -> Json:
    """Returns the metadata of a block.

    A pending block, which no milestone references, has neither milestone nor inclusion state.
    """
    return await block_metadata_json(network, await eras.get_message(network, block_id, Era.STARDUST))


async def block_metadata_json(network: NetworkMount, row: Row) -> Json:
    """Returns a row of `messages` or `pending_messages` as the node writes the metadata of a block."""
    data: bytes = row["message"]
    metadata: Json = {
        "blockId": f"0x{row['message_id']}",
        "parents": [f"0x{parent.hex()}" for parent in parents_of(data)],
        "isSolid": True,
    }
    if row.get("milestone_index") is None:
        return metadata
    metadata["referencedByMilestoneIndex"] = row["milestone_index"]
    if payload_type(data) == Milestone.KIND:
        payload = decode_payload(payload_bytes(data))
        assert isinstance(payload, Milestone)
        issued = await milestones.find_milestone(network.store, payload.index)
        if issued is not None and issued["payload"] == payload_bytes(data):
            metadata["milestoneIndex"] = payload.index
    metadata["ledgerInclusionState"] = INCLUSION[row["inclusion_state"]]
    if row["inclusion_state"] == CONFLICTING and row["conflict_reason"] is not None:
        metadata["conflictReason"] = row["conflict_reason"]
    if row["white_flag_index"] is not None:
        metadata["whiteFlagIndex"] = row["white_flag_index"]
    return metadata


async def included_block(network: NetworkMount, transaction_id: TransactionId) -> orjson.Fragment:
    """Returns the block that included a transaction.

    Other attachments of the transaction took no effect.
    """
    return await block(network, await transactions.get_included_message_id(network.store, transaction_id))


async def included_block_raw(network: NetworkMount, transaction_id: TransactionId) -> bytes:
    """Returns the canonical bytes of the block that included a transaction."""
    return await block_raw(network, await transactions.get_included_message_id(network.store, transaction_id))


async def included_block_metadata(network: NetworkMount, transaction_id: TransactionId) -> Json:
    """Returns the metadata of the block that included a transaction."""
    return await block_metadata(network, await transactions.get_included_message_id(network.store, transaction_id))


async def output_row(network: NetworkMount, output_id: str, as_of: int | None) -> Row:
    """Returns the row of an output that existed in Stardust. Raises OtherEra for an output that was spent in
    Chrysalis.
    """
    row = await outputs.get_output(network.store, output_id, as_of)
    if row["output_kind"] == LEGACY and row["spent_message_id"] is not None:
        spender = await messages.get_message(network.store, row["spent_message_id"])
        eras.expect(Era.STARDUST, eras.of_message(spender), f"output {output_id}")
    return row


def output_bytes(row: Row) -> bytes:
    """Returns an output in Stardust's serialization."""
    data: bytes = row["data"]
    if row["output_kind"] != LEGACY:
        return data
    legacy = decode_legacy_output(data)
    assert not isinstance(legacy, TreasuryOutput), "the treasury has no output id"
    return encode_output(carried_over(legacy))


async def output(network: NetworkMount, output_id: OutputId) -> Json:
    """Returns an output of an included transaction, and whether it is spent at ledgerIndex."""
    as_of = await ledger.find_ledger_index(network.store, network.name)
    row = await output_row(network, output_id, as_of)
    return {
        "metadata": await output_metadata_json(network, row, as_of),
        "output": orjson.Fragment(output_text(output_bytes(row))),
    }


async def output_raw(network: NetworkMount, output_id: OutputId) -> bytes:
    """Returns the bytes of an output."""
    as_of = await ledger.find_ledger_index(network.store, network.name)
    return output_bytes(await output_row(network, output_id, as_of))


async def output_metadata(network: NetworkMount, output_id: OutputId) -> Json:
    """Returns the metadata of an output, and whether it is spent at ledgerIndex."""
    as_of = await ledger.find_ledger_index(network.store, network.name)
    return await output_metadata_json(network, await output_row(network, output_id, as_of), as_of)


async def output_metadata_json(network: NetworkMount, row: Row, as_of: int | None) -> Json:
    """Returns a row of `outputs` as the node writes it. A milestone of unknown time has timestamp 0."""
    booked, booked_at = await outputs.find_booking(network.store, row)
    output_id, spent = row["output_id"], row["spent_milestone_index"]
    metadata: Json = {
        "blockId": f"0x{row['created_message_id']}",
        "transactionId": f"0x{output_id[:64]}",
        "outputIndex": int.from_bytes(bytes.fromhex(output_id[64:]), "little"),
        "isSpent": spent is not None,
    }
    if spent is not None:
        metadata["milestoneIndexSpent"] = spent
        metadata["milestoneTimestampSpent"] = (await milestones.find_timestamps(network.store, [spent]))[0] or 0
        metadata["transactionIdSpent"] = f"0x{row['spent_transaction_id']}"
    return metadata | {
        "milestoneIndexBooked": booked,
        "milestoneTimestampBooked": booked_at or 0,
        "ledgerIndex": await ledger_index(network, as_of),
    }


CORE_V2 = Family(
    "core API v2",
    (
        *INFO_V2,
        Operation("/sync", sync, SyncResponse, is_extension=True),
        Operation("/blocks/{blockId}", block, Block, (404,), immutable=BLOCK_ID, raw=block_raw),
        Operation("/blocks/{blockId}/metadata", block_metadata, BlockMetadata, (404,)),
        Operation(
            "/transactions/{transactionId}/included-block",
            included_block,
            Block,
            (404,),
            immutable=TRANSACTION_ID,
            raw=included_block_raw,
        ),
        Operation(
            "/transactions/{transactionId}/included-block/metadata", included_block_metadata, BlockMetadata, (404,)
        ),
        Operation("/outputs/{outputId}", output, OutputWithMetadata, (404,), raw=output_raw),
        Operation("/outputs/{outputId}/metadata", output_metadata, OutputMetadata, (404,)),
        *MILESTONES_V2,
    ),
    wrap=lambda value: value,
    empty_is_none=True,
)
