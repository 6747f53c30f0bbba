"""What nobody else tells of signed messages: who signed and who did not, the verdict, what lacks, all guardian sets.

Rules of this file: all of it is ours, so unknown parameters are refused. Guardians are written with their checksum,
times as everywhere in this family.
"""

import asyncio

from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import message_id, rfc3339
from api.wormhole.ours.responses import GapReport, GuardianSets, Signatures, Verification
from api.wormhole.params import Chain, Cursor, Emitter, PageSize, SequenceNumber, emitter_of
from api.wormhole.signatures import signatures_of_body
from db.intervals import Intervals
from db.queries.wormhole.gaps import find_gaps
from db.queries.wormhole.vaas import find_bodies, get_vaa, list_guardian_sets, list_signatures
from db.store import NotFound, Row
from ledger.wormhole.addresses import format_checksummed
from ledger.wormhole.guardians import quorum
from ledger.wormhole.vaa import decode_vaa


async def signatures_of_vaa(network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber) -> Json:
    """Every guardian that is known to have signed a message, and those of its set that are not.

    `inVaa`: the signature is one of those that are served; others were seen in other forms of it, or written alone.
    """
    row, _ = await get_vaa(network.store, chain, emitter_of(chain, emitter), sequence)
    found, sets = await asyncio.gather(
        list_signatures(network.store, row["row_key"]), list_guardian_sets(network.store, network.name)
    )
    addresses = {each["guardian_set_index"]: each["addresses"] for each in sets}
    served = {each.signature for each in decode_vaa(row["signed_vaa"]).signatures}
    signatures = signatures_of_body(found, row["digest"])
    guardians = []
    for each in signatures:
        index = each["guardian_set_index"]
        members = addresses.get(index, [])
        address = each["guardian_address"]
        guardians.append(
            {
                "address": checksummed(address),
                "guardianSetIndex": index,
                "index": members.index(address) if address in members else None,
                "signature": f"0x{each['signature'].hex()}",
                "inVaa": each["signature"] in served,
                "observedAt": seen_at(each),
            }
        )
    there = {each["guardian_address"] for each in signatures}
    missing = [checksummed(each) for each in addresses.get(row["guardian_set_index"], ()) if each not in there]
    head = {"id": message_id(row), "digest": row["digest"], "guardianSetIndex": row["guardian_set_index"]}
    return head | {"signatures": guardians, "missing": missing}


async def verification_of_vaa(network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber) -> Json:
    """The verdict on each body under an id, the one that is served first, verified or not.

    `published`: a guardian wrote of the message. Without a body it waits for a quorum, or its VAA was never brought.
    """
    rows = await find_bodies(network.store, chain, emitter_of(chain, emitter), sequence)
    if not rows:
        raise NotFound(f"message {chain}/{emitter}/{sequence}")
    sets = await list_guardian_sets(network.store, network.name)
    sizes = {each["guardian_set_index"]: len(each["addresses"]) for each in sets}
    bodies = [
        {
            "digest": row["digest"],
            "served": row["canonical"],
            "verified": row["verified"],
            "fault": row["fault"] or None,
            "reason": row["reason"] or None,
            "guardianSetIndex": row["guardian_set_index"],
            "quorum": quorum(sizes[row["guardian_set_index"]]) if row["guardian_set_index"] in sizes else None,
            "signatures": row["signature_count"],
            "validSignatures": row["valid_signatures"],
            "expired": row["expired"],
            "timestamp": rfc3339(row["timestamp"]),
            "observedAt": seen_at(row),
        }
        for row in rows
        if row["digest"]
    ]
    head = {"id": message_id(rows[0]), "rowKey": rows[0]["row_key"]}
    return head | {"published": any(not row["digest"] for row in rows), "bodies": bodies}


async def gaps(network: NetworkMount, chain: Chain, emitter: Emitter, page_size: PageSize, cursor: Cursor) -> Json:
    """Sequences of an emitter that lack between those that are here; `pageSize` sequences are looked at, ascending.

    `observed`: of which a guardian wrote and nobody brought the VAA. Beyond the highest sequence nothing is known.
    """
    address = emitter_of(chain, emitter)
    found = await find_gaps(network.store, chain, address, page_size=page_size, cursor=cursor)
    return {
        "emitterChain": chain,
        "emitterAddr": address,
        "first": text_of(found.first),
        "last": text_of(found.last),
        "missing": spans(found.missing),
        "observed": spans(found.observed),
        "cursor": found.cursor,
    }


async def guardian_sets(network: NetworkMount) -> Json:
    """Every guardian set, the current one first.

    `namedBy`: digest of the message that named it; null where it is only known because it was published.
    """
    sets = [
        {
            "index": row["guardian_set_index"],
            "addresses": [checksummed(each) for each in row["addresses"]],
            "quorum": quorum(len(row["addresses"])),
            "since": rfc3339(row["since"]) if row["since"] else None,
            "expiresAt": None if row["expires_at_s"] is None else rfc3339(row["expires_at_s"]),
            "namedBy": row["named_by"],
        }
        for row in await list_guardian_sets(network.store, network.name)
    ]
    return {"guardianSets": sets}


def checksummed(address: str) -> str:
    """A guardian as the tables have it, as it is written."""
    return format_checksummed(bytes.fromhex(address))


def seen_at(row: Row) -> str | None:
    """When a row was observed; None: no source told."""
    return None if row["observed_at"] is None else rfc3339(row["observed_at"] / 1000)


def text_of(sequence: int | None) -> str | None:
    """A sequence as text: it may have more digits than a number of JavaScript."""
    return None if sequence is None else str(sequence)


def spans(intervals: Intervals) -> list[Json]:
    """Intervals, both ends in them."""
    return [{"first": str(first), "last": str(last)} for first, last in intervals]


OURS = (
    Operation("/vaas/{chain}/{emitter}/{sequence}/signatures", signatures_of_vaa, Signatures, (404,), is_ours=True),
    Operation(
        "/vaas/{chain}/{emitter}/{sequence}/verification", verification_of_vaa, Verification, (404,), is_ours=True
    ),
    Operation("/gaps/{chain}/{emitter}", gaps, GapReport, is_ours=True),
    Operation("/guardian-sets", guardian_sets, GuardianSets, is_ours=True),
)
