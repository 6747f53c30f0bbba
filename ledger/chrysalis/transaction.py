"""Encodes and decodes Chrysalis transactions (TIP-7, dust allowance TIP-15) and indexation payloads (TIP-6)."""

from ledger.chrysalis.layouts import (
    INDEXATION_HEAD,
    REFERENCE_UNLOCK,
    SIGNATURE_UNLOCK,
    TRANSACTION_HEAD,
    TRANSFER_OUTPUT,
    U16,
    U32,
    UTXO_INPUT,
)
from ledger.chrysalis.values import (
    Essence,
    Indexation,
    ReferenceUnlock,
    SigLockedDustAllowance,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TransferOutput,
    UtxoInput,
)
from ledger.layout import MAX_ITEMS, Kind, Kinds, decode_items, decode_nested, encode_nested
from ledger.reader import CodecError, Reader

MAX_INDEX_BYTES = 64
ED25519 = 0  # the only address and the only signature type


def _decode_indexation(reader: Reader) -> Indexation:
    start = reader.offset
    _, length = reader.unpack(INDEXATION_HEAD, "indexation payload")
    if not 1 <= length <= MAX_INDEX_BYTES:
        raise CodecError(start + 4, f"an index of 1 to {MAX_INDEX_BYTES} bytes, found {length}")
    index = reader.take(length, "index")
    return Indexation(index, reader.take(reader.u32("data length"), "indexation data"))


def encode_indexation(payload: Indexation) -> bytes:
    """Encodes type, index with its length, data with its length."""
    index, data = payload.index, payload.data
    return b"".join((INDEXATION_HEAD.pack(Indexation.KIND, len(index)), index, U32.pack(len(data)), data))


def _decode_transaction(reader: Reader) -> Transaction:
    start = reader.offset
    _, essence_type, count = reader.unpack(TRANSACTION_HEAD, "transaction payload")
    if essence_type != 0:
        raise CodecError(start + 4, f"essence type 0, found {essence_type}")
    inputs = decode_items(reader, TRANSFER_INPUTS, "input", count)
    outputs = decode_items(reader, TRANSFER_OUTPUTS, "output", reader.unpack(U16, "outputs count")[0])
    payload = decode_nested(reader, ESSENCE_PAYLOADS)
    start = reader.offset
    (unlocks,) = reader.unpack(U16, "unlock blocks count")
    if unlocks != count:
        raise CodecError(start, f"{count} unlock blocks, one for each input, found {unlocks}")
    return Transaction(Essence(inputs, outputs, payload), decode_items(reader, UNLOCKS, "unlock block", unlocks))


def _encode_transaction(payload: Transaction) -> bytes:
    blocks = payload.unlock_blocks
    return b"".join(
        (
            U32.pack(Transaction.KIND),
            encode_essence(payload.essence),
            U16.pack(len(blocks)),
            *[UNLOCKS[block.KIND].encode(block) for block in blocks],
        )
    )


def encode_essence(essence: Essence) -> bytes:
    """Encodes the part of a transaction that its signatures sign."""
    return b"".join(
        (
            b"\0",
            U16.pack(len(essence.inputs)),
            *map(_encode_utxo_input, essence.inputs),
            U16.pack(len(essence.outputs)),
            *map(_encode_transfer_output, essence.outputs),
            encode_nested(b"" if essence.payload is None else encode_indexation(essence.payload)),
        )
    )


def _decode_utxo_input(reader: Reader) -> UtxoInput:
    start = reader.offset
    _, transaction_id, index = reader.unpack(UTXO_INPUT, "UTXO input")
    if index >= MAX_ITEMS:
        raise CodecError(start + 33, f"an output index below {MAX_ITEMS}, found {index}")
    return UtxoInput(transaction_id, index)


def _encode_utxo_input(value: UtxoInput) -> bytes:
    return UTXO_INPUT.pack(UtxoInput.KIND, value.transaction_id, value.index)


def _decode_single(reader: Reader) -> SigLockedSingle:
    return SigLockedSingle(*_decode_transfer_output(reader))


def _decode_dust_allowance(reader: Reader) -> SigLockedDustAllowance:
    return SigLockedDustAllowance(*_decode_transfer_output(reader))


def _decode_transfer_output(reader: Reader) -> tuple[bytes, int]:
    start = reader.offset
    _, address, amount = reader.unpack(TRANSFER_OUTPUT, "output with address and amount")
    if address[0] != ED25519:
        raise CodecError(start + 1, f"address type {ED25519} (Ed25519), found {address[0]}")
    return address, amount


def _encode_transfer_output(output: TransferOutput) -> bytes:
    return TRANSFER_OUTPUT.pack(output.KIND, output.address, output.amount)


def _decode_signature_unlock(reader: Reader) -> SignatureUnlock:
    start = reader.offset
    _, signature_type, public_key, signature = reader.unpack(SIGNATURE_UNLOCK, "signature unlock block")
    if signature_type != ED25519:
        raise CodecError(start + 1, f"signature type {ED25519} (Ed25519), found {signature_type}")
    return SignatureUnlock(public_key, signature)


def _encode_signature_unlock(block: SignatureUnlock) -> bytes:
    return SIGNATURE_UNLOCK.pack(SignatureUnlock.KIND, ED25519, block.public_key, block.signature)


def _decode_reference_unlock(reader: Reader) -> ReferenceUnlock:
    start = reader.offset
    _, index = reader.unpack(REFERENCE_UNLOCK, "reference unlock block")
    if index >= MAX_ITEMS:
        raise CodecError(start + 1, f"the index of an unlock block, below {MAX_ITEMS}, found {index}")
    return ReferenceUnlock(index)


def _encode_reference_unlock(block: ReferenceUnlock) -> bytes:
    return REFERENCE_UNLOCK.pack(ReferenceUnlock.KIND, block.index)


TRANSFER_PAYLOADS: Kinds = {
    0: Kind("transaction", Transaction, _decode_transaction, _encode_transaction),
    2: Kind("indexation", Indexation, _decode_indexation, encode_indexation),
}
ESSENCE_PAYLOADS: Kinds = {2: TRANSFER_PAYLOADS[2]}
TRANSFER_INPUTS: Kinds = {0: Kind("UTXO", UtxoInput, _decode_utxo_input, _encode_utxo_input)}
TRANSFER_OUTPUTS: Kinds = {
    0: Kind("signature locked single", SigLockedSingle, _decode_single, _encode_transfer_output),
    1: Kind("dust allowance", SigLockedDustAllowance, _decode_dust_allowance, _encode_transfer_output),
}
UNLOCKS: Kinds = {
    0: Kind("signature", SignatureUnlock, _decode_signature_unlock, _encode_signature_unlock),
    1: Kind("reference", ReferenceUnlock, _decode_reference_unlock, _encode_reference_unlock),
}
