"""Encodes and decodes Stardust milestones (TIP-29) with their options: receipt (TIP-34) and protocol parameters.

A receipt's treasury transaction is preceded by its length and type, as in Hornet. TIP-34's table and the Rust
implementations have neither.
"""

from typing import Any

from ledger.chrysalis.milestone import TREASURY_PAYLOADS, decode_migrated_funds, encode_migrated_funds
from ledger.layout import MAX_ITEMS, Kind, Kinds, decode_nested, decode_parents, encode_nested
from ledger.reader import CodecError, Reader
from ledger.stardust.conditions import ED25519, MAX_METADATA_BYTES, decode_set, encode_set
from ledger.stardust.layouts import MILESTONE_HEAD, MILESTONE_MIDDLE, PARAMETERS_HEAD, RECEIPT_HEAD, SIGNATURE, U8, U32
from ledger.stardust.values import Milestone, MilestoneSignature, ParametersOption, ReceiptOption

MIN_MIGRATED_DEPOSIT = 1_000_000


def _decode_milestone(reader: Reader) -> Milestone:
    _, index, timestamp, version, previous, count = reader.unpack(MILESTONE_HEAD, "milestone payload")
    parents = decode_parents(reader, count)
    inclusion, applied, length = reader.unpack(MILESTONE_MIDDLE, "Merkle roots and metadata length")
    if length > MAX_METADATA_BYTES:
        raise CodecError(reader.offset - 2, f"metadata of at most {MAX_METADATA_BYTES} bytes, found {length}")
    metadata = reader.take(length, "metadata")
    options = decode_set(reader, OPTIONS, "milestone option")
    signatures = _decode_signatures(reader)
    return Milestone(index, timestamp, version, previous, parents, inclusion, applied, metadata, options, signatures)


def _decode_signatures(reader: Reader) -> tuple[MilestoneSignature, ...]:
    (count,) = reader.unpack(U8, "signatures count")
    if count == 0:
        raise CodecError(reader.offset - 1, "1 or more signatures, found 0")
    signatures = []
    last = b""
    for _ in range(count):
        start = reader.offset
        kind, public_key, signature = reader.unpack(SIGNATURE, "signature")
        if kind != ED25519:
            raise CodecError(start, f"signature type {ED25519} (Ed25519), found {kind}")
        if public_key <= last:
            raise CodecError(start + 1, "signatures in ascending order of their public keys, each once")
        last = public_key
        signatures.append(MilestoneSignature(public_key, signature))
    return tuple(signatures)


def _encode_milestone(payload: Milestone) -> bytes:
    return b"".join(
        (
            U32.pack(Milestone.KIND),
            encode_milestone_essence(payload),
            U8.pack(len(payload.signatures)),
            *[SIGNATURE.pack(each.KIND, each.public_key, each.signature) for each in payload.signatures],
        )
    )


def encode_milestone_essence(milestone: Milestone) -> bytes:
    """Encodes the part of a milestone that its signatures sign, index to options. Its hash is also the milestone's
    id.
    """
    head = MILESTONE_HEAD.pack(
        Milestone.KIND,
        milestone.index,
        milestone.timestamp,
        milestone.protocol_version,
        milestone.previous_milestone_id,
        len(milestone.parents),
    )
    middle = MILESTONE_MIDDLE.pack(
        milestone.inclusion_merkle_root, milestone.applied_merkle_root, len(milestone.metadata)
    )
    options = encode_set(milestone.options, OPTIONS)
    return b"".join((head[U32.size :], *milestone.parents, middle, milestone.metadata, options))


def _decode_receipt(reader: Reader) -> ReceiptOption:
    start = reader.offset
    _, migrated_at, final, count = reader.unpack(RECEIPT_HEAD, "receipt")
    if final > 1:
        raise CodecError(start + 5, f"final as 0 or 1, found {final}")
    if not 1 <= count <= MAX_ITEMS:
        raise CodecError(start + 6, f"1 to {MAX_ITEMS} migrated funds, found {count}")
    funds: list[Any] = []
    for _ in range(count):
        start = reader.offset
        each = decode_migrated_funds(reader)
        if funds and each.tail_transaction_hash <= funds[-1].tail_transaction_hash:
            raise CodecError(start, "migrated funds in ascending order of their tail transaction hashes, each once")
        if each.deposit < MIN_MIGRATED_DEPOSIT:
            raise CodecError(start + 82, f"a deposit of at least {MIN_MIGRATED_DEPOSIT}, found {each.deposit}")
        funds.append(each)
    start = reader.offset
    transaction = decode_nested(reader, TREASURY_PAYLOADS)
    if transaction is None:
        raise CodecError(start, "the length of a treasury transaction, found 0")
    return ReceiptOption(migrated_at, final == 1, tuple(funds), transaction)


def _encode_receipt(option: ReceiptOption) -> bytes:
    return b"".join(
        (
            RECEIPT_HEAD.pack(ReceiptOption.KIND, option.migrated_at, option.final, len(option.funds)),
            *map(encode_migrated_funds, option.funds),
            encode_nested(TREASURY_PAYLOADS[option.transaction.KIND].encode(option.transaction)),
        )
    )


def _decode_parameters(reader: Reader) -> ParametersOption:
    start = reader.offset
    _, target, version, length = reader.unpack(PARAMETERS_HEAD, "protocol parameters option")
    if length > MAX_METADATA_BYTES:
        raise CodecError(start + 6, f"protocol parameters of at most {MAX_METADATA_BYTES} bytes, found {length}")
    return ParametersOption(target, version, reader.take(length, "protocol parameters"))


def _encode_parameters(option: ParametersOption) -> bytes:
    head = PARAMETERS_HEAD.pack(
        ParametersOption.KIND, option.target_milestone_index, option.protocol_version, len(option.params)
    )
    return head + option.params


OPTIONS: Kinds = {
    0: Kind("receipt", ReceiptOption, _decode_receipt, _encode_receipt),
    1: Kind("protocol parameters", ParametersOption, _decode_parameters, _encode_parameters),
}
MILESTONE_PAYLOADS: Kinds = {7: Kind("milestone", Milestone, _decode_milestone, _encode_milestone)}
