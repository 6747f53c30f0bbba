"""Chronicle archive lines, formats A to D: one JSON object per milestone, with messages in bee's serde form.

- A, B: {milestone_index, milestone, messages: {id: [message, metadata]}, …}
- C: {message_id, milestone_index, payload, messages: [record]}
- D: {milestone: {message: record}, messages: [record]}

A record contains message_id, message, milestone_index, inclusion_state and conflict_reason. Newer writers tag ids and
messages with their protocol.
"""

from collections.abc import Iterator
from typing import Any

from etl.sources.cone import Cone, Entry, RejectedItem
from etl.sources.fields import (
    has_key,
    read_conflict_reason,
    read_inclusion_state,
    read_message_id,
    read_milestone_index,
)
from ledger.chrysalis.archive_json import message_from_archive, milestone_from_archive
from ledger.chrysalis.codec import encode_message
from ledger.chrysalis.json import JsonError
from ledger.reader import CodecError

BEE_INCLUSION_STATES = {0: "conflicting", 1: "included", 2: "noTransaction"}

BEE_CONFLICT_REASONS = {
    "None": 0,
    "InputUtxoAlreadySpent": 1,
    "InputUtxoAlreadySpentInThisMilestone": 2,
    "InputUtxoNotFound": 3,
    "CreatedConsumedAmountMismatch": 4,
    "InputOutputSumMismatch": 4,
    "InvalidSignature": 5,
    "InvalidDustAllowance": 6,
    "SemanticValidationFailed": 255,
}


class MessageMap:
    """Formats A and B."""

    name = "archive A/B"

    def claims(self, document: Any) -> bool:
        """Claims objects with milestone_index and a map of messages."""
        return has_key(document, "milestone_index") and isinstance(document.get("messages"), dict)

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone. Each entry of the map is [message, metadata]; the metadata comes from the node."""
        index = read_milestone_index(document["milestone_index"], "milestone_index")
        milestone = document.get("milestone")
        cone = Cone(index, milestone_from_archive(milestone) if milestone is not None else None)
        for text, value in document["messages"].items():
            try:
                value, metadata = _pair(text, value)
                message_id, message = read_message_id(text, "messages"), message_from_archive(value)
                cone.entries.append(
                    Entry(
                        message_id,
                        message,
                        encode_message(message),
                        metadata.get("referencedByMilestoneIndex"),
                        bee_inclusion_state(metadata.get("ledgerInclusionState")),
                        bee_conflict_reason(metadata.get("conflictReason")),
                    )
                )
            except (JsonError, CodecError) as error:
                cone.rejected.append(RejectedItem(text, str(error)))
        return [cone]


class RecordList:
    """Formats C and D."""

    name = "archive C/D"

    def claims(self, document: Any) -> bool:
        """Claims objects with a list of records."""
        messages = document.get("messages") if isinstance(document, dict) else None
        if not isinstance(messages, list) or "whiteFlagIndex" in document:
            return False
        return "milestone_index" in document or has_key(document.get("milestone"), "message")

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone. Format D has the milestone's own record next to the list, format C in it."""
        own = document.get("milestone")
        index = document.get("milestone_index")
        if index is None and own is not None:
            index = own["message"].get("milestone_index")
        index = read_milestone_index(index, "milestone_index")
        payload = document.get("payload")
        cone = Cone(index, milestone_from_archive(payload.get("data", payload)) if payload else None)
        for text, record in _records(document):
            try:
                message_id = read_message_id(text, "message_id")
                message = message_from_archive(untagged(record.get("message")))
                cone.entries.append(
                    Entry(
                        message_id,
                        message,
                        encode_message(message),
                        record.get("milestone_index"),
                        bee_inclusion_state(record.get("inclusion_state")),
                        bee_conflict_reason(record.get("conflict_reason")),
                    )
                )
            except (JsonError, CodecError) as error:
                cone.rejected.append(RejectedItem(text, str(error)))
        return [cone]


def _records(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    records = list(document["messages"])
    if isinstance(document.get("milestone"), dict) and "message" in document["milestone"]:
        records.append(document["milestone"]["message"])
    seen = set()
    for position, record in enumerate(records):
        if not isinstance(record, dict):
            yield f"messages[{position}]", {}
            continue
        text = str(untagged(record.get("message_id")))
        if text not in seen:
            seen.add(text)
            yield text, record


def _pair(text: str, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, dict) for part in value):
        raise JsonError("messages", "a pair [message, metadata]")
    message, metadata = value
    if metadata.get("messageId", text) != text:
        raise JsonError("metadata.messageId", f"{text}, found {metadata['messageId']}")
    return message, metadata


def untagged(value: Any) -> Any:
    """Removes the protocol tag of newer writers; returns other values unchanged."""
    if isinstance(value, dict) and len(value) == 1:
        ((protocol, inner),) = value.items()
        if protocol in ("Chrysalis", "Shimmer"):
            return inner
    return value


def bee_inclusion_state(value: Any) -> int | None:
    """Parses an inclusion state from bee's number or name."""
    name = BEE_INCLUSION_STATES.get(value, value) if type(value) is int else value
    return read_inclusion_state(name, "inclusion state")


def bee_conflict_reason(value: Any) -> int | None:
    """Parses a conflict reason from bee's name or Hornet's code."""
    code = BEE_CONFLICT_REASONS.get(value, value) if isinstance(value, str) else value
    return read_conflict_reason(code, "conflict reason")
