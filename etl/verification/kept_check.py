"""Verifies the stored messages of a milestone of which a selective lake has a part: each by its own proof.

Spark's executors import this module, so it imports neither PySpark nor delta-rs.
"""

from collections.abc import Sequence
from typing import Any

from etl.lake.checked import Checked
from etl.sources.cone import INCLUDED
from etl.sources.rejects import Reject
from ledger.chrysalis import codec as chrysalis
from ledger.eras import Coordinator, Eras
from ledger.ids import message_id
from ledger.inclusion_proof import APPLIED, REFERENCED
from ledger.levels import MERKLE, SIGNED
from ledger.message_proof import MessageProof, decode_proof
from ledger.milestone_proof import Milestone, find_signature_fault
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust import values as stardust_values


def check_kept(index: int, known: Sequence[dict[str, Any]], eras: Eras, coordinator: Coordinator | None) -> Checked:
    """Returns the milestone with its proof level and the first fault. `known`: its rows in the lake with `proof`."""
    checked = Checked(index, codec=eras.at(index).codec)
    fault = "milestone: its payload is missing"
    try:
        checked.milestone = milestone = _milestone_of(index, known)
        if milestone is not None:
            fault = _fault_of(milestone, known, coordinator) or ""
    except CodecError as error:
        fault = str(error)
    if fault:
        checked.rejects.append(Reject("lake", 0, "", fault))
    elif all(row["verified"] is not None for row in known):
        checked.verified = MERKLE if coordinator is None else SIGNED
    return checked


def _milestone_of(index: int, known: Sequence[dict[str, Any]]) -> Milestone | None:
    """The payload of the milestone: in Stardust a row of its own, in Chrysalis that of the message without a proof."""
    for row in known:
        if row["message_id"] is None:
            payload = stardust.decode_payload(row["milestone"])
            return payload if isinstance(payload, stardust_values.Milestone) and payload.index == index else None
    for row in known:
        if row["proof"] is None:
            carried = chrysalis.milestone_of(chrysalis.decode_message(row["message"]))
            if carried is not None and carried.index == index:
                return carried
    return None


def _fault_of(milestone: Milestone, known: Sequence[dict[str, Any]], coordinator: Coordinator | None) -> str | None:
    """Why the milestone or a message is not proved; None if all are."""
    if coordinator is not None and (fault := find_signature_fault(milestone, coordinator)):
        return fault
    for row in known:
        identity = row["message_id"]
        if identity is None:
            continue
        if message_id(row["message"]) != identity:
            return f"message {identity.hex()}: its bytes have another hash"
        proof = MessageProof() if row["proof"] is None else decode_proof(row["proof"])
        claim = APPLIED if row["inclusion_state"] == INCLUDED else REFERENCED
        if claim not in proof.find_claims(milestone, row["message"]):
            return f"message {identity.hex()}: its proof does not show that the milestone {claim} it"
    return None
