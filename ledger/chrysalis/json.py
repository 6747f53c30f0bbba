"""Renders Chrysalis values as the JSON of the node's REST API v1 (TIP-13, Hornet 1.x). The inverse is `json_parse`.

Ids, keys and data are hex without prefix. A message's u64 are decimal texts; amounts and times are numbers. All keys of
Hornet are present, in its order, with null for a missing value. `RENDER` has the tags of `codec.KINDS`.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ledger.chrysalis.json_parse import (
    parse_address_json,
    parse_message_json,
    parse_milestone_json,
    parse_output_json,
    parse_payload_json,
)
from ledger.chrysalis.transaction import ED25519
from ledger.chrysalis.values import (
    Indexation,
    Message,
    Milestone,
    Output,
    Payload,
    Receipt,
    ReferenceUnlock,
    SignatureUnlock,
    Transaction,
    TransferOutput,
    TreasuryInput,
    TreasuryOutput,
    TreasuryTransaction,
    UtxoInput,
)
from ledger.json_reader import JsonError

__all__ = [
    "RENDER",
    "Json",
    "JsonError",
    "address_json",
    "message_json",
    "milestone_json",
    "output_json",
    "parse_address_json",
    "parse_message_json",
    "parse_milestone_json",
    "parse_output_json",
    "parse_payload_json",
    "payload_json",
]

Json: TypeAlias = dict[str, Any]


def message_json(message: Message) -> Json:
    """Renders the response of GET messages/{id}, without its `data` wrapper. A message without payload has `payload:
    null`.
    """
    payload = message.payload
    return {
        "networkId": str(message.network_id),
        "parentMessageIds": [parent.hex() for parent in message.parents],
        "payload": None if payload is None else RENDER["payload"][payload.KIND](payload),
        "nonce": str(message.nonce),
    }


def payload_json(payload: Payload) -> Json:
    """Renders a payload of any kind, including receipts and treasury transactions."""
    return RENDER["payload"][payload.KIND](payload)


def output_json(output: Output) -> Json:
    """Renders an output as in GET outputs/{id}."""
    return RENDER["output"][output.KIND](output)


def address_json(address: bytes) -> Json:
    """Renders a serialized address as its type and hash."""
    return {"type": address[0], "address": address[1:].hex()}


def milestone_json(milestone: Milestone) -> Json:
    """Renders a milestone payload as in the message that carries it."""
    return {
        "type": Milestone.KIND,
        "index": milestone.index,
        "timestamp": milestone.timestamp,
        "parentMessageIds": [parent.hex() for parent in milestone.parents],
        "inclusionMerkleProof": milestone.inclusion_merkle_proof.hex(),
        "nextPoWScore": milestone.next_pow_score,
        "nextPoWScoreMilestoneIndex": milestone.next_pow_score_milestone_index,
        "publicKeys": [key.hex() for key in milestone.public_keys],
        "receipt": None if milestone.receipt is None else _receipt_json(milestone.receipt),
        "signatures": [signature.hex() for signature in milestone.signatures],
    }


def _indexation_json(payload: Indexation) -> Json:
    return {"type": Indexation.KIND, "index": payload.index.hex(), "data": payload.data.hex()}


def _transaction_json(payload: Transaction) -> Json:
    essence = payload.essence
    outputs, unlocks = RENDER["output"], RENDER["unlock"]
    return {
        "type": Transaction.KIND,
        "essence": {
            "type": 0,
            "inputs": [_utxo_input_json(each) for each in essence.inputs],
            "outputs": [outputs[each.KIND](each) for each in essence.outputs],
            "payload": None if essence.payload is None else _indexation_json(essence.payload),
        },
        "unlockBlocks": [unlocks[each.KIND](each) for each in payload.unlock_blocks],
    }


def _receipt_json(payload: Receipt) -> Json:
    return {
        "type": Receipt.KIND,
        "migratedAt": payload.migrated_at,
        "funds": [
            {
                "tailTransactionHash": each.tail_transaction_hash.hex(),
                "address": address_json(each.address),
                "deposit": each.deposit,
            }
            for each in payload.funds
        ],
        "transaction": _treasury_transaction_json(payload.transaction),
        "final": payload.final,
    }


def _treasury_transaction_json(payload: TreasuryTransaction) -> Json:
    return {
        "type": TreasuryTransaction.KIND,
        "input": _treasury_input_json(payload.input),
        "output": _treasury_output_json(payload.output),
    }


def _utxo_input_json(value: UtxoInput) -> Json:
    return {"type": UtxoInput.KIND, "transactionId": value.transaction_id.hex(), "transactionOutputIndex": value.index}


def _treasury_input_json(value: TreasuryInput) -> Json:
    return {"type": TreasuryInput.KIND, "milestoneId": value.milestone_id.hex()}


def _transfer_output_json(output: TransferOutput) -> Json:
    return {"type": output.KIND, "address": address_json(output.address), "amount": output.amount}


def _treasury_output_json(output: TreasuryOutput) -> Json:
    return {"type": TreasuryOutput.KIND, "amount": output.amount}


def _signature_unlock_json(block: SignatureUnlock) -> Json:
    return {
        "type": SignatureUnlock.KIND,
        "signature": {"type": ED25519, "publicKey": block.public_key.hex(), "signature": block.signature.hex()},
    }


def _reference_unlock_json(block: ReferenceUnlock) -> Json:
    return {"type": ReferenceUnlock.KIND, "reference": block.index}


RENDER: Mapping[str, Mapping[int, Callable[[Any], Json]]] = {
    "payload": {
        0: _transaction_json,
        1: milestone_json,
        2: _indexation_json,
        3: _receipt_json,
        4: _treasury_transaction_json,
    },
    "input": {0: _utxo_input_json, 1: _treasury_input_json},
    "output": {0: _transfer_output_json, 1: _transfer_output_json, 2: _treasury_output_json},
    "unlock": {0: _signature_unlock_json, 1: _reference_unlock_json},
}
