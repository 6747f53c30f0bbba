"""Stardust archive lines in format D, {milestone: {message: record}, messages: [record]}, with protocol tags.

A record is {message_id: {"Shimmer": ID}, message: {"Shimmer": BLOCK}, milestone_index, inclusion_state, …}. The block
has the form of the node's core API v2. The milestone's record contains its payload; its block belongs to a later cone.
"""

from typing import Any

from etl.sources.archive import bee_conflict_reason, bee_inclusion_state, untagged
from etl.sources.cone import Cone, Entry, RejectedItem
from etl.sources.fields import has_key, read_message_id
from ledger.eras import STARDUST
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.json_parse import pack_block_json
from ledger.stardust.values import Milestone

TAG = "Shimmer"


class BlockRecords:
    """Format D with Stardust blocks."""

    name = "archive D of Stardust"

    def claims(self, document: Any) -> bool:
        """Claims objects whose milestone record has a protocol tag."""
        if not has_key(document, "milestone") or not isinstance(document.get("messages"), list):
            return False
        own = document["milestone"]
        if not has_key(own, "message") or not has_key(own["message"], "message"):
            return False
        return has_key(own["message"]["message"], TAG)

    def read(self, document: Any) -> list[Cone]:
        """Reads a cone: the milestone from its record, the blocks from the others."""
        payload = stardust.decode_block(_packed(document["milestone"]["message"])).payload
        if not isinstance(payload, Milestone):
            raise JsonError("milestone.message", "a block that carries a milestone")
        cone = Cone(payload.index, payload, codec=STARDUST)
        for position, record in enumerate(document["messages"]):
            _take(cone, record, f"messages[{position}]")
        return [cone]


def _take(cone: Cone, record: Any, path: str) -> None:
    record = record if isinstance(record, dict) else {}
    item = str(untagged(record.get("message_id", path))).removeprefix("0x")
    try:
        identity, data = read_message_id(item, "message_id"), _packed(record)
        cone.entries.append(
            Entry(
                identity,
                stardust.decode_block(data),
                data,
                record.get("milestone_index"),
                bee_inclusion_state(record.get("inclusion_state")),
                bee_conflict_reason(record.get("conflict_reason")),
            )
        )
    except (JsonError, CodecError) as error:
        cone.rejected.append(RejectedItem(item, str(error)))


def _packed(record: dict[str, Any]) -> bytes:
    """The bytes of a record's block."""
    tagged = record.get("message")
    if not has_key(tagged, TAG):
        raise JsonError("message", f"a block tagged {TAG}, as the milestone is")
    return pack_block_json(untagged(tagged))
