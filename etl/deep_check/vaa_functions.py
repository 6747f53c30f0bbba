"""Functions that the queries of a Wormhole network call: hashes, signatures and addresses, which SQL cannot compute."""

import struct
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from functools import partial
from typing import Any

import pyarrow as pa

from db.schema.event_values import value_key
from db.schema.wormhole_tables import symbol_key
from etl.deep_check.functions import Function
from ledger.crypto.secp256k1 import recover_address
from ledger.wormhole.addresses import format_address, format_token
from ledger.wormhole.chains import find_chain
from ledger.wormhole.governance import Governance
from ledger.wormhole.keys import address_key, transaction_key
from ledger.wormhole.payloads import (
    AssetMeta,
    NftTransfer,
    Raw,
    Recognised,
    TokenTransfer,
    TokenTransferWithPayload,
    decode_payload,
)
from ledger.wormhole.vaa import decode_vaa, digest, encode_body
from ledger.wormhole.verify import History, verify
from ledger.wormhole.wrapped import find_wrapped

LIMB_BYTES, NUMBER_BYTES, FLOAT_BYTES = 8, 32, 8

USD_STEP = Decimal("0.00000001")

SIGNED = pa.struct(
    {
        "digest": pa.binary(),
        "body": pa.binary(),
        "guardian_set_index": pa.int64(),
        "quorum": pa.int64(),
        "timestamp": pa.int64(),
        "nonce": pa.int64(),
        "consistency_level": pa.int64(),
        "signatures": pa.list_(pa.struct({"place": pa.int64(), "signature": pa.binary(), "signer": pa.binary()})),
        "verified": pa.bool_(),
        "fault": pa.string(),
        "reason": pa.string(),
        "expired": pa.bool_(),
        "valid_signatures": pa.int64(),
    }
)
"""What a VAA says outside of its payload, and its verdict. `quorum` is null if its guardian set is unknown."""

PAYLOAD = pa.struct(
    {
        "kind": pa.string(),
        "payload_id": pa.int64(),
        "amount": pa.string(),
        "token_address": pa.binary(),
        "token_chain": pa.int64(),
        "to_address": pa.binary(),
        "to_chain": pa.int64(),
        "fee": pa.string(),
        "from_address": pa.binary(),
        "payload": pa.binary(),
        "decimals": pa.int64(),
        "symbol": pa.string(),
        "name": pa.string(),
        "token_id": pa.string(),
        "uri": pa.string(),
    }
)
"""The fields of a transfer, of an AssetMeta and of an NFT transfer; of other payloads only the kind."""

_KINDS: Mapping[type, str] = {
    TokenTransfer: "token_transfer",
    TokenTransferWithPayload: "token_transfer_with_payload",
    AssetMeta: "asset_meta",
    NftTransfer: "nft_transfer",
    Governance: "governance",
    Raw: "raw",
}


def vaa_functions(network: str, history: History) -> Mapping[str, Function]:
    """The functions by name. `network` (mainnet, testnet, devnet) selects the contracts."""
    number, text, data = pa.int64(), pa.string(), pa.binary()
    return {
        "read_vaa": Function((data,), SIGNED, partial(_read_vaa, history)),
        "payload_of": Function((data,), PAYLOAD, partial(_payload_of, network)),
        "signer_of": Function((data, data), data, recover_address),
        "native_address": Function((number, data), text, format_address),
        "native_token": Function((number, data), text, format_token),
        "wrapped_token": Function((number, number, data), data, partial(find_wrapped, network)),
        "is_evm": Function((number,), pa.bool_(), lambda chain: find_chain(chain).form == "evm"),
        "address_key": Function((number, text), text, address_key),
        "transaction_key": Function((text,), text, transaction_key),
        "value_key": Function((text, text, text), text, value_key),
        "symbol_key": Function((text,), text, symbol_key),
        "text_of": Function((data,), text, lambda value: _storable(value.decode("utf-8", "replace"))),
        "number_of_limbs": Function((data,), text, _number_of_limbs),
        "number_of_float": Function((data,), text, _number_of_float),
        "notional_of": Function((text, text), text, _notional_of),
    }


def _read_vaa(history: History, data: bytes) -> dict[str, Any]:
    vaa = decode_vaa(data)
    signed = digest(vaa)
    verdict = verify(vaa, history, signed)
    pairs = zip(vaa.signatures, verdict.signers, strict=True)
    return {
        "digest": signed,
        "body": encode_body(vaa),
        "guardian_set_index": vaa.guardian_set_index,
        "quorum": verdict.quorum,
        "timestamp": vaa.timestamp,
        "nonce": vaa.nonce,
        "consistency_level": vaa.consistency_level,
        "signatures": [{"place": each.place, "signature": each.signature, "signer": signer} for each, signer in pairs],
        "verified": verdict.verified,
        "fault": verdict.fault or "",
        "reason": verdict.reason,
        "expired": verdict.expired,
        "valid_signatures": verdict.valid_signatures,
    }


def _payload_of(network: str, data: bytes) -> dict[str, Any]:
    payload = decode_payload(network, decode_vaa(data))
    if isinstance(payload, Recognised):
        return {"kind": payload.kind}
    found: dict[str, Any] = {"kind": _KINDS[type(payload)]}
    if not isinstance(payload, TokenTransfer | TokenTransferWithPayload | AssetMeta | NftTransfer):
        return found
    for field in PAYLOAD:
        if hasattr(payload, field.name):
            value = getattr(payload, field.name)
            found[field.name] = _storable(str(value)) if field.type == pa.string() else value
    return found | {"payload_id": payload.ID}


def _storable(text: str) -> str:
    return text.replace("\0", "")


def _number_of_limbs(data: bytes) -> str | None:
    """A number of 256 bits whose limbs of 64 bits were written in reverse order. None for longer bytes."""
    if len(data) > NUMBER_BYTES:
        return None
    padded = data.rjust(NUMBER_BYTES, b"\0")
    limbs = (padded[at : at + LIMB_BYTES] for at in range(NUMBER_BYTES - LIMB_BYTES, -1, -LIMB_BYTES))
    return str(int.from_bytes(b"".join(limbs)))


def _number_of_float(data: bytes) -> str | None:
    """The shortest decimal number of a big-endian float. None for bytes of another length."""
    if len(data) != FLOAT_BYTES:
        return None
    (number,) = struct.unpack(">d", data)
    return _plain(Decimal(repr(number)))


def _notional_of(amount: str, price: str) -> str:
    with localcontext(prec=100):
        return _plain((Decimal(amount) * Decimal(price)).quantize(USD_STEP, ROUND_HALF_EVEN))


def _plain(number: Decimal) -> str:
    """Digits without an exponent and without zeros at the end of the fraction."""
    digits = format(number, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
