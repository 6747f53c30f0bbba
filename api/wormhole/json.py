"""Messages as wormholescan writes them: a VAA, its payload, and the properties that all payloads share.

Field names are wormholescan's; fields of extensions follow them. Numbers of 256 bits are text, bytes are hex with 0x.
An address in a chain's own format is added to its 32 bytes and does not replace them. Only payloads of known emitters
are decoded (ledger/wormhole/payloads.py).
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from api.http.responses import Json
from api.wormhole.params import APPS
from db.intervals import Intervals
from db.store import Row
from ledger.wormhole.addresses import format_address, format_emitter, format_token
from ledger.wormhole.governance import Governance
from ledger.wormhole.keys import transaction_key
from ledger.wormhole.payloads import (
    AssetMeta,
    NftTransfer,
    Payload,
    Raw,
    Recognised,
    TokenTransfer,
    TokenTransferWithPayload,
    decode_payload,
)
from ledger.wormhole.vaa import Vaa, decode_vaa

BIG = frozenset(
    {
        "amount",
        "fee",
        "token_id",
        "evm_chain_id",
        "config_index",
        "requested_receiver_value",
        "extra_receiver_value",
        "new_receiver_value",
    }
)
"""Fields with numbers of more than 64 bits: text."""

_UNDERSCORE = re.compile("_([a-z0-9])")

APP_OF = {kind: name for name, kinds in APPS.items() for kind in kinds}


def spans(intervals: Intervals) -> list[Json]:
    """Returns intervals of sequences with both ends included, as text."""
    return [{"first": str(first), "last": str(last)} for first, last in intervals]


def vaa_document(network: str, row: Row, written: Row | None, *, with_payload: bool = False) -> Json:
    """Returns a row of `vaas`, and the published message, as a VaaDoc. `network` selects the contracts."""
    emitter = bytes.fromhex(row["emitter_address"])
    vaa = decode_vaa(row["signed_vaa"])
    seen = None if row["observed_at"] is None else rfc3339(row["observed_at"] / 1000)
    document: Json = {
        "sequence": vaa.sequence,
        "id": message_id(row),
        "version": row["version"],
        "emitterChain": row["emitter_chain"],
        "emitterAddr": row["emitter_address"],
        "emitterNativeAddr": format_emitter(network, row["emitter_chain"], emitter),
        "guardianSetIndex": row["guardian_set_index"],
        "vaa": base64.b64encode(row["signed_vaa"]).decode(),
        "timestamp": rfc3339(row["timestamp"]),
        "updatedAt": seen,
        "indexedAt": seen,
    }
    transaction = None if written is None else written["initiating_tx_id"]
    if transaction is not None:
        document["txHash"] = transaction_key(transaction)
    if row["payload_kind"] in APP_OF:
        document["appId"] = APP_OF[row["payload_kind"]]
    payload = payload_json(decode_payload(network, vaa)) if with_payload else None
    if payload is not None:
        document["payload"] = payload
    return document | {"digest": row["digest"], "isDuplicated": row["digests"] > 1}


def message_id(row: Row) -> str:
    """Returns `chain/address/sequence` of a row with these columns."""
    return f"{row['emitter_chain']}/{row['emitter_address']}/{int(row['sequence_key'])}"


def rfc3339(seconds: float) -> str:
    """Returns a UTC time, with milliseconds if it has any."""
    moment = datetime.fromtimestamp(seconds, UTC)
    text = moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")


def payload_json(payload: Payload) -> Json | None:
    """Returns a decoded payload as JSON, None if it is unknown."""
    match payload:
        case Raw():
            return None
        case Recognised():
            return {"type": payload.kind} | _fields(payload.fields)
        case Governance():
            head = {"type": "governance", "module": payload.module, "action": payload.action}
            named = {"actionName": payload.action_name, "targetChain": payload.target_chain}
            return head | named | _fields(payload.fields)
    values = {each.name: getattr(payload, each.name) for each in fields(payload)}
    return {"payloadType": payload.ID} | _fields(values)


def _fields(values: Mapping[str, Any]) -> Json:
    return {_camel(name): str(value) if name in BIG else _plain(value) for name, value in values.items()}


def _camel(name: str) -> str:
    return _UNDERSCORE.sub(lambda match: match[1].upper(), name)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def properties_json(vaa: Vaa, payload: Payload) -> Json:
    """Returns the `standardizedProperties` of a message: its destination and what it moves, with addresses in the
    chains' own format. Unknown values are empty, unknown chains 0.
    """
    found: Json = {
        "appIds": [],
        "fromChain": vaa.emitter_chain,
        "fromAddress": "",
        "toChain": 0,
        "toAddress": "",
        "tokenChain": 0,
        "tokenAddress": "",
        "amount": "",
        "feeAddress": "",
        "feeChain": 0,
        "fee": "",
    }
    match payload:
        case TokenTransfer() | TokenTransferWithPayload() | NftTransfer():
            is_nft = isinstance(payload, NftTransfer)
            found |= {
                "appIds": ["PORTAL_NFT_BRIDGE" if is_nft else "PORTAL_TOKEN_BRIDGE"],
                "toChain": payload.to_chain,
                "toAddress": format_address(payload.to_chain, payload.to_address),
                "tokenChain": payload.token_chain,
                "tokenAddress": format_token(payload.token_chain, payload.token_address),
                "amount": "1" if isinstance(payload, NftTransfer) else str(payload.amount),
            }
        case AssetMeta():
            found |= {
                "appIds": ["PORTAL_TOKEN_BRIDGE"],
                "tokenChain": payload.token_chain,
                "tokenAddress": format_token(payload.token_chain, payload.token_address),
            }
        case Recognised() if payload.kind in APP_OF:
            found["appIds"] = [APP_OF[payload.kind]]
    if isinstance(payload, TokenTransfer):
        found |= {"feeChain": payload.to_chain, "fee": str(payload.fee)}
    if isinstance(payload, TokenTransferWithPayload):
        found["fromAddress"] = format_address(vaa.emitter_chain, payload.from_address)
    return found
