"""Node JSON lines: what a node's REST API v1 answers, a milestone or a never-referenced message a line.

A milestone line: {milestone: {index, payload, …}, messages: [{id, message, metadata, bytes_hex?}]}; a pending line:
{id, message, metadata?} with metadata that names no milestone.
"""

from typing import Any

from etl.sources.cone import INCLUSION_STATES, Cone, Entry, Refused
from ledger.chrysalis import encode_message
from ledger.reader import CodecError
from ledger.rest_json import JsonError, parse_message_json, parse_milestone_json


class MilestoneLines:
    """A milestone and its cone."""

    name = "node JSON"

    def claims(self, document: dict[str, Any]) -> bool:
        """By milestone.index and a list of messages."""
        return "index" in (document.get("milestone") or {}) and isinstance(document.get("messages"), list)

    def read(self, document: dict[str, Any]) -> Cone:
        """Each message with its metadata."""
        milestone = document["milestone"]
        payload = milestone.get("payload")
        cone = Cone(int(milestone["index"]), parse_milestone_json(payload) if payload is not None else None)
        for position, record in enumerate(document["messages"]):
            _take(cone, record, f"messages[{position}]")
        return cone


class PendingLines:
    """A message that was never referenced."""

    name = "node JSON, pending"

    def claims(self, document: dict[str, Any]) -> bool:
        """By an id and a message, and no milestone."""
        return "id" in document and "message" in document

    def read(self, document: dict[str, Any]) -> Cone:
        """A cone of one, of no milestone."""
        cone = Cone(None)
        _take(cone, document, "message")
        return cone


def _take(cone: Cone, record: Any, path: str) -> None:
    text = record.get("id", path) if isinstance(record, dict) else path
    try:
        cone.entries.append(_entry(record))
    except (JsonError, CodecError) as refusal:
        cone.refused.append(Refused(str(text), str(refusal)))


def _entry(record: Any) -> Entry:
    if not isinstance(record, dict) or not {"id", "message"} <= record.keys():
        raise JsonError("message", "an object with id and message")
    metadata = record.get("metadata") or {}
    text = record["id"]
    try:
        message_id = bytes.fromhex(text)
    except (ValueError, TypeError):
        message_id = b""
    if len(message_id) != 32:
        raise JsonError("id", f"64 hex digits, found {text!r}")
    if metadata.get("messageId", text) != text:
        raise JsonError("metadata.messageId", f"{text}, found {metadata['messageId']}")
    message = parse_message_json(record["message"])
    if "bytes_hex" in record and record["bytes_hex"] != encode_message(message).hex():
        raise JsonError("bytes_hex", "the bytes of the message's JSON")
    state = metadata.get("ledgerInclusionState")
    if state is not None and state not in INCLUSION_STATES:
        raise JsonError("metadata.ledgerInclusionState", f"noTransaction, included or conflicting, found {state!r}")
    return Entry(
        message_id,
        message,
        metadata.get("referencedByMilestoneIndex"),
        None if state is None else INCLUSION_STATES[state],
        metadata.get("conflictReason"),
    )
