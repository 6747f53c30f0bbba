"""Node JSON lines: responses of a node's REST API v1, one milestone or one pending message per line.

A milestone line is {milestone: {index, payload, …}, messages: [{id, message, metadata, bytes_hex?}]}. A pending line is
{id, message, metadata?} with metadata that names no milestone.
"""

from typing import Any

from etl.sources.cone import Cone, Entry, RejectedItem
from etl.sources.fields import (
    has_key,
    read_conflict_reason,
    read_inclusion_state,
    read_message_id,
    read_milestone_index,
)
from ledger.chrysalis.codec import encode_message
from ledger.chrysalis.json import JsonError, parse_message_json, parse_milestone_json
from ledger.reader import CodecError


class MilestoneLines:
    """A milestone and its cone."""

    name = "node JSON"

    def claims(self, document: Any) -> bool:
        """Claims objects with milestone.index and a list of messages."""
        return (
            isinstance(document, dict)
            and has_key(document.get("milestone"), "index")
            and isinstance(document.get("messages"), list)
        )

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone: each message with its metadata."""
        milestone = document["milestone"]
        payload = milestone.get("payload")
        index = read_milestone_index(milestone["index"], "milestone.index")
        cone = Cone(index, parse_milestone_json(payload) if payload is not None else None)
        for position, record in enumerate(document["messages"]):
            _take(cone, record, f"messages[{position}]")
        return [cone]


class PendingLines:
    """A message that no milestone references."""

    name = "node JSON, pending"

    def claims(self, document: Any) -> bool:
        """Claims objects with an id and a message, without a milestone."""
        return has_key(document, "id") and "message" in document

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone of one message, without a milestone."""
        cone = Cone(None)
        _take(cone, document, "message")
        return [cone]


def _take(cone: Cone, record: Any, path: str) -> None:
    text = record.get("id", path) if isinstance(record, dict) else path
    try:
        cone.entries.append(_entry(record))
    except (JsonError, CodecError) as error:
        cone.rejected.append(RejectedItem(str(text), str(error)))


def _entry(record: Any) -> Entry:
    if not isinstance(record, dict) or "id" not in record or "message" not in record:
        raise JsonError("message", "an object with id and message")
    metadata = {} if record.get("metadata") is None else record["metadata"]
    if not isinstance(metadata, dict):
        raise JsonError("metadata", f"an object, found {type(metadata).__name__}")
    text = record["id"]
    message_id = read_message_id(text, "id")
    if metadata.get("messageId", text) != text:
        raise JsonError("metadata.messageId", f"{text}, found {metadata['messageId']}")
    message = parse_message_json(record["message"])
    data = encode_message(message)
    if "bytes_hex" in record and record["bytes_hex"] != data.hex():
        raise JsonError("bytes_hex", "the bytes of the message's JSON")
    return Entry(
        message_id,
        message,
        data,
        metadata.get("referencedByMilestoneIndex"),
        read_inclusion_state(metadata.get("ledgerInclusionState"), "metadata.ledgerInclusionState"),
        read_conflict_reason(metadata.get("conflictReason"), "metadata.conflictReason"),
    )
