"""Stardust node JSON lines: responses of a node's core API v2, one milestone or one pending block per line.

A milestone line is {milestone: {index, payload, milestoneId?, blockId?, …}, blocks: [{id, block, metadata,
bytes_hex?}]}. The payload is the milestone's own; its block belongs to a later cone. A pending line is {id, block,
metadata?} with metadata that names no milestone. All hex except bytes_hex begins with 0x.
"""

from typing import Any

from etl.sources.cone import Cone, Entry, RejectedItem
from etl.sources.fields import (
    has_key,
    read_block_id,
    read_conflict_reason,
    read_inclusion_state,
    read_milestone_index,
)
from ledger.eras import STARDUST
from ledger.ids import message_id
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust import values as stardust_values
from ledger.stardust.json_parse import pack_block_json, parse_milestone_json


class BlockLines:
    """A milestone and its cone."""

    name = "node JSON of Stardust"

    def claims(self, document: Any) -> bool:
        """Claims objects with milestone.index and a list of blocks."""
        return (
            isinstance(document, dict)
            and has_key(document.get("milestone"), "index")
            and isinstance(document.get("blocks"), list)
        )

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone: each block with its metadata."""
        milestone = document["milestone"]
        cone = Cone(read_milestone_index(milestone["index"], "milestone.index"), codec=STARDUST)
        try:
            cone.milestone = parse_milestone_json(milestone.get("payload"))
            _check_milestone(milestone, cone.milestone)
        except (JsonError, CodecError) as error:
            cone.rejected.append(RejectedItem("", f"milestone: {error}"))
        for position, record in enumerate(document["blocks"]):
            _take(cone, record, f"blocks[{position}]")
        return [cone]


class PendingBlocks:
    """A block that no milestone references."""

    name = "node JSON of Stardust, pending"

    def claims(self, document: Any) -> bool:
        """Claims objects with an id and a block, without a milestone."""
        return has_key(document, "id") and "block" in document

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone of one block, without a milestone."""
        cone = Cone(None, codec=STARDUST)
        _take(cone, document, "block")
        return [cone]


def _check_milestone(value: dict[str, Any], milestone: stardust_values.Milestone) -> None:
    """Rejects values next to the payload that contradict it."""
    block = stardust.milestone_block_bytes(milestone)
    for key, derived in (("milestoneId", stardust.milestone_id(milestone)), ("blockId", message_id(block))):
        if key in value and read_block_id(value[key], key) != derived:
            raise JsonError(key, f"0x{derived.hex()} by the payload, found {value[key]}")
    if "bytes_hex" in value and value["bytes_hex"] != block.hex():
        raise JsonError("bytes_hex", "the bytes of the block that carries the payload")


def _take(cone: Cone, record: Any, path: str) -> None:
    try:
        cone.entries.append(_entry(record))
    except (JsonError, CodecError) as error:
        text = str(record.get("id", path)) if isinstance(record, dict) else path
        cone.rejected.append(RejectedItem(text.removeprefix("0x"), str(error)))


def _entry(record: Any) -> Entry:
    if not isinstance(record, dict) or "id" not in record or "block" not in record:
        raise JsonError("block", "an object with id and block")
    metadata = {} if record.get("metadata") is None else record["metadata"]
    if not isinstance(metadata, dict):
        raise JsonError("metadata", f"an object, found {type(metadata).__name__}")
    text = record["id"]
    block_id = read_block_id(text, "id")
    if metadata.get("blockId", text) != text:
        raise JsonError("metadata.blockId", f"{text}, found {metadata['blockId']}")
    data = pack_block_json(record["block"])
    if "bytes_hex" in record and record["bytes_hex"] != data.hex():
        raise JsonError("bytes_hex", "the bytes of the block's JSON")
    return Entry(
        block_id,
        stardust.decode_block(data),
        data,
        metadata.get("referencedByMilestoneIndex"),
        read_inclusion_state(metadata.get("ledgerInclusionState"), "metadata.ledgerInclusionState"),
        read_conflict_reason(metadata.get("conflictReason"), "metadata.conflictReason"),
    )
