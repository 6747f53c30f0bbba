"""Functions of the event database under their old names: rows of its tables, and counts by day; GET and POST.

Rules of this file: names and shapes are the functions', their bugs are not: a chain is that chain alone, an id is
looked up, never searched for, and what is wrong is a 400. A row is answered whether or not a quorum signed it, as far
as it is known. Days are whole UTC days.
"""

import base64
import time
from collections import defaultdict
from datetime import UTC, datetime

from api.errors import BadParameter, grpc_error_body
from api.listing import Json
from api.network import NetworkMount
from api.operations import Family, Operation
from api.params_events import (
    EMITTER_ADDRESS,
    EMITTER_CHAIN,
    FOR_ADDRESS,
    FOR_CHAIN,
    GROUP_BY,
    ID,
    LAST_24_HOURS,
    NUM_DAYS,
    SEQUENCE_TEXT,
    TO_DAY,
    Given,
    IdAsked,
    IdPosted,
    KeyAsked,
    KeyPosted,
    TotalsAsked,
    TotalsPosted,
)
from api.responses import GRPC_ERRORS
from api.responses_events import EventDetails, EventTotals
from api.wormhole_json import rfc3339
from db.families import ASSET, CHAIN, DETAILS, NFT, PAYLOAD_COLUMNS, TRANSFER
from db.queries.wormhole import find_bodies, find_payload, list_vaas
from db.queries.wormhole_daily import read_days
from db.store import NotFound, Row
from ledger.wormhole.chains import find_chain
from ledger.wormhole.ids import row_key
from ledger.wormhole.keys import transaction_key
from ledger.wormhole.vaa import decode_vaa

DAY_S = 86_400
LAUNCH_DAY = 18_883
"""2021-09-13."""

PYTHNET = 26

LEFT_OUT = {
    TRANSFER: {"PayloadId", "TargetAdress"},
    ASSET: {"PayloadId"},
    NFT: {"PayloadId", "TargetAdress"},
    DETAILS: {"NotionalUSD", "TokenPriceUSD", "CoinGeckoCoinId", "TargetSymbol", "TargetName"},
    CHAIN: {"ResultingTokenAddress", "ResultingTokenSymbol", "ResultingTokenName"},
}
"""Columns that the functions never told."""


async def readrow(network: NetworkMount, given: KeyAsked) -> Json:
    """The row of a message."""
    place = given[EMITTER_CHAIN.name], given[EMITTER_ADDRESS.name], given[SEQUENCE_TEXT.name]
    return await row_json(network, *place)


async def readrow_posted(network: NetworkMount, given: KeyPosted) -> Json:
    """The row of a message."""
    return await readrow(network, given)


async def transaction_row(network: NetworkMount, given: IdAsked) -> Json:
    """The row of the newest message of a transaction."""
    asked = [("transaction", transaction_key(given[ID.name]))]
    page = await list_vaas(network.store, asked, with_unverified=True, newest=True, page_size=1, cursor=None)
    if not page.rows:
        raise NotFound(f"a message of transaction {given[ID.name]}")
    row = page.rows[0]
    return await row_json(network, row["emitter_chain"], row["emitter_address"], int(row["sequence_key"]))


async def transaction_row_posted(network: NetworkMount, given: IdPosted) -> Json:
    """The row of the newest message of a transaction."""
    return await transaction_row(network, given)


async def totals(network: NetworkMount, given: TotalsAsked) -> Json:
    """Verified messages by day."""
    return await counted(network, "totals", given)


async def totals_posted(network: NetworkMount, given: TotalsPosted) -> Json:
    """Verified messages by day."""
    return await counted(network, "totals", given)


async def nfts(network: NetworkMount, given: TotalsAsked) -> Json:
    """Verified transfers of NFTs by day."""
    return await counted(network, "nfts", given)


async def nfts_posted(network: NetworkMount, given: TotalsPosted) -> Json:
    """Verified transfers of NFTs by day."""
    return await counted(network, "nfts", given)


async def row_json(network: NetworkMount, chain: int, emitter: str, sequence: int) -> Json:
    """All that a row tells of a message: its Details."""
    bodies = await find_bodies(network.store, chain, emitter, sequence)
    if not bodies:
        raise NotFound(f"row {row_key(chain, bytes.fromhex(emitter), sequence)}")
    served = next((row for row in bodies if row["canonical"]), None)
    written = next((row for row in bodies if not row["digest"]), None)
    told = await find_payload(network.store, bodies[0]["row_key"], "" if served is None else served["digest"]) or {}
    vaa = None if served is None else decode_vaa(served["signed_vaa"])
    payload = vaa.payload if vaa is not None else written["payload"] if written is not None else None
    seen_ms = None if served is None else served["observed_at"]
    return {
        "EmitterChain": find_chain(chain).name,
        "EmitterAddress": emitter,
        "Sequence": str(sequence),
        "InitiatingTxID": (written or {}).get("initiating_tx_id") or "",
        "Payload": None if payload is None else base64.b64encode(payload).decode(),
        "SignedVAABytes": None if served is None else base64.b64encode(served["signed_vaa"]).decode(),
        "QuorumTime": "" if seen_ms is None else go_time(seen_ms),
        "TransferDetails": family_json(DETAILS, told),
        "SignedVAA": None
        if vaa is None
        else {
            "Version": 1,
            "GuardianSetIndex": vaa.guardian_set_index,
            "Signatures": [{"Index": each.index, "Signature": each.signature.hex()} for each in vaa.signatures],
            "Timestamp": rfc3339(vaa.timestamp),
            "Nonce": vaa.nonce,
            "Sequence": vaa.sequence,
            "ConsistencyLevel": vaa.consistency_level,
            "EmitterChain": vaa.emitter_chain,
            "EmitterAddress": emitter,
            "Payload": base64.b64encode(vaa.payload).decode(),
        },
        "TokenTransferPayload": family_json(TRANSFER, told),
        "AssetMetaPayload": family_json(ASSET, told),
        "NFTTransferPayload": family_json(NFT, told),
        "ChainDetails": family_json(CHAIN, told),
    }


def family_json(family: str, told: Row) -> dict[str, str] | None:
    """The columns of a family, as text; None where the row has none of them."""
    columns = [each for each in PAYLOAD_COLUMNS if each.family == family and each.qualifier not in LEFT_OUT[family]]
    values = {each.qualifier: told.get(each.column) for each in columns}
    if all(value is None for value in values.values()):
        return None
    return {name: "" if value is None else str(value) for name, value in values.items()}


def go_time(milliseconds: int) -> str:
    """A time as Go writes it: without zeros behind the point."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    digits = f"{milliseconds % 1000:03d}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}{'.' if digits else ''}{digits} +0000 UTC"


async def counted(network: NetworkMount, measure: str, given: Given) -> Json:
    """Counts of a measure of vaa_daily; every day has the same keys."""
    chain, address = given[FOR_CHAIN.name], given[FOR_ADDRESS.name]
    if address is not None and chain is None:
        raise BadParameter(FOR_CHAIN.name, f"a chain beside {FOR_ADDRESS.name}", None)
    group = given[GROUP_BY.name] or ("address" if address is not None else "chain" if chain is not None else None)
    today = int(time.time()) // DAY_S
    last = today if given[TO_DAY.name] is None else min(given[TO_DAY.name], today)
    span = given[NUM_DAYS.name] if given[NUM_DAYS.name] is not None else max(last - LAUNCH_DAY, 0)
    rows = await read_days(network.store, measure, max(last - span, 0), last, chain=chain, emitter=address)
    days: dict[str, dict[str, int]] = {}
    whole: dict[str, int] = defaultdict(int, {"*": 0})
    for day, held in rows.items():
        counts: dict[str, int] = defaultdict(int)
        for row in held:
            if row["emitter_chain"] == PYTHNET and chain is None:
                continue
            keys = {"*"}
            if group is not None:
                place = str(row["emitter_chain"])
                keys.add(place if group == "chain" else f"{place}:{row['emitter_address']}")
            for key in keys:
                counts[key] += row["message_count"]
                whole[key] += row["message_count"]
        days[f"{datetime.fromtimestamp(day * DAY_S, UTC):%Y-%m-%d}"] = counts
    padded = {date: {key: counts.get(key, 0) for key in sorted(whole)} for date, counts in days.items()}
    return {
        "LastDayCount": [*padded.values()][-1] if given[LAST_24_HOURS.name] else None,
        "TotalCount": dict(sorted(whole.items())),
        "TotalCountDurationDays": span,
        "DailyTotals": padded,
    }


EVENTS = Family(
    "event database",
    (
        Operation("/readrow", readrow, EventDetails, (404,)),
        Operation("/readrow", readrow_posted, EventDetails, (404,), method="POST"),
        Operation("/transaction", transaction_row, EventDetails, (404,)),
        Operation("/transaction", transaction_row_posted, EventDetails, (404,), method="POST"),
        Operation("/totals", totals, EventTotals),
        Operation("/totals", totals_posted, EventTotals, method="POST"),
        Operation("/nfts", nfts, EventTotals),
        Operation("/nfts", nfts_posted, EventTotals, method="POST"),
    ),
    wrap=lambda value: value,
    error_body=grpc_error_body,
    errors=GRPC_ERRORS,
)
