"""Encodes and decodes Chrysalis milestones (TIP-8) with their receipt and treasury transaction (TIP-17).

TIP-8's table gives the receipt payload type 4; all implementations use 3.
"""

from ledger.chrysalis.layouts import (
    MIGRATED_FUNDS,
    MILESTONE_HEAD,
    MILESTONE_MIDDLE,
    RECEIPT_HEAD,
    TREASURY_INPUT,
    TREASURY_OUTPUT,
    U8,
    U32,
)
from ledger.chrysalis.transaction import ED25519
from ledger.chrysalis.values import (
    MigratedFunds,
    Milestone,
    Receipt,
    TreasuryInput,
    TreasuryOutput,
    TreasuryTransaction,
)
from ledger.layout import MAX_ITEMS, Kind, Kinds, decode_item, decode_nested, decode_parents, encode_nested
from ledger.reader import CodecError, Reader

MAX_KEYS = 255  # a milestone's public keys, counted by one byte


def _decode_milestone(reader: Reader) -> Milestone:
    _, index, timestamp, count = reader.unpack(MILESTONE_HEAD, "milestone payload")
    parents = decode_parents(reader, count)
    proof, score, score_index, keys = reader.unpack(MILESTONE_MIDDLE, "Merkle proof, next PoW score, public keys count")
    if keys == 0:
        raise CodecError(reader.offset - 1, f"1 to {MAX_KEYS} public keys, found 0")
    public_keys = tuple([reader.take(32, "public key") for _ in range(keys)])
    receipt = decode_nested(reader, RECEIPT_PAYLOADS)
    (count,) = reader.unpack(U8, "signatures count")
    if count != keys:
        raise CodecError(reader.offset - 1, f"{keys} signatures, one for each public key, found {count}")
    signatures = tuple([reader.take(64, "signature") for _ in range(count)])
    return Milestone(index, timestamp, parents, proof, score, score_index, public_keys, receipt, signatures)


def _encode_milestone(payload: Milestone) -> bytes:
    essence = encode_milestone_essence(payload)
    return b"".join((U32.pack(Milestone.KIND), essence, U8.pack(len(payload.signatures)), *payload.signatures))


def encode_milestone_essence(milestone: Milestone) -> bytes:
    """Encodes the part of a milestone that the coordinator signs: index to receipt."""
    head = MILESTONE_HEAD.pack(Milestone.KIND, milestone.index, milestone.timestamp, len(milestone.parents))
    middle = MILESTONE_MIDDLE.pack(
        milestone.inclusion_merkle_proof,
        milestone.next_pow_score,
        milestone.next_pow_score_milestone_index,
        len(milestone.public_keys),
    )
    receipt = encode_nested(b"" if milestone.receipt is None else _encode_receipt(milestone.receipt))
    return b"".join((head[U32.size :], *milestone.parents, middle, *milestone.public_keys, receipt))


def _decode_receipt(reader: Reader) -> Receipt:
    start = reader.offset
    _, migrated_at, final, count = reader.unpack(RECEIPT_HEAD, "receipt payload")
    if final > 1:
        raise CodecError(start + 8, f"final as 0 or 1, found {final}")
    if not 1 <= count <= MAX_ITEMS:
        raise CodecError(start + 9, f"1 to {MAX_ITEMS} migrated funds, found {count}")
    funds = tuple([decode_migrated_funds(reader) for _ in range(count)])
    start = reader.offset
    transaction = decode_nested(reader, TREASURY_PAYLOADS)
    if transaction is None:
        raise CodecError(start, "the length of a treasury transaction, found 0")
    return Receipt(migrated_at, final == 1, funds, transaction)


def _encode_receipt(payload: Receipt) -> bytes:
    return b"".join(
        (
            RECEIPT_HEAD.pack(Receipt.KIND, payload.migrated_at, payload.final, len(payload.funds)),
            *map(encode_migrated_funds, payload.funds),
            encode_nested(_encode_treasury_transaction(payload.transaction)),
        )
    )


def decode_migrated_funds(reader: Reader) -> MigratedFunds:
    """Decodes one migrated bundle. Stardust receipts have the same form."""
    start = reader.offset
    tail, address, deposit = reader.unpack(MIGRATED_FUNDS, "migrated funds")
    if address[0] != ED25519:
        raise CodecError(start + 49, f"address type {ED25519} (Ed25519), found {address[0]}")
    return MigratedFunds(tail, address, deposit)


def encode_migrated_funds(funds: MigratedFunds) -> bytes:
    """Encodes one migrated bundle: tail hash, address, deposit."""
    return MIGRATED_FUNDS.pack(funds.tail_transaction_hash, funds.address, funds.deposit)


def _decode_treasury_transaction(reader: Reader) -> TreasuryTransaction:
    reader.u32("treasury transaction payload")
    spent = decode_item(reader, TREASURY_INPUTS, "input")
    return TreasuryTransaction(spent, decode_item(reader, TREASURY_OUTPUTS, "output"))


def _encode_treasury_transaction(payload: TreasuryTransaction) -> bytes:
    spent, output = _encode_treasury_input(payload.input), _encode_treasury_output(payload.output)
    return b"".join((U32.pack(TreasuryTransaction.KIND), spent, output))


def _decode_treasury_input(reader: Reader) -> TreasuryInput:
    return TreasuryInput(reader.unpack(TREASURY_INPUT, "treasury input")[1])


def _encode_treasury_input(value: TreasuryInput) -> bytes:
    return TREASURY_INPUT.pack(TreasuryInput.KIND, value.milestone_id)


def _decode_treasury_output(reader: Reader) -> TreasuryOutput:
    return TreasuryOutput(reader.unpack(TREASURY_OUTPUT, "treasury output")[1])


def _encode_treasury_output(output: TreasuryOutput) -> bytes:
    return TREASURY_OUTPUT.pack(TreasuryOutput.KIND, output.amount)


MILESTONE_PAYLOADS: Kinds = {1: Kind("milestone", Milestone, _decode_milestone, _encode_milestone)}
RECEIPT_PAYLOADS: Kinds = {3: Kind("receipt", Receipt, _decode_receipt, _encode_receipt)}
TREASURY_PAYLOADS: Kinds = {
    4: Kind("treasury transaction", TreasuryTransaction, _decode_treasury_transaction, _encode_treasury_transaction)
}
TREASURY_INPUTS: Kinds = {1: Kind("treasury", TreasuryInput, _decode_treasury_input, _encode_treasury_input)}
TREASURY_OUTPUTS: Kinds = {2: Kind("treasury", TreasuryOutput, _decode_treasury_output, _encode_treasury_output)}
