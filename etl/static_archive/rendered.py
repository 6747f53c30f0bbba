"""JSON of what a static archive contains, with the objects of the node's API."""

from typing import Any

from etl.static_client import CHRYSALIS_MESSAGE, STARDUST_MILESTONE, Found
from etl.verification.milestone_checks import STATE_NAMES
from ledger.chrysalis import values as chrysalis_values
from ledger.eras import CHRYSALIS, STARDUST
from ledger.ids import message_id
from ledger.stardust import codec as stardust
from ledger.stardust import json as stardust_json
from ledger.stardust import values as stardust_values


def found_json(found: Found) -> dict[str, Any]:
    """The message, block or milestone that an id names, its metadata, and the output with the requested index."""
    record = found.record
    if record.kind == STARDUST_MILESTONE:
        payload = stardust.decode_payload(record.data)
        assert isinstance(payload, stardust_values.Milestone)
        return {"found": found.what, "milestone": stardust_json.milestone_json(payload)}
    is_chrysalis = record.kind == CHRYSALIS_MESSAGE
    message = (CHRYSALIS if is_chrysalis else STARDUST).decode(record.data)
    values: dict[str, Any] = {
        "found": found.what,
        "messageId" if is_chrysalis else "blockId": ("" if is_chrysalis else "0x") + message_id(record.data).hex(),
        "referencedByMilestoneIndex": record.milestone_index,
        "whiteFlagIndex": record.position,
    }
    if record.inclusion_state is not None:
        values["ledgerInclusionState"] = STATE_NAMES[record.inclusion_state]
    if record.conflict_reason is not None:
        values["conflictReason"] = record.conflict_reason
    rendered = (CHRYSALIS if is_chrysalis else STARDUST).render(message)
    if found.output_index is not None and isinstance(
        message.payload, chrysalis_values.Transaction | stardust_values.Transaction
    ):
        values["output"] = rendered["payload"]["essence"]["outputs"][found.output_index]
    return values | {"message" if is_chrysalis else "block": rendered}
