"""A row of the event tables in the words of the functions: its Summary, and its Details.

Rules of this file: all values are text, what a row has nothing of is null. `served` is the canonical row of `vaas`,
`written` that of what was written of the message, `told` its payload's families; each None where there is none.
"""

import base64
from collections.abc import Collection
from dataclasses import dataclass

from api.listing import Json
from api.wormhole_json import rfc3339
from db.families import ASSET, CHAIN, DETAILS, NFT, PAYLOAD_COLUMNS, PUBLICATION, QUORUM, TRANSFER
from db.store import Row
from db.utc_days import format_time
from ledger.wormhole.chains import find_chain
from ledger.wormhole.vaa import decode_vaa

LEFT_OUT = {
    TRANSFER: {"PayloadId", "TargetAdress"},
    ASSET: {"PayloadId"},
    NFT: {"PayloadId", "TargetAdress"},
    DETAILS: {"NotionalUSD", "TokenPriceUSD", "CoinGeckoCoinId", "TargetSymbol", "TargetName"},
    CHAIN: {"ResultingTokenAddress", "ResultingTokenSymbol", "ResultingTokenName"},
}
"""Columns that the functions never told."""

OTHERWISE = {
    "details_notional_usd_str": "details_notional_usd",
    "details_token_price_usd_str": "details_token_price_usd",
}
"""Where what was written in one column is not there, the other tells: we compute that alone."""


TOLD_BY = {
    PUBLICATION: ("InitiatingTxID", "Payload"),
    QUORUM: ("SignedVAABytes", "QuorumTime", "SignedVAA"),
    TRANSFER: ("TokenTransferPayload",),
    ASSET: ("AssetMetaPayload",),
    NFT: ("NFTTransferPayload",),
    DETAILS: ("TransferDetails",),
    CHAIN: ("ChainDetails",),
}
"""Family → what of Details it tells."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """All that is known of a message."""

    chain: int
    emitter: str
    sequence: int
    served: Row | None
    written: Row | None
    told: Row | None


def summary_json(row: EventRow) -> Json:
    """What lists tell of a row."""
    vaa = None if row.served is None else decode_vaa(row.served["signed_vaa"])
    payload = vaa.payload if vaa is not None else row.written["payload"] if row.written is not None else None
    seen_ms = None if row.served is None else row.served["observed_at"]
    return {
        "EmitterChain": find_chain(row.chain).name,
        "EmitterAddress": row.emitter,
        "Sequence": str(row.sequence),
        "InitiatingTxID": (row.written or {}).get("initiating_tx_id") or "",
        "Payload": None if payload is None else base64.b64encode(payload).decode(),
        "SignedVAABytes": None if row.served is None else base64.b64encode(row.served["signed_vaa"]).decode(),
        "QuorumTime": "" if seen_ms is None else format_time(seen_ms),
        "TransferDetails": family_json(DETAILS, row.told),
    }


def details_json(row: EventRow) -> Json:
    """All that a row tells."""
    vaa = None if row.served is None else decode_vaa(row.served["signed_vaa"])
    signed = None
    if vaa is not None:
        signed = {
            "Version": 1,
            "GuardianSetIndex": vaa.guardian_set_index,
            "Signatures": [{"Index": each.index, "Signature": each.signature.hex()} for each in vaa.signatures],
            "Timestamp": rfc3339(vaa.timestamp),
            "Nonce": vaa.nonce,
            "Sequence": vaa.sequence,
            "ConsistencyLevel": vaa.consistency_level,
            "EmitterChain": vaa.emitter_chain,
            "EmitterAddress": row.emitter,
            "Payload": base64.b64encode(vaa.payload).decode(),
        }
    return summary_json(row) | {
        "SignedVAA": signed,
        "TokenTransferPayload": family_json(TRANSFER, row.told),
        "AssetMetaPayload": family_json(ASSET, row.told),
        "NFTTransferPayload": family_json(NFT, row.told),
        "ChainDetails": family_json(CHAIN, row.told),
    }


def chosen_json(row: EventRow, families: Collection[str] | None) -> Json:
    """Of Details what those families tell; None: all."""
    told = details_json(row)
    left_out = {
        name for family, names in TOLD_BY.items() if families is not None and family not in families for name in names
    }
    return {name: value for name, value in told.items() if name not in left_out}


def family_json(family: str, told: Row | None) -> dict[str, str] | None:
    """The columns of a family, as text; None where the row has none of them."""
    columns = [each for each in PAYLOAD_COLUMNS if each.family == family and each.qualifier not in LEFT_OUT[family]]
    known = told or {}
    values = {
        each.qualifier: known.get(
            OTHERWISE.get(each.column, each.column) if known.get(each.column) is None else each.column
        )
        for each in columns
    }
    if all(value is None for value in values.values()):
        return None
    return {name: "" if value is None else str(value) for name, value in values.items()}
