"""Encodes and decodes Stardust blocks (protocol 2, TIP-24), and exports the protocol's public names.

Invariants:
1. `KINDS` is the only table of tags: family → tag → Kind. Decoders look up the tag, encoders the value's KIND.
2. Decoding rejects what a node rejects by the bytes alone (the TIPs' syntactic validation). It raises only CodecError,
   which names the field. So `encode(decode(data)) == data`. Checks that need the protocol parameters are in
   `protocol_parameters`, checks that need the ledger in `conflicts`.
3. Encoding checks only the size. The value comes from a decoder, which checked the rest.
"""

from collections.abc import Mapping

from ledger import ids, layout
from ledger.chrysalis.milestone import TREASURY_INPUTS, TREASURY_OUTPUTS, TREASURY_PAYLOADS
from ledger.layout import Kind, Kinds
from ledger.reader import CodecError, Reader
from ledger.stardust.conditions import CONDITIONS, FEATURES
from ledger.stardust.layouts import BLOCK_HEAD, U64
from ledger.stardust.milestone import MILESTONE_PAYLOADS, OPTIONS, encode_milestone_essence
from ledger.stardust.outputs import TOKEN_SCHEMES, TRANSFER_OUTPUTS, chain_id, foundry_id, owner_at
from ledger.stardust.transaction import TRANSFER_INPUTS, TRANSFER_PAYLOADS, UNLOCKS, encode_essence
from ledger.stardust.values import Block, BlockPayload, Milestone, MilestoneOption, Output, Payload

__all__ = [
    "KINDS",
    "MAX_BLOCK_BYTES",
    "PROTOCOL_VERSION",
    "Block",
    "BlockPayload",
    "CodecError",
    "Kind",
    "Output",
    "Payload",
    "chain_id",
    "decode_block",
    "decode_option",
    "decode_output",
    "decode_payload",
    "encode_block",
    "encode_essence",
    "encode_milestone_essence",
    "encode_option",
    "encode_output",
    "encode_payload",
    "foundry_id",
    "milestone_block_bytes",
    "milestone_id",
    "owner_at",
    "parents_of",
    "payload_bytes",
    "payload_type",
]

PROTOCOL_VERSION = 2
MAX_BLOCK_BYTES = 32_768

_BLOCK_PAYLOADS: Kinds = {**TRANSFER_PAYLOADS, **MILESTONE_PAYLOADS}

KINDS: Mapping[str, Kinds] = {
    "payload": {**_BLOCK_PAYLOADS, **TREASURY_PAYLOADS},
    "input": {**TRANSFER_INPUTS, **TREASURY_INPUTS},
    "output": {**TRANSFER_OUTPUTS, **TREASURY_OUTPUTS},
    "unlock": UNLOCKS,
    "unlock condition": CONDITIONS,
    "feature": FEATURES,
    "token scheme": TOKEN_SCHEMES,
    "milestone option": OPTIONS,
}


def decode_block(data: bytes) -> Block:
    """Decodes a block. Raises CodecError, also for trailing bytes."""
    layout.check_size(data, "block", MAX_BLOCK_BYTES)
    reader = Reader(data)
    version, count = reader.unpack(BLOCK_HEAD, "protocol version and parents count")
    if version != PROTOCOL_VERSION:
        raise CodecError(0, f"protocol version {PROTOCOL_VERSION} (Stardust), found {version}")
    parents = layout.decode_parents(reader, count)
    payload: BlockPayload | None = layout.decode_nested(reader, _BLOCK_PAYLOADS)
    start = reader.offset
    (nonce,) = reader.unpack(U64, "nonce")
    reader.finish()
    if isinstance(payload, Milestone):
        if nonce != 0:
            raise CodecError(start, f"nonce 0, as the payload is a milestone, found {nonce}")
        if payload.parents != parents:
            raise CodecError(2, "the parents that the milestone in the payload has")
    return Block(version, parents, payload, nonce)


def encode_block(block: Block) -> bytes:
    """Encodes a block; the BLAKE2b-256 of the bytes is its id. Raises CodecError if it is too long."""
    parents, payload = block.parents, block.payload
    data = b"".join(
        (
            BLOCK_HEAD.pack(block.protocol_version, len(parents)),
            *parents,
            layout.encode_nested(b"" if payload is None else encode_payload(payload)),
            U64.pack(block.nonce),
        )
    )
    layout.check_size(data, "block", MAX_BLOCK_BYTES)
    return data


def payload_bytes(block_bytes: bytes) -> bytes:
    """The payload inside a valid encoded block, or empty bytes. The hash of a transaction payload is the transaction
    id.
    """
    return block_bytes[6 + 32 * block_bytes[1] : -8]


def payload_type(block_bytes: bytes) -> int | None:
    """The type of the payload inside a valid encoded block, or None."""
    data = payload_bytes(block_bytes)
    return data[0] if data else None


def parents_of(block_bytes: bytes) -> list[bytes]:
    """The ids of the parents of a valid encoded block."""
    return [block_bytes[start : start + 32] for start in range(2, 2 + 32 * block_bytes[1], 32)]


def milestone_block_bytes(milestone: Milestone) -> bytes:
    """The block that carries a milestone. The payload determines it: the parents are the same and the nonce is 0
    (TIP-29).
    """
    return encode_block(Block(PROTOCOL_VERSION, milestone.parents, milestone, 0))


def decode_payload(data: bytes) -> Payload:
    """Decodes a payload of any kind. Raises CodecError, also for trailing bytes."""
    reader = Reader(data)
    payload: Payload = layout.decode_payload(reader, KINDS["payload"])
    reader.finish()
    return payload


def encode_payload(payload: Payload) -> bytes:
    """Encodes a payload: type, then body."""
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


def decode_option(data: bytes) -> MilestoneOption:
    """Decodes a milestone option: a receipt or protocol parameters. Raises CodecError, also for trailing bytes."""
    reader = Reader(data)
    option: MilestoneOption = layout.decode_item(reader, OPTIONS, "milestone option")
    reader.finish()
    return option


def encode_option(option: MilestoneOption) -> bytes:
    """Encodes a milestone option: type, then body."""
    return KINDS["milestone option"][option.KIND].encode(option)


def milestone_id(milestone: Milestone) -> bytes:
    """The 32-byte id of a milestone: the hash that its signatures sign."""
    return ids.signing_hash(encode_milestone_essence(milestone))
