"""Encodes and decodes Chrysalis messages (protocol 1, TIP-6), and exports the protocol's public names.

Invariants:
1. `KINDS` is the only table of tags: family → tag → Kind. Decoders look up the tag, encoders the value's KIND.
2. Decoding checks the layout: counts, lengths, tags, the order of parents, no trailing bytes. So
   `encode(decode(data)) == data`, and bad bytes raise only CodecError. It does not check what else a node checks
   (sorted inputs and outputs, sums, signatures): reading a message does not need it, and it must not lose
   history.
3. Encoding checks only the size. The value comes from a decoder or parser, which checked the rest.
"""

from collections.abc import Mapping

from ledger import layout
from ledger.chrysalis.layouts import MESSAGE_HEAD, U64
from ledger.chrysalis.milestone import (
    MILESTONE_PAYLOADS,
    RECEIPT_PAYLOADS,
    TREASURY_INPUTS,
    TREASURY_OUTPUTS,
    TREASURY_PAYLOADS,
    encode_milestone_essence,
)
from ledger.chrysalis.transaction import TRANSFER_INPUTS, TRANSFER_OUTPUTS, TRANSFER_PAYLOADS, UNLOCKS, encode_essence
from ledger.chrysalis.values import (
    Essence,
    Indexation,
    Input,
    Message,
    MessagePayload,
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
from ledger.layout import Kind, Kinds
from ledger.reader import CodecError, Reader

__all__ = [
    "KINDS",
    "MAX_MESSAGE_BYTES",
    "CodecError",
    "Essence",
    "Indexation",
    "Input",
    "Kind",
    "Message",
    "MessagePayload",
    "MigratedFunds",
    "Milestone",
    "Output",
    "Payload",
    "Receipt",
    "ReferenceUnlock",
    "SigLockedDustAllowance",
    "SigLockedSingle",
    "SignatureUnlock",
    "Transaction",
    "TransferOutput",
    "TreasuryInput",
    "TreasuryOutput",
    "TreasuryTransaction",
    "Unlock",
    "UtxoInput",
    "decode_message",
    "decode_output",
    "decode_payload",
    "encode_essence",
    "encode_input",
    "encode_message",
    "encode_milestone_essence",
    "encode_output",
    "encode_payload",
    "encode_unlock",
    "milestone_of",
    "parents_of",
    "payload_bytes",
    "payload_type",
]

MAX_MESSAGE_BYTES = 32_768

_MESSAGE_PAYLOADS: Kinds = {**TRANSFER_PAYLOADS, **MILESTONE_PAYLOADS}

KINDS: Mapping[str, Kinds] = {
    "payload": {**_MESSAGE_PAYLOADS, **RECEIPT_PAYLOADS, **TREASURY_PAYLOADS},
    "input": {**TRANSFER_INPUTS, **TREASURY_INPUTS},
    "output": {**TRANSFER_OUTPUTS, **TREASURY_OUTPUTS},
    "unlock": UNLOCKS,
}


def decode_message(data: bytes) -> Message:
    """Decodes a message. Raises CodecError, also for trailing bytes."""
    layout.check_size(data, "message", MAX_MESSAGE_BYTES)
    reader = Reader(data)
    network_id, count = reader.unpack(MESSAGE_HEAD, "network id and parents count")
    parents = layout.decode_parents(reader, count)
    payload = layout.decode_nested(reader, _MESSAGE_PAYLOADS)
    (nonce,) = reader.unpack(U64, "nonce")
    reader.finish()
    return Message(network_id, parents, payload, nonce)


def encode_message(message: Message) -> bytes:
    """Encodes a message; the BLAKE2b-256 of the bytes is its id. Raises CodecError if it is too long: parsers do not
    check.
    """
    parents, payload = message.parents, message.payload
    data = b"".join(
        (
            MESSAGE_HEAD.pack(message.network_id, len(parents)),
            *parents,
            layout.encode_nested(b"" if payload is None else encode_payload(payload)),
            U64.pack(message.nonce),
        )
    )
    layout.check_size(data, "message", MAX_MESSAGE_BYTES)
    return data


def payload_bytes(message_bytes: bytes) -> bytes:
    """The payload inside a valid encoded message, or empty bytes. Its hash is the transaction or milestone id."""
    return message_bytes[13 + 32 * message_bytes[8] : -8]


def payload_type(message_bytes: bytes) -> int | None:
    """The type of the payload inside a valid encoded message, or None."""
    data = payload_bytes(message_bytes)
    return data[0] if data else None


def milestone_of(message: Message) -> Milestone | None:
    """The milestone that a message carries, or None. Its payload has the same parents (TIP-8): the coordinator signs
    those of the payload only. To a node, a message with other parents is an ordinary one.
    """
    payload = message.payload
    return payload if isinstance(payload, Milestone) and payload.parents == message.parents else None


def parents_of(message_bytes: bytes) -> list[bytes]:
    """The ids of the parents of a valid encoded message."""
    return [message_bytes[start : start + 32] for start in range(9, 9 + 32 * message_bytes[8], 32)]


def decode_payload(data: bytes) -> Payload:
    """Decodes a payload of any kind, including receipts and treasury transactions. Raises CodecError, also for trailing
    bytes.
    """
    reader = Reader(data)
    payload: Payload = layout.decode_payload(reader, KINDS["payload"])
    reader.finish()
    return payload


def encode_payload(payload: Payload) -> bytes:
    """Encodes type and body: the bytes that transaction and milestone ids are hashes of."""
    return KINDS["payload"][payload.KIND].encode(payload)


def decode_output(data: bytes) -> Output:
    """Decodes an output. Raises CodecError, also for trailing bytes."""
    reader = Reader(data)
    output: Output = layout.decode_item(reader, KINDS["output"], "output")
    reader.finish()
    return output


def encode_output(output: Output) -> bytes:
    """Encodes an output: type, then body."""
    return KINDS["output"][output.KIND].encode(output)


def encode_input(value: Input) -> bytes:
    """Encodes an input: type, then body."""
    return KINDS["input"][value.KIND].encode(value)


def encode_unlock(block: Unlock) -> bytes:
    """Encodes an unlock block: type, then body."""
    return KINDS["unlock"][block.KIND].encode(block)
