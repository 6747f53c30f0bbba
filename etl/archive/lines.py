"""Formats a verified milestone as the line of an archive file: node JSON of its era, which etl/sources reads.

The line depends only on the milestone, not on its source: messages are in white-flag order, keys in the order of this
module, and only verified values are written. Conflict reasons are the exception, because they cannot be verified.
"""

from typing import Any

import orjson

from etl.lake.checked import Checked
from etl.sources.cone import Entry
from etl.verification.milestone_checks import STATE_NAMES
from ledger.chrysalis import json as rest_json
from ledger.chrysalis import values as chrysalis_values
from ledger.stardust import codec as stardust
from ledger.stardust import json as stardust_json
from ledger.stardust import values as stardust_values


def milestone_line(checked: Checked) -> bytes:
    """The line of a complete milestone, with its line feed."""
    milestone, entries = checked.milestone, checked.messages
    head: dict[str, Any]
    if isinstance(milestone, stardust_values.Milestone):
        head = {
            "index": milestone.index,
            "timestamp": milestone.timestamp,
            "milestoneId": f"0x{stardust.milestone_id(milestone).hex()}",
            "payload": stardust_json.milestone_json(milestone),
        }
        return _line({"milestone": head, "blocks": [_block(entry, milestone.index) for entry in entries]})
    assert isinstance(milestone, chrysalis_values.Milestone), "a whole cone has its milestone"
    head = {
        "index": milestone.index,
        "timestamp": milestone.timestamp,
        "messageId": entries[-1].message_id.hex(),
        "payload": rest_json.milestone_json(milestone),
    }
    return _line({"milestone": head, "messages": [_message(entry, milestone.index) for entry in entries]})


def pending_line(entry: Entry) -> bytes:
    """The line of a message that no milestone references, with its line feed."""
    return _line((_block if isinstance(entry.message, stardust_values.Block) else _message)(entry, None))


def _message(entry: Entry, milestone_index: int | None) -> dict[str, Any]:
    assert isinstance(entry.message, chrysalis_values.Message)
    message = rest_json.message_json(entry.message)
    return {"id": entry.message_id.hex(), "message": message, "metadata": _metadata(entry, milestone_index)}


def _block(entry: Entry, milestone_index: int | None) -> dict[str, Any]:
    assert isinstance(entry.message, stardust_values.Block)
    block = stardust_json.block_json(entry.message)
    return {"id": f"0x{entry.message_id.hex()}", "block": block, "metadata": _metadata(entry, milestone_index)}


def _metadata(entry: Entry, milestone_index: int | None) -> dict[str, Any]:
    """The metadata with a node's names. Unknown values are omitted."""
    state = None if entry.inclusion_state is None else STATE_NAMES[entry.inclusion_state]
    fields = {
        "referencedByMilestoneIndex": milestone_index,
        "ledgerInclusionState": state,
        "conflictReason": entry.conflict_reason,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _line(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
