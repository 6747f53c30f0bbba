"""Writes Chronicle's archive line format A for generated archives: the inverse of ledger/chrysalis/archive_json.py.

The output has the serde forms of the bee crates: ids as hex; keys, signatures, tags and data as lists of numbers; u64
as JSON numbers; enums as {"type", "data"}; missing values as explicit nulls.
"""

from typing import Any, TypeAlias

from ledger.chrysalis.codec import (
    Indexation,
    Message,
    MessagePayload,
    Milestone,
    SigLockedDustAllowance,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TransferOutput,
    Unlock,
)
from ledger.ids import output_id

Json: TypeAlias = dict[str, Any]

_OUTPUT_TYPES = {SigLockedSingle: "SignatureLockedSingle", SigLockedDustAllowance: "SignatureLockedDustAllowance"}


def message_form(message: Message) -> Json:
    """The first half of a message's pair in a line."""
    return {
        "network_id": message.network_id,
        "parents": [parent.hex() for parent in message.parents],
        "payload": None if message.payload is None else _payload_form(message.payload),
        "nonce": message.nonce,
    }


def metadata_form(message_id: str, parents: list[str], milestone_index: int, inclusion_state: str) -> Json:
    """The second half: the node's metadata of the message."""
    return {
        "messageId": message_id,
        "parentMessageIds": parents,
        "isSolid": True,
        "referencedByMilestoneIndex": milestone_index,
        "ledgerInclusionState": inclusion_state,
        "shouldPromote": None,
        "shouldReattach": None,
    }


def milestone_form(milestone: Milestone) -> Json:
    """A milestone payload beside the messages of its line. Receipts are not generated."""
    return {
        "essence": {
            "index": milestone.index,
            "timestamp": milestone.timestamp,
            "parents": [parent.hex() for parent in milestone.parents],
            "merkle_proof": list(milestone.inclusion_merkle_proof),
            "next_pow_score": milestone.next_pow_score,
            "next_pow_score_milestone_index": milestone.next_pow_score_milestone_index,
            "public_keys": [list(key) for key in milestone.public_keys],
            "receipt": None,
        },
        "signatures": [list(signature) for signature in milestone.signatures],
    }


def _payload_form(payload: MessagePayload) -> Json:
    if isinstance(payload, Indexation):
        return {"type": "Indexation", "data": {"index": list(payload.index), "data": list(payload.data)}}
    if isinstance(payload, Milestone):
        return {"type": "Milestone", "data": milestone_form(payload)}
    return {"type": "Transaction", "data": _transaction_form(payload)}


def _transaction_form(transaction: Transaction) -> Json:
    essence = transaction.essence
    inputs = [{"type": "Utxo", "data": output_id(each.transaction_id, each.index).hex()} for each in essence.inputs]
    return {
        "essence": {
            "type": "Regular",
            "data": {
                "inputs": inputs,
                "outputs": [_output_form(output) for output in essence.outputs],
                "payload": None if essence.payload is None else _payload_form(essence.payload),
            },
        },
        "unlock_blocks": [_unlock_form(block) for block in transaction.unlock_blocks],
    }


def _output_form(output: TransferOutput) -> Json:
    address = {"type": "Ed25519", "data": output.address[1:].hex()}
    return {"type": _OUTPUT_TYPES[type(output)], "data": {"address": address, "amount": output.amount}}


def _unlock_form(block: Unlock) -> Json:
    if isinstance(block, SignatureUnlock):
        signature = {"public_key": list(block.public_key), "signature": list(block.signature)}
        return {"type": "Signature", "data": {"type": "Ed25519", "data": signature}}
    return {"type": "Reference", "data": block.index}
