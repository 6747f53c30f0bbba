"""Rows of the event tables as the functions write them: Summary and Details.

All values are text, missing values are null. `served` is the canonical row of `vaas`, `written` the row of the
published message, `payload` has the column families of its payload; each is None if there is none. By default a row has
the columns of the functions' last revision. A family requested by name has all columns.
"""

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from api.http.responses import Json
from api.wormhole.json import rfc3339
from db.queries.wormhole.values import OTHERWISE
from db.schema.event_columns import (
    ASSET,
    CHAIN,
    DETAILS,
    NFT,
    PAYLOAD_COLUMNS,
    PUBLICATION,
    PUBLICATION_COLUMNS,
    QUORUM,
    SIGNATURES,
    STATE,
    TRANSFER,
)
from db.store import Row
from db.utc_days import format_time
from ledger.wormhole.addresses import format_checksummed
from ledger.wormhole.chains import find_chain
from ledger.wormhole.ids import row_key
from ledger.wormhole.vaa import Signature, decode_signatures, decode_vaa

LEFT_OUT = {
    TRANSFER: {"PayloadId"},
    ASSET: {"PayloadId"},
    NFT: {"PayloadId"},
    DETAILS: {"NotionalUSD", "TokenPriceUSD", "CoinGeckoCoinId", "TargetSymbol", "TargetName"},
    CHAIN: {"ResultingTokenAddress", "ResultingTokenSymbol", "ResultingTokenName"},
}
"""Columns that the functions never returned. They are returned only if their family is requested by name."""

ELSEWHERE = {"TargetAdress", "Sequence", "EmitterChain", "EmitterAddress", "InitiatingTxID", "Payload"}
"""Columns that have their correct name elsewhere, or are in the row itself."""

KEY = ("EmitterChain", "EmitterAddress", "Sequence")

OF_PAYLOAD = {
    TRANSFER: "TokenTransferPayload",
    ASSET: "AssetMetaPayload",
    NFT: "NFTTransferPayload",
    DETAILS: "TransferDetails",
    CHAIN: "ChainDetails",
}
"""Column families in vaa_payloads, by their names in Details."""

COLUMNS_OF_FAMILY = {
    PUBLICATION: ("InitiatingTxID", "Payload", "MessagePublication"),
    SIGNATURES: ("GuardiansThatSigned", "Signatures"),
    STATE: ("VAAState",),
    QUORUM: ("SignedVAABytes", "QuorumTime", "SignedVAA"),
    **{family: (name,) for family, name in OF_PAYLOAD.items()},
}
"""Column family → columns that it returns if it is requested by name."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """All stored data of a message."""

    chain: int
    emitter: str
    sequence: int
    served: Row | None
    written: Row | None
    payload: Row | None
    signatures: Sequence[Row] = ()
    states: Sequence[Row] = ()


def summary_json(row: EventRow) -> Json:
    """Returns the summary of a row in lists."""
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
        "QuorumTime": time_text(seen_ms),
        "TransferDetails": family_json(DETAILS, row.payload),
    }


def details_json(row: EventRow) -> Json:
    """Returns all columns of a row."""
    vaa = None if row.served is None else decode_vaa(row.served["signed_vaa"])
    signed = None
    if vaa is not None:
        signed = {
            "Version": 1,
            "GuardianSetIndex": vaa.guardian_set_index,
            "Signatures": indexed_json(vaa.signatures),
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
        "TokenTransferPayload": family_json(TRANSFER, row.payload),
        "AssetMetaPayload": family_json(ASSET, row.payload),
        "NFTTransferPayload": family_json(NFT, row.payload),
        "ChainDetails": family_json(CHAIN, row.payload),
    }


def chosen_json(row: EventRow, families: Collection[str] | None) -> Json:
    """Returns the columns of these families, by default all details."""
    document = details_json(row)
    if families is None:
        return document
    document |= {name: family_json(family, row.payload, whole=True) for family, name in OF_PAYLOAD.items()}
    document |= {
        "MessagePublication": family_json(PUBLICATION, row.written, whole=True),
        "VAAState": [state_json(each) for each in row.states] or None,
        **signatures_json(row.signatures),
    }
    names = {*KEY, *(name for family in families for name in COLUMNS_OF_FAMILY[family])}
    return {name: value for name, value in document.items() if name in names}


def keyed_json(row: EventRow, families: Collection[str] | None = None) -> Json:
    """Returns the same with the row key first."""
    return {"RowKey": row_key(row.chain, bytes.fromhex(row.emitter), row.sequence)} | chosen_json(row, families)


def signatures_json(signatures: Sequence[Row]) -> Json:
    """Returns the signers and their signatures, as the lists of 2021-09 did. A published signature of a guardian
    takes precedence.
    """
    by_guardian = {each["guardian_address"]: each for each in sorted(signatures, key=lambda row: not row["digest"])}
    found = [
        {
            "Guardian": format_checksummed(bytes.fromhex(guardian)),
            "Signature": each["signature"].hex(),
            "Time": time_text(each["observed_at"]),
        }
        for guardian, each in sorted(by_guardian.items())
    ]
    return {"GuardiansThatSigned": [each["Guardian"] for each in found] or None, "Signatures": found or None}


def state_json(state: Row) -> Json:
    """Returns a cell of VAAState:Signatures."""
    index = state["guardian_set_index"]
    return {
        "GuardianSetIndex": "" if index < 0 else str(index),
        "Time": time_text(state["updated_at"] or None),
        "Signatures": indexed_json(decode_signatures(state["signatures"])),
    }


def indexed_json(signatures: Sequence[Signature]) -> list[Json]:
    """Returns signatures by the guardians' indices in their set."""
    return [{"Index": each.place, "Signature": each.signature.hex()} for each in signatures]


def family_json(family: str, payload: Row | None, *, whole: bool = False) -> dict[str, str] | None:
    """Returns the columns of a family as text: those of the functions, or the `whole` family. None if the row has
    none.
    """
    left_out = ELSEWHERE | (set() if whole else LEFT_OUT[family])
    columns = [
        each
        for each in (*PUBLICATION_COLUMNS, *PAYLOAD_COLUMNS)
        if each.family == family and each.qualifier not in left_out
    ]
    known = payload or {}
    values = {
        each.qualifier: known.get(
            OTHERWISE.get(each.column, each.column) if known.get(each.column) is None else each.column
        )
        for each in columns
    }
    if all(value is None for value in values.values()):
        return None
    times = {each.qualifier for each in columns if each.form == "time"}
    return {
        name: time_text(value) if name in times else "" if value is None else str(value)
        for name, value in values.items()
    }


def time_text(milliseconds: int | None) -> str:
    """Returns a time as Go writes it, empty if it is missing."""
    return "" if milliseconds is None else format_time(milliseconds)
