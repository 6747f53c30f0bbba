"""Encodes and decodes Stardust transactions (TIP-20) and tagged data payloads (TIP-23)."""

from ledger.chrysalis.values import ReferenceUnlock, SignatureUnlock, UtxoInput
from ledger.layout import Kind, Kinds, decode_item, decode_items, decode_nested, encode_nested
from ledger.reader import CodecError, Reader
from ledger.stardust.conditions import ED25519
from ledger.stardust.layouts import (
    ESSENCE_HEAD,
    ESSENCE_MIDDLE,
    REFERENCE_UNLOCK,
    SIGNATURE_UNLOCK,
    TAGGED_DATA_HEAD,
    TRANSACTION_HEAD,
    U16,
    U32,
    UTXO_INPUT,
)
from ledger.stardust.outputs import MAX_NATIVE_TOKENS, TRANSFER_OUTPUTS, ZERO_ID, encode_output, foundry_id
from ledger.stardust.values import (
    AliasOutput,
    AliasUnlock,
    Essence,
    FoundryOutput,
    NftOutput,
    NftUnlock,
    StorageDepositReturn,
    TaggedData,
    Transaction,
    TransferOutput,
    Unlock,
)

MAX_ITEMS = 128  # inputs, outputs and unlocks; indices are below it
MAX_TAG_BYTES = 64
ESSENCE = 1  # the only type of essence


def _decode_tagged_data(reader: Reader) -> TaggedData:
    start = reader.offset
    _, length = reader.unpack(TAGGED_DATA_HEAD, "tagged data payload")
    if length > MAX_TAG_BYTES:
        raise CodecError(start + 4, f"a tag of at most {MAX_TAG_BYTES} bytes, found {length}")
    tag = reader.take(length, "tag")
    return TaggedData(tag, reader.take(reader.u32("data length"), "tagged data"))


def encode_tagged_data(payload: TaggedData) -> bytes:
    """Encodes type, tag with its length, data with its length."""
    tag, data = payload.tag, payload.data
    return b"".join((TAGGED_DATA_HEAD.pack(TaggedData.KIND, len(tag)), tag, U32.pack(len(data)), data))


def _decode_transaction(reader: Reader) -> Transaction:
    start = reader.offset
    _, essence_type, network_id, count = reader.unpack(TRANSACTION_HEAD, "transaction payload")
    if essence_type != ESSENCE:
        raise CodecError(start + 4, f"essence type {ESSENCE}, found {essence_type}")
    inputs = _decode_inputs(reader, count)
    commitment, outputs_count = reader.unpack(ESSENCE_MIDDLE, "inputs commitment and outputs count")
    start = reader.offset
    outputs = decode_items(reader, TRANSFER_OUTPUTS, "output", outputs_count, MAX_ITEMS)
    _check_outputs(start, outputs)
    payload = decode_nested(reader, ESSENCE_PAYLOADS)
    start = reader.offset
    (unlocks,) = reader.unpack(U16, "unlocks count")
    if unlocks != count:
        raise CodecError(start, f"{count} unlocks, one for each input, found {unlocks}")
    return Transaction(Essence(network_id, inputs, commitment, outputs, payload), _decode_unlocks(reader, count))


def _decode_inputs(reader: Reader, count: int) -> tuple[UtxoInput, ...]:
    inputs = decode_items(reader, TRANSFER_INPUTS, "input", count, MAX_ITEMS)
    if len(set(inputs)) != count:
        raise CodecError(reader.offset - count * UTXO_INPUT.size, "inputs that differ, found one twice")
    return inputs


def _check_outputs(start: int, outputs: tuple[TransferOutput, ...]) -> None:
    """Rejects combinations of outputs that one transaction may not have."""
    chains = []
    tokens = set()
    for output in outputs:
        tokens.update([each.token_id for each in output.native_tokens])
        for each in output.unlock_conditions:
            if isinstance(each, StorageDepositReturn) and each.amount > output.amount:
                raise CodecError(start, f"outputs of at least their storage deposit return of {each.amount}")
        match output:
            case AliasOutput(alias_id=chain) | NftOutput(nft_id=chain) if chain != ZERO_ID:
                chains.append((output.KIND, chain))
            case FoundryOutput():
                chains.append((output.KIND, foundry_id(output)))
    if len(tokens) > MAX_NATIVE_TOKENS:
        raise CodecError(start, f"at most {MAX_NATIVE_TOKENS} native tokens in all outputs, found {len(tokens)}")
    if len(set(chains)) != len(chains):
        raise CodecError(start, "one output for each alias, foundry and NFT, found two")


def _decode_unlocks(reader: Reader, count: int) -> tuple[Unlock, ...]:
    """Decodes unlocks. Each signature occurs once. Other unlocks refer to an earlier one, a reference to a
    signature.
    """
    unlocks: list[Unlock] = []
    for _ in range(count):
        start = reader.offset
        unlock = decode_item(reader, UNLOCKS, "unlock")
        if isinstance(unlock, SignatureUnlock):
            if unlock in unlocks:
                raise CodecError(start, "an unlock with another signature than those before it")
        elif unlock.index >= len(unlocks):
            raise CodecError(start + 1, f"the index of an earlier unlock, below {len(unlocks)}, found {unlock.index}")
        elif isinstance(unlock, ReferenceUnlock) and not isinstance(unlocks[unlock.index], SignatureUnlock):
            raise CodecError(start + 1, f"the index of a signature unlock, found {unlock.index}")
        unlocks.append(unlock)
    return tuple(unlocks)


def _encode_transaction(payload: Transaction) -> bytes:
    unlocks = payload.unlocks
    return b"".join(
        (
            U32.pack(Transaction.KIND),
            encode_essence(payload.essence),
            U16.pack(len(unlocks)),
            *[UNLOCKS[each.KIND].encode(each) for each in unlocks],
        )
    )


def encode_essence(essence: Essence) -> bytes:
    """Encodes the part of a transaction that its signatures sign."""
    inputs, outputs = essence.inputs, essence.outputs
    return b"".join(
        (
            ESSENCE_HEAD.pack(ESSENCE, essence.network_id, len(inputs)),
            *map(_encode_utxo_input, inputs),
            ESSENCE_MIDDLE.pack(essence.inputs_commitment, len(outputs)),
            *map(encode_output, outputs),
            encode_nested(b"" if essence.payload is None else encode_tagged_data(essence.payload)),
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


def _decode_signature_unlock(reader: Reader) -> SignatureUnlock:
    start = reader.offset
    _, signature_type, public_key, signature = reader.unpack(SIGNATURE_UNLOCK, "signature unlock")
    if signature_type != ED25519:
        raise CodecError(start + 1, f"signature type {ED25519} (Ed25519), found {signature_type}")
    return SignatureUnlock(public_key, signature)


def _encode_signature_unlock(unlock: SignatureUnlock) -> bytes:
    return SIGNATURE_UNLOCK.pack(SignatureUnlock.KIND, ED25519, unlock.public_key, unlock.signature)


def _reference_kind(name: str, value: type) -> Kind:
    """Creates the kind of an unlock that consists of the index of another unlock."""

    def decode(reader: Reader) -> ReferenceUnlock | AliasUnlock | NftUnlock:
        start = reader.offset
        _, index = reader.unpack(REFERENCE_UNLOCK, "index of an unlock")
        if index >= MAX_ITEMS:
            raise CodecError(start + 1, f"the index of an unlock, below {MAX_ITEMS}, found {index}")
        unlock: ReferenceUnlock | AliasUnlock | NftUnlock = value(index)
        return unlock

    return Kind(name, value, decode, _encode_reference)


def _encode_reference(unlock: ReferenceUnlock | AliasUnlock | NftUnlock) -> bytes:
    return REFERENCE_UNLOCK.pack(unlock.KIND, unlock.index)


TRANSFER_PAYLOADS: Kinds = {
    5: Kind("tagged data", TaggedData, _decode_tagged_data, encode_tagged_data),
    6: Kind("transaction", Transaction, _decode_transaction, _encode_transaction),
}
ESSENCE_PAYLOADS: Kinds = {5: TRANSFER_PAYLOADS[5]}
TRANSFER_INPUTS: Kinds = {0: Kind("UTXO", UtxoInput, _decode_utxo_input, _encode_utxo_input)}
UNLOCKS: Kinds = {
    0: Kind("signature", SignatureUnlock, _decode_signature_unlock, _encode_signature_unlock),
    1: _reference_kind("reference", ReferenceUnlock),
    2: _reference_kind("alias", AliasUnlock),
    3: _reference_kind("NFT", NftUnlock),
}
