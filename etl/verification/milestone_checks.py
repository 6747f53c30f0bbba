"""What a milestone proves about its cone: its signatures, and the transactions that changed the ledger.

The functions are pure. A claim of the source counts only if nothing proves it; a refuted claim is rejected with the
reason. Which transactions changed the ledger is guessed and then checked with the Merkle root. A guess that gives the
root is right, because nobody can find another set of messages with the same root.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from etl.lake.message_rows import MAX_TIMESTAMP_S
from etl.sources.cone import (
    CONFLICTING,
    INCLUDED,
    INCLUSION_STATES,
    NO_TRANSACTION,
    TRANSACTIONS,
    Entry,
    RejectedItem,
)
from ledger import ids
from ledger.chrysalis import codec as chrysalis
from ledger.crypto.merkle import merkle_root
from ledger.eras import CHRYSALIS, STARDUST, Coordinator
from ledger.levels import BELIEVED, MERKLE, SIGNED
from ledger.milestone_proof import Milestone, find_signature_fault
from ledger.stardust import values as stardust_values

STATE_NAMES = {state: name for name, state in reversed(INCLUSION_STATES.items())}
"""The names of inclusion states in a node's API."""

OTHER_BLOCKS = "inclusionMerkleRoot: not that of the blocks, so some are missing, too many or not the milestone's"
WRONG_STATES = "inclusion states: by them the Merkle root is not the milestone's"

Messages: TypeAlias = list[Entry]
"""The messages of a complete cone in white-flag order."""


@dataclass(slots=True)
class Proof:
    """The messages with their final inclusion states, the rejected claims of the source, and the proof level. `level`
    is None if the milestone itself is rejected.
    """

    level: str | None
    messages: Messages
    rejected: list[RejectedItem] = field(default_factory=list)


def prove(
    milestone: Milestone, messages: Messages, coordinator: Coordinator | None, named: Coordinator | None = None
) -> Proof:
    """Verifies a cone on its own. If the coordinator is unknown, the keys that the line contains (`named`) can refute
    the milestone but prove nothing.
    """
    if milestone.timestamp > MAX_TIMESTAMP_S:
        expected = f"at most {MAX_TIMESTAMP_S} (the end of the year 9999)"
        return Proof(None, messages, [RejectedItem("", f"timestamp: expected {expected}, found {milestone.timestamp}")])
    signers = coordinator or named
    if signers is not None and (fault := find_signature_fault(milestone, signers)):
        return Proof(None, messages, [RejectedItem("", fault)])
    ends = [(entry.message_id, entry.message.payload) for entry in messages]
    cone_root = milestone.inclusion_merkle_root if isinstance(milestone, stardust_values.Milestone) else None
    if cone_root is not None and merkle_root([message_id for message_id, _ in ends]) != cone_root:
        return Proof(None, messages, [RejectedItem("", OTHER_BLOCKS)])
    applied = applied_root(milestone)
    for included in _guesses(milestone, messages):
        leaves = [message_id for (message_id, _), each in zip(ends, included, strict=True) if each]
        if merkle_root(leaves) == applied:
            proof = Proof(MERKLE if coordinator is None else SIGNED, [])
            states: list[int | None] = [
                (INCLUDED if each else CONFLICTING) if isinstance(payload, TRANSACTIONS) else NO_TRANSACTION
                for (_, payload), each in zip(ends, included, strict=True)
            ]
            break
    else:
        proof = Proof(BELIEVED, [])
        states = [
            entry.inclusion_state or None if isinstance(entry.message.payload, TRANSACTIONS) else NO_TRANSACTION
            for entry in messages
        ]
        if any(state in (INCLUDED, CONFLICTING) for state in states):
            proof.rejected.append(RejectedItem("", WRONG_STATES))
    for entry, state in zip(messages, states, strict=True):
        proof.messages.append(_settle(entry, state, proof.rejected))
    return proof


def applied_root(milestone: Milestone) -> bytes:
    """The Merkle root over the messages that changed the ledger."""
    if isinstance(milestone, stardust_values.Milestone):
        return milestone.applied_merkle_root
    return milestone.inclusion_merkle_proof


def state_rejected(message_id: bytes, expected: int, found: int) -> RejectedItem:
    """The reject for a claim of the source that is proved wrong."""
    reason = f"inclusion state: {STATE_NAMES[expected]} expected, as is proved, found {STATE_NAMES[found]}"
    return RejectedItem(message_id.hex(), reason)


def _settle(entry: Entry, state: int | None, rejected: list[RejectedItem]) -> Entry:
    """A message with its final state. A contradicting claim of the source is added to `rejected`."""
    claimed, reason = entry.inclusion_state, entry.conflict_reason
    if state is not None and claimed is not None and claimed != state:
        rejected.append(state_rejected(entry.message_id, state, claimed))
    if state is None and claimed is not None:
        rejected.append(
            RejectedItem(entry.message_id.hex(), "inclusion state: included or conflicting expected, found none")
        )
    if reason is not None and state in (NO_TRANSACTION, INCLUDED):
        text = f"conflict reason: none expected where nothing conflicts, found {reason}"
        rejected.append(RejectedItem(entry.message_id.hex(), text))
        reason = None
    if (claimed, entry.conflict_reason) == (state, reason):
        return entry
    return replace(entry, inclusion_state=state, conflict_reason=reason)


def _guesses(milestone: Milestone, messages: Messages) -> Iterator[Sequence[bool]]:
    """Possible sets of messages that changed the ledger: as the source claims (all transactions if it claims nothing);
    all; all except those that spend an output that another one of the cone spent, or one that does not exist.
    """
    payloads = [entry.message.payload for entry in messages]
    every = [isinstance(payload, TRANSACTIONS) for payload in payloads]
    claimed = [each and entry.inclusion_state != CONFLICTING for each, entry in zip(every, messages, strict=True)]
    yield claimed
    if claimed != every:
        yield every
    codec = STARDUST if isinstance(milestone, stardust_values.Milestone) else CHRYSALIS
    spent: set[bytes] = set()
    created: dict[bytes, bool] = {}
    guess = []
    for payload, entry in zip(payloads, messages, strict=True):
        if not isinstance(payload, TRANSACTIONS):
            guess.append(False)
            continue
        inputs = [each for each in payload.essence.inputs if isinstance(each, chrysalis.UtxoInput)]
        consumed = {ids.output_id(each.transaction_id, each.index) for each in inputs}
        good = not consumed & spent and all(created.get(each.transaction_id, True) for each in inputs)
        transaction_id = ids.transaction_id(codec.payload_bytes(entry.data))
        created[transaction_id] = good or created.get(transaction_id, False)
        spent |= consumed if good else set()
        guess.append(good)
    if guess not in (claimed, every):
        yield guess
