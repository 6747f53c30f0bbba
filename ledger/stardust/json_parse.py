"""Parses the JSON of the node's REST API v2 (TIP-25) to Stardust bytes, and those to values. The inverse is `json`.

Invariants:
1. JSON becomes bytes in one pass, without intermediate values: callers need a block's id more often than its contents.
   `PACK` has the tags of `codec.KINDS`.
2. Packing checks the JSON (keys, types, sizes of hex and numbers) and raises JsonError. Decoding checks the bytes and
   raises CodecError. Parsing packs and decodes, so it raises either. Both are ValueError.
3. Unknown keys are ignored. What Hornet omits when empty may be missing, null or empty: payloads, lists of native
   tokens, features and options, tag, data and metadata. A missing foundry counter is 0, as in nodes.
"""

from collections.abc import Mapping
from typing import Any

from ledger import layout
from ledger.json_reader import U32 as MAX_U32
from ledger.json_reader import U64 as MAX_U64
from ledger.json_reader import (
    JsonError,
    boolean,
    choose,
    choose_each,
    choose_in,
    listed,
    prefixed_hash,
    prefixed_hex,
    prefixed_hex_up_to,
    prefixed_ids,
    uint,
    uint_text,
)
from ledger.layout import MAX_ITEMS as MAX_FUNDS
from ledger.layout import MAX_PARENTS, encode_nested
from ledger.stardust import codec as stardust
from ledger.stardust.conditions import ED25519, MAX_METADATA_BYTES
from ledger.stardust.json_parse_outputs import (
    CONDITIONS,
    FEATURES,
    OUTPUTS,
    TOKEN_SCHEMES,
    Packers,
    pack_address,
    pack_set,
    parse_address_json,
)
from ledger.stardust.layouts import (
    BLOCK_HEAD,
    ESSENCE_MIDDLE,
    MIGRATED_FUNDS,
    MILESTONE_HEAD,
    MILESTONE_MIDDLE,
    PARAMETERS_HEAD,
    RECEIPT_HEAD,
    REFERENCE_UNLOCK,
    SIGNATURE,
    TAGGED_DATA_HEAD,
    TRANSACTION_HEAD,
    TREASURY_INPUT,
    U8,
    U16,
    U32,
    U64,
    UTXO_INPUT,
)
from ledger.stardust.transaction import ESSENCE, MAX_ITEMS
from ledger.stardust.values import Block, Milestone, Output, Payload

__all__ = [
    "PACK",
    "JsonError",
    "pack_block_json",
    "pack_output_json",
    "parse_address_json",
    "parse_block_json",
    "parse_milestone_json",
    "parse_output_json",
    "parse_payload_json",
]

_MAX_U8 = 0xFF


def parse_block_json(value: Any) -> Block:
    """Parses a block from a response or a request body. Raises JsonError or CodecError."""
    return stardust.decode_block(pack_block_json(value))


def parse_payload_json(value: Any) -> Payload:
    """Parses a payload of any kind. Raises JsonError or CodecError."""
    return stardust.decode_payload(choose(value, PACK["payload"]))


def parse_milestone_json(value: Any) -> Milestone:
    """Parses a milestone payload. Raises JsonError or CodecError."""
    milestone = stardust.decode_payload(choose(value, _MILESTONE_PAYLOADS))
    assert isinstance(milestone, Milestone)
    return milestone


def parse_output_json(value: Any) -> Output:
    """Parses an output of any kind. Raises JsonError or CodecError."""
    return stardust.decode_output(pack_output_json(value))


def pack_block_json(value: Any) -> bytes:
    """Packs a block; the hash of the bytes is its id. `codec.decode_block` may still reject them.

    Raises:
        JsonError: The JSON is malformed.
        CodecError: The block is too long.
    """
    parents = prefixed_ids(value, "parents", 1, MAX_PARENTS)
    payload = b"" if value.get("payload") is None else choose_in(value, "payload", _BLOCK_PAYLOADS)
    data = b"".join(
        (
            BLOCK_HEAD.pack(uint(value, "protocolVersion", _MAX_U8), len(parents)),
            *parents,
            U32.pack(len(payload)),
            payload,
            U64.pack(uint_text(value, "nonce", MAX_U64)),
        )
    )
    if len(data) > stardust.MAX_BLOCK_BYTES:
        layout.check_size(data, "block", stardust.MAX_BLOCK_BYTES)
    return data


def pack_output_json(value: Any) -> bytes:
    """Packs an output; `codec.decode_output` may still reject the bytes. Raises JsonError."""
    return choose(value, PACK["output"])


def _tagged_data(value: Any) -> bytes:
    tag = prefixed_hex_up_to(value, "tag", _MAX_U8)
    data = prefixed_hex_up_to(value, "data", stardust.MAX_BLOCK_BYTES)
    return b"".join((TAGGED_DATA_HEAD.pack(5, len(tag)), tag, U32.pack(len(data)), data))


def _transaction(value: Any) -> bytes:
    essence = choose_in(value, "essence", _ESSENCES)
    unlocks = choose_each(value, "unlocks", _UNLOCKS, 1, MAX_ITEMS)
    return b"".join((essence, U16.pack(len(unlocks)), *unlocks))


def _essence(value: Any) -> bytes:
    """Packs an essence after the transaction's type, because both share a layout."""
    inputs = choose_each(value, "inputs", _TRANSFER_INPUTS, 1, MAX_ITEMS)
    outputs = choose_each(value, "outputs", _TRANSFER_OUTPUTS, 1, MAX_ITEMS)
    payload = b"" if value.get("payload") is None else choose_in(value, "payload", _ESSENCE_PAYLOADS)
    return b"".join(
        (
            TRANSACTION_HEAD.pack(6, ESSENCE, uint_text(value, "networkId", MAX_U64), len(inputs)),
            *inputs,
            ESSENCE_MIDDLE.pack(prefixed_hash(value, "inputsCommitment"), len(outputs)),
            *outputs,
            U32.pack(len(payload)),
            payload,
        )
    )


def _utxo_input(value: Any) -> bytes:
    return UTXO_INPUT.pack(
        0, prefixed_hash(value, "transactionId"), uint(value, "transactionOutputIndex", MAX_ITEMS - 1)
    )


def _treasury_input(value: Any) -> bytes:
    return TREASURY_INPUT.pack(1, prefixed_hash(value, "milestoneId"))


def _treasury_transaction(value: Any) -> bytes:
    spent = choose_in(value, "input", _TREASURY_INPUTS)
    return b"".join((U32.pack(4), spent, choose_in(value, "output", _TREASURY_OUTPUTS)))


def _signature_unlock(value: Any) -> bytes:
    return b"\0" + choose_in(value, "signature", _SIGNATURES)


def _signature(value: Any) -> bytes:
    return SIGNATURE.pack(ED25519, prefixed_hash(value, "publicKey"), prefixed_hex(value, "signature", 64))


def _reference(value: Any) -> bytes:
    return REFERENCE_UNLOCK.pack(value["type"], uint(value, "reference", MAX_ITEMS - 1))


def _milestone(value: Any) -> bytes:
    parents = prefixed_ids(value, "parents", 1, MAX_PARENTS)
    metadata = prefixed_hex_up_to(value, "metadata", MAX_METADATA_BYTES)
    signatures = choose_each(value, "signatures", _SIGNATURES, 1, _MAX_U8)
    return b"".join(
        (
            MILESTONE_HEAD.pack(
                7,
                uint(value, "index", MAX_U32),
                uint(value, "timestamp", MAX_U32),
                uint(value, "protocolVersion", _MAX_U8),
                prefixed_hash(value, "previousMilestoneId"),
                len(parents),
            ),
            *parents,
            MILESTONE_MIDDLE.pack(
                prefixed_hash(value, "inclusionMerkleRoot"),
                prefixed_hash(value, "appliedMerkleRoot"),
                len(metadata),
            ),
            metadata,
            pack_set(value, "options", _OPTIONS),
            U8.pack(len(signatures)),
            *signatures,
        )
    )


def _receipt(value: Any) -> bytes:
    funds = listed(value, "funds", _migrated_funds, 1, MAX_FUNDS)
    final = boolean(value, "final")
    return b"".join(
        (
            RECEIPT_HEAD.pack(0, uint(value, "migratedAt", MAX_U32), final, len(funds)),
            *funds,
            encode_nested(choose_in(value, "transaction", _TREASURY_PAYLOADS)),
        )
    )


def _migrated_funds(value: Any) -> bytes:
    return MIGRATED_FUNDS.pack(
        prefixed_hex(value, "tailTransactionHash", 49),
        pack_address(value, "address"),
        uint_text(value, "deposit", MAX_U64),
    )


def _parameters(value: Any) -> bytes:
    params = prefixed_hex_up_to(value, "params", MAX_METADATA_BYTES)
    target, version = uint(value, "targetMilestoneIndex", MAX_U32), uint(value, "protocolVersion", _MAX_U8)
    return PARAMETERS_HEAD.pack(1, target, version, len(params)) + params


PACK: Mapping[str, Packers] = {
    "payload": {4: _treasury_transaction, 5: _tagged_data, 6: _transaction, 7: _milestone},
    "input": {0: _utxo_input, 1: _treasury_input},
    "output": OUTPUTS,
    "unlock": {0: _signature_unlock, 1: _reference, 2: _reference, 3: _reference},
    "unlock condition": CONDITIONS,
    "feature": FEATURES,
    "token scheme": TOKEN_SCHEMES,
    "milestone option": {0: _receipt, 1: _parameters},
}


def _only(family: str, *tags: int) -> Packers:
    return {tag: PACK[family][tag] for tag in tags}


# The tags that are allowed in each place.
_BLOCK_PAYLOADS = _only("payload", 5, 6, 7)
_ESSENCE_PAYLOADS = _only("payload", 5)
_MILESTONE_PAYLOADS = _only("payload", 7)
_TREASURY_PAYLOADS = _only("payload", 4)
_TRANSFER_INPUTS = _only("input", 0)
_TREASURY_INPUTS = _only("input", 1)
_TRANSFER_OUTPUTS = _only("output", 3, 4, 5, 6)
_TREASURY_OUTPUTS = _only("output", 2)
_UNLOCKS = PACK["unlock"]
_OPTIONS = PACK["milestone option"]
_ESSENCES: Packers = {ESSENCE: _essence}
_SIGNATURES: Packers = {ED25519: _signature}
