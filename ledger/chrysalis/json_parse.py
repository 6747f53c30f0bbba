"""Parses the JSON of the node's REST API v1 (TIP-13) to Chrysalis values. The inverse is `json`.

Invariants:
1. Parsing checks what decoding checks, so the bytes of a parsed value always decode. Bad JSON raises only JsonError.
2. Unknown keys are ignored. Recorded responses and request bodies omit some keys; their defaults are network id 0, next
   PoW scores 0, no payload, no receipt.
3. `PARSE` has the tags of `codec.KINDS`.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ledger.chrysalis.milestone import MAX_KEYS
from ledger.chrysalis.transaction import ED25519, MAX_INDEX_BYTES
from ledger.chrysalis.values import (
    Essence,
    Indexation,
    Message,
    MigratedFunds,
    Milestone,
    Output,
    Payload,
    Receipt,
    ReferenceUnlock,
    SigLockedDustAllowance,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TransferOutput,
    TreasuryInput,
    TreasuryOutput,
    TreasuryTransaction,
    Unlock,
    UtxoInput,
)
from ledger.json_reader import (
    U32,
    U64,
    JsonError,
    boolean,
    choose,
    hex_bytes,
    hex_member,
    listed,
    nested,
    optional,
    uint,
    uint_text,
)
from ledger.layout import MAX_ITEMS, MAX_PARENTS, ascending

_Parsers: TypeAlias = Mapping[int, Callable[[Any], Any]]

_ED25519_BYTE = bytes([ED25519])


def parse_message_json(value: Any) -> Message:
    """Parses a message from a response or a request body. Raises JsonError."""
    return Message(
        uint_text(value, "networkId", U64, absent=0),
        _parse_parents(value),
        optional(value, "payload", _parse_message_payload),
        uint_text(value, "nonce", U64),
    )


def parse_payload_json(value: Any) -> Payload:
    """Parses a payload of any kind. Raises JsonError."""
    payload: Payload = choose(value, PARSE["payload"])
    return payload


def parse_milestone_json(value: Any) -> Milestone:
    """Parses a milestone payload. Raises JsonError."""
    milestone: Milestone = choose(value, _MILESTONE_PAYLOADS)
    return milestone


def parse_output_json(value: Any) -> Output:
    """Parses an output of any kind. Raises JsonError."""
    output: Output = choose(value, PARSE["output"])
    return output


def parse_transfer_output_json(value: Any) -> TransferOutput:
    """Parses an output that an address owns, so not the treasury. Raises JsonError."""
    output: TransferOutput = choose(value, _TRANSFER_OUTPUTS)
    return output


def parse_address_json(value: Any) -> bytes:
    """Parses an address to its 33 serialized bytes. Raises JsonError."""
    _expect(value, "type", ED25519)
    return _ED25519_BYTE + hex_member(value, "address", 32)


def renumber_ed25519(value: Any) -> Any:
    """Converts JSON from before the final numbering, when Ed25519 was type 1, to the current numbers.

    Nodes and clients of alphanet wrote it. Callers that know the age of a source apply this function; parsing never
    guesses.
    """
    if isinstance(value, list):
        return [renumber_ed25519(each) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {key: renumber_ed25519(each) for key, each in value.items()}
    if changed.get("type") == 1 and (changed.keys() == {"type", "address"} or "publicKey" in changed):
        changed["type"] = ED25519
    return changed


def _expect(value: Any, key: str, number: int) -> None:
    if uint(value, key, U32) != number:
        raise JsonError(key, f"{number}")


def _parse_id(value: Any) -> bytes:
    return hex_bytes(value, 32)


def _parse_parents(value: Any) -> tuple[bytes, ...]:
    parents = listed(value, "parentMessageIds", _parse_id, 1, MAX_PARENTS)
    if not ascending(parents):
        raise JsonError("parentMessageIds", "ids in ascending order, each once")
    return parents


def _parse_message_payload(value: Any) -> Any:
    return choose(value, _MESSAGE_PAYLOADS)


def _parse_indexation(value: Any) -> Indexation:
    index = hex_member(value, "index")
    if not 1 <= len(index) <= MAX_INDEX_BYTES:
        raise JsonError("index", f"hex of 1 to {MAX_INDEX_BYTES} bytes")
    return Indexation(index, hex_member(value, "data"))


def _parse_transaction(value: Any) -> Transaction:
    essence = nested(value, "essence", _parse_essence)
    count = len(essence.inputs)
    return Transaction(essence, listed(value, "unlockBlocks", _parse_unlock, count, count))


def _parse_essence(value: Any) -> Essence:
    _expect(value, "type", 0)
    return Essence(
        listed(value, "inputs", _parse_transfer_input, 1, MAX_ITEMS),
        listed(value, "outputs", parse_transfer_output_json, 1, MAX_ITEMS),
        optional(value, "payload", _parse_essence_payload),
    )


def _parse_transfer_input(value: Any) -> UtxoInput:
    spent: UtxoInput = choose(value, _TRANSFER_INPUTS)
    return spent


def _parse_essence_payload(value: Any) -> Indexation:
    payload: Indexation = choose(value, _ESSENCE_PAYLOADS)
    return payload


def _parse_unlock(value: Any) -> Unlock:
    block: Unlock = choose(value, PARSE["unlock"])
    return block


def _parse_milestone(value: Any) -> Milestone:
    keys = listed(value, "publicKeys", _parse_id, 1, MAX_KEYS)
    return Milestone(
        uint(value, "index", U32),
        uint(value, "timestamp", U64),
        _parse_parents(value),
        hex_member(value, "inclusionMerkleProof", 32),
        uint(value, "nextPoWScore", U32, absent=0),
        uint(value, "nextPoWScoreMilestoneIndex", U32, absent=0),
        keys,
        optional(value, "receipt", _parse_receipt_payload),
        listed(value, "signatures", _parse_signature, len(keys), len(keys)),
    )


def _parse_signature(value: Any) -> bytes:
    return hex_bytes(value, 64)


def _parse_receipt_payload(value: Any) -> Receipt:
    receipt: Receipt = choose(value, _RECEIPT_PAYLOADS)
    return receipt


def _parse_receipt(value: Any) -> Receipt:
    return Receipt(
        uint(value, "migratedAt", U32),
        boolean(value, "final"),
        listed(value, "funds", _parse_migrated_funds, 1, MAX_ITEMS),
        nested(value, "transaction", _parse_treasury_payload),
    )


def _parse_migrated_funds(value: Any) -> MigratedFunds:
    return MigratedFunds(
        hex_member(value, "tailTransactionHash", 49),
        nested(value, "address", parse_address_json),
        uint(value, "deposit", U64),
    )


def _parse_treasury_payload(value: Any) -> TreasuryTransaction:
    payload: TreasuryTransaction = choose(value, _TREASURY_PAYLOADS)
    return payload


def _parse_treasury_transaction(value: Any) -> TreasuryTransaction:
    return TreasuryTransaction(
        nested(value, "input", lambda each: choose(each, _TREASURY_INPUTS)),
        nested(value, "output", lambda each: choose(each, _TREASURY_OUTPUTS)),
    )


def _parse_utxo_input(value: Any) -> UtxoInput:
    return UtxoInput(hex_member(value, "transactionId", 32), uint(value, "transactionOutputIndex", MAX_ITEMS - 1))


def _parse_treasury_input(value: Any) -> TreasuryInput:
    return TreasuryInput(hex_member(value, "milestoneId", 32))


def _parse_single(value: Any) -> SigLockedSingle:
    return SigLockedSingle(nested(value, "address", parse_address_json), uint(value, "amount", U64))


def _parse_dust_allowance(value: Any) -> SigLockedDustAllowance:
    return SigLockedDustAllowance(nested(value, "address", parse_address_json), uint(value, "amount", U64))


def _parse_treasury_output(value: Any) -> TreasuryOutput:
    return TreasuryOutput(uint(value, "amount", U64))


def _parse_signature_unlock(value: Any) -> SignatureUnlock:
    return nested(value, "signature", _parse_ed25519_signature)


def _parse_ed25519_signature(value: Any) -> SignatureUnlock:
    _expect(value, "type", ED25519)
    return SignatureUnlock(hex_member(value, "publicKey", 32), hex_member(value, "signature", 64))


def _parse_reference_unlock(value: Any) -> ReferenceUnlock:
    return ReferenceUnlock(uint(value, "reference", MAX_ITEMS - 1))


PARSE: Mapping[str, _Parsers] = {
    "payload": {
        0: _parse_transaction,
        1: _parse_milestone,
        2: _parse_indexation,
        3: _parse_receipt,
        4: _parse_treasury_transaction,
    },
    "input": {0: _parse_utxo_input, 1: _parse_treasury_input},
    "output": {0: _parse_single, 1: _parse_dust_allowance, 2: _parse_treasury_output},
    "unlock": {0: _parse_signature_unlock, 1: _parse_reference_unlock},
}


def _only(family: str, *tags: int) -> _Parsers:
    return {tag: PARSE[family][tag] for tag in tags}


# The tags that are allowed in each place.
_MESSAGE_PAYLOADS = _only("payload", 0, 1, 2)
_ESSENCE_PAYLOADS = _only("payload", 2)
_MILESTONE_PAYLOADS = _only("payload", 1)
_RECEIPT_PAYLOADS = _only("payload", 3)
_TREASURY_PAYLOADS = _only("payload", 4)
_TRANSFER_INPUTS = _only("input", 0)
_TREASURY_INPUTS = _only("input", 1)
_TRANSFER_OUTPUTS = _only("output", 0, 1)
_TREASURY_OUTPUTS = _only("output", 2)
