"""Parses messages in Chronicle's archive files: the serde JSON of the Rust bee crates → Chrysalis values.

Invariants:
1. There is no encoder, because no program writes this form any more. Parsing checks what decoding checks, so the bytes
   of a parsed value always decode. Bad JSON raises only JsonError.
2. Variants are `{"type": NAME, "data": …}`. Ids and addresses are hex texts. Keys, signatures, index and data are lists
   of numbers. u64 are JSON numbers that may exceed 2^53, so the JSON parser must preserve integers.
3. A later Chronicle wrapped a message in its era, `{"Chrysalis": {…}}`. That is accepted; its other era is not.
4. `VARIANTS` has one entry for each of `codec.KINDS`, under the archive's name for it.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ledger.chrysalis.milestone import MAX_KEYS
from ledger.chrysalis.transaction import ED25519, MAX_INDEX_BYTES
from ledger.chrysalis.values import (
    Essence,
    Indexation,
    Message,
    MessagePayload,
    MigratedFunds,
    Milestone,
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
    hex_bytes,
    listed,
    member,
    nested,
    optional,
    uint,
)
from ledger.layout import MAX_ITEMS, MAX_PARENTS, ascending

_Parsers: TypeAlias = Mapping[str, Callable[[Any], Any]]

_ED25519_BYTE = bytes([ED25519])
_HASH_TRITS = 243  # of a legacy transaction hash
_TRITS_A_BYTE = 5


def message_from_archive(value: Any) -> Message:
    """Parses an entry of an archive line's `messages`. Raises JsonError."""
    if type(value) is dict and "Chrysalis" in value:
        return nested(value, "Chrysalis", _parse_message)
    return _parse_message(value)


def milestone_from_archive(value: Any) -> Milestone:
    """Parses an archive line's `milestone`: essence and signatures, without a type. Raises JsonError."""
    milestone = nested(value, "essence", _parse_milestone_essence)
    keys = len(milestone.public_keys)
    signatures = listed(value, "signatures", _parse_signature, keys, keys)
    return Milestone(
        milestone.index,
        milestone.timestamp,
        milestone.parents,
        milestone.inclusion_merkle_proof,
        milestone.next_pow_score,
        milestone.next_pow_score_milestone_index,
        milestone.public_keys,
        milestone.receipt,
        signatures,
    )


def _parse_message(value: Any) -> Message:
    return Message(
        uint(value, "network_id", U64),
        _parse_parents(value),
        optional(value, "payload", _parse_message_payload),
        uint(value, "nonce", U64),
    )


def _variant(value: Any, parsers: _Parsers) -> Any:
    name = member(value, "type")
    parse = parsers.get(name) if type(name) is str else None
    if parse is None:
        raise JsonError("type", " or ".join(parsers))
    return nested(value, "data", parse)


def _numbers(value: Any, size: int | None = None) -> bytes:
    """Bytes as a list of numbers. `size` is the expected length. Default: any."""
    try:
        data = bytes(value) if type(value) is list else None
    except (TypeError, ValueError):
        data = None
    if data is None or (size is not None and len(data) != size):
        raise JsonError("", f"a list of {'numbers' if size is None else f'{size} numbers'} from 0 to 255")
    return data


def _parse_id(value: Any) -> bytes:
    return hex_bytes(value, 32)


def _parse_key(value: Any) -> bytes:
    return _numbers(value, 32)


def _parse_signature(value: Any) -> bytes:
    return _numbers(value, 64)


def _parse_parents(value: Any) -> tuple[bytes, ...]:
    parents = listed(value, "parents", _parse_id, 1, MAX_PARENTS)
    if not ascending(parents):
        raise JsonError("parents", "ids in ascending order, each once")
    return parents


def _parse_message_payload(value: Any) -> MessagePayload:
    payload: MessagePayload = _variant(value, _MESSAGE_PAYLOADS)
    return payload


def _parse_indexation(value: Any) -> Indexation:
    index = nested(value, "index", _numbers)
    if not 1 <= len(index) <= MAX_INDEX_BYTES:
        raise JsonError("index", f"a list of 1 to {MAX_INDEX_BYTES} numbers")
    return Indexation(index, nested(value, "data", _numbers))


def _parse_transaction(value: Any) -> Transaction:
    essence = nested(value, "essence", _parse_essence)
    count = len(essence.inputs)
    return Transaction(essence, listed(value, "unlock_blocks", _parse_unlock, count, count))


def _parse_essence(value: Any) -> Essence:
    essence: Essence = _variant(value, _ESSENCES)
    return essence


def _parse_regular_essence(value: Any) -> Essence:
    return Essence(
        listed(value, "inputs", _parse_transfer_input, 1, MAX_ITEMS),
        listed(value, "outputs", _parse_transfer_output, 1, MAX_ITEMS),
        optional(value, "payload", _parse_essence_payload),
    )


def _parse_transfer_input(value: Any) -> UtxoInput:
    spent: UtxoInput = _variant(value, _TRANSFER_INPUTS)
    return spent


def _parse_transfer_output(value: Any) -> TransferOutput:
    output: TransferOutput = _variant(value, _TRANSFER_OUTPUTS)
    return output


def _parse_essence_payload(value: Any) -> Indexation:
    payload: Indexation = _variant(value, _ESSENCE_PAYLOADS)
    return payload


def _parse_unlock(value: Any) -> Unlock:
    block: Unlock = _variant(value, VARIANTS["unlock"])
    return block


def _parse_utxo_input(value: Any) -> UtxoInput:
    output_id = hex_bytes(value, 34)
    index = int.from_bytes(output_id[32:], "little")
    if index >= MAX_ITEMS:
        raise JsonError("", f"an output id whose index is below {MAX_ITEMS}")
    return UtxoInput(output_id[:32], index)


def _parse_treasury_input(value: Any) -> TreasuryInput:
    return TreasuryInput(hex_bytes(value, 32))


def _parse_address(value: Any) -> bytes:
    address: bytes = _variant(value, _ADDRESSES)
    return address


def _parse_ed25519_address(value: Any) -> bytes:
    return _ED25519_BYTE + hex_bytes(value, 32)


def _parse_single(value: Any) -> SigLockedSingle:
    return SigLockedSingle(nested(value, "address", _parse_address), uint(value, "amount", U64))


def _parse_dust_allowance(value: Any) -> SigLockedDustAllowance:
    return SigLockedDustAllowance(nested(value, "address", _parse_address), uint(value, "amount", U64))


def _parse_treasury_output(value: Any) -> TreasuryOutput:
    return TreasuryOutput(uint(value, "amount", U64))


def _parse_signature_unlock(value: Any) -> SignatureUnlock:
    block: SignatureUnlock = _variant(value, _SIGNATURES)
    return block


def _parse_ed25519_signature(value: Any) -> SignatureUnlock:
    return SignatureUnlock(nested(value, "public_key", _parse_key), nested(value, "signature", _parse_signature))


def _parse_reference_unlock(value: Any) -> ReferenceUnlock:
    if type(value) is not int or not 0 <= value < MAX_ITEMS:
        raise JsonError("", f"the index of an unlock block, from 0 to {MAX_ITEMS - 1}")
    return ReferenceUnlock(value)


def _parse_milestone_essence(value: Any) -> Milestone:
    """Parses a milestone without its signatures."""
    return Milestone(
        uint(value, "index", U32),
        uint(value, "timestamp", U64),
        _parse_parents(value),
        nested(value, "merkle_proof", _parse_key),
        uint(value, "next_pow_score", U32),
        uint(value, "next_pow_score_milestone_index", U32),
        listed(value, "public_keys", _parse_key, 1, MAX_KEYS),
        optional(value, "receipt", _parse_receipt_payload),
        (),
    )


def _parse_receipt_payload(value: Any) -> Receipt:
    receipt: Receipt = _variant(value, _RECEIPT_PAYLOADS)
    return receipt


def _parse_receipt(value: Any) -> Receipt:
    return Receipt(
        uint(value, "migrated_at", U32),
        boolean(value, "last"),
        listed(value, "funds", _parse_migrated_funds, 1, MAX_ITEMS),
        nested(value, "transaction", _parse_treasury_payload),
    )


def _parse_migrated_funds(value: Any) -> MigratedFunds:
    output = nested(value, "output", _parse_single)
    return MigratedFunds(nested(value, "tail_transaction_hash", _parse_trits), output.address, output.amount)


def _parse_trits(value: Any) -> bytes:
    """49 bytes of 243 trits: five trits per byte, the least significant first, two's complement (legacy t5b1)."""
    if type(value) is not list or len(value) != _HASH_TRITS or any(type(trit) is not int for trit in value):
        raise JsonError("", f"a list of {_HASH_TRITS} trits")
    packed = bytearray()
    for start in range(0, _HASH_TRITS, _TRITS_A_BYTE):
        group = value[start : start + _TRITS_A_BYTE]
        if not all(-1 <= trit <= 1 for trit in group):
            raise JsonError("", f"a list of {_HASH_TRITS} trits, each -1, 0 or 1")
        packed.append(sum(trit * 3**place for place, trit in enumerate(group)) & 0xFF)
    return bytes(packed)


def _parse_treasury_payload(value: Any) -> TreasuryTransaction:
    payload: TreasuryTransaction = _variant(value, _TREASURY_PAYLOADS)
    return payload


def _parse_treasury_transaction(value: Any) -> TreasuryTransaction:
    return TreasuryTransaction(
        nested(value, "input", lambda each: _variant(each, _TREASURY_INPUTS)),
        nested(value, "output", lambda each: _variant(each, _TREASURY_OUTPUTS)),
    )


VARIANTS: Mapping[str, _Parsers] = {
    "payload": {
        "Transaction": _parse_transaction,
        "Milestone": milestone_from_archive,
        "Indexation": _parse_indexation,
        "Receipt": _parse_receipt,
        "TreasuryTransaction": _parse_treasury_transaction,
    },
    "input": {"Utxo": _parse_utxo_input, "Treasury": _parse_treasury_input},
    "output": {
        "SignatureLockedSingle": _parse_single,
        "SignatureLockedDustAllowance": _parse_dust_allowance,
        "Treasury": _parse_treasury_output,
    },
    "unlock": {"Signature": _parse_signature_unlock, "Reference": _parse_reference_unlock},
}


def _only(family: str, *names: str) -> _Parsers:
    return {name: VARIANTS[family][name] for name in names}


# The variants that are allowed in each place.
_MESSAGE_PAYLOADS = _only("payload", "Transaction", "Milestone", "Indexation")
_ESSENCE_PAYLOADS = _only("payload", "Indexation")
_RECEIPT_PAYLOADS = _only("payload", "Receipt")
_TREASURY_PAYLOADS = _only("payload", "TreasuryTransaction")
_TRANSFER_INPUTS = _only("input", "Utxo")
_TREASURY_INPUTS = _only("input", "Treasury")
_TRANSFER_OUTPUTS = _only("output", "SignatureLockedSingle", "SignatureLockedDustAllowance")
_TREASURY_OUTPUTS = _only("output", "Treasury")
_ESSENCES: _Parsers = {"Regular": _parse_regular_essence}
_ADDRESSES: _Parsers = {"Ed25519": _parse_ed25519_address}
_SIGNATURES: _Parsers = {"Ed25519": _parse_ed25519_signature}
