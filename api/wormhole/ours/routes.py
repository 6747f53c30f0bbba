"""Extensions about Wormhole messages: signers, verification, missing sequences, all guardian sets.

Unknown parameters are rejected. Guardian addresses have a checksum. Times have the format of wormholescan.
"""

from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import message_id, rfc3339, spans
from api.wormhole.ours.responses import GapReport, GuardianSets, Signatures, Verification
from api.wormhole.params import Chain, Cursor, Emitter, PageSize, SequenceNumber, emitter_of
from api.wormhole.signatures import signatures_of_body
from db.queries.wormhole.gaps import find_gaps
from db.queries.wormhole.vaas import find_bodies, get_vaa, list_guardian_sets, list_signatures
from db.store import NotFound, Row
from db.together import together
from ledger.wormhole.addresses import format_checksummed
from ledger.wormhole.guardians import quorum
from ledger.wormhole.vaa import decode_vaa


async def signatures_of_vaa(network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber) -> Json:
    """Returns every guardian with a known signature of a message, and the guardians of its set without one.

    `inVaa` is true for signatures in the VAA that this server returns. Others are from other VAAs of the message or
    from single observations.
    """
    row, _ = await get_vaa(network.store, chain, emitter_of(network, chain, emitter), sequence)
    found, sets = await together(
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
    """Returns the verification of each body under an id, verified or not.

    The body that this server returns comes first. `published` is true if a guardian published the message. Without a
    body, the message has no quorum yet, or its VAA was never loaded.
    """
    rows = await find_bodies(network.store, chain, emitter_of(network, chain, emitter), sequence)
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
    """Returns the missing sequences of an emitter, ascending.

    One page covers `pageSize` sequences. `observed` has the sequences that a guardian published but whose VAA was never
    loaded. Nothing is known after the highest sequence.
    """
    address = emitter_of(network, chain, emitter)
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
    """Returns every guardian set, the current one first.

    `namedBy` is the digest of the message that named it, null if the set is only known from a publication.
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
    """Returns a stored guardian address with its checksum."""
    return format_checksummed(bytes.fromhex(address))


def seen_at(row: Row) -> str | None:
    """Returns when a row was observed, None if no source has it."""
    return None if row["observed_at"] is None else rfc3339(row["observed_at"] / 1000)


def text_of(sequence: int | None) -> str | None:
    """Returns a sequence as text, because it may exceed JavaScript's safe integers."""
    return None if sequence is None else str(sequence)


EXTENSIONS = (
    Operation(
        "/vaas/{chain}/{emitter}/{sequence}/signatures", signatures_of_vaa, Signatures, (404,), is_extension=True
    ),
    Operation(
        "/vaas/{chain}/{emitter}/{sequence}/verification", verification_of_vaa, Verification, (404,), is_extension=True
    ),
    Operation("/gaps/{chain}/{emitter}", gaps, GapReport, is_extension=True),
    Operation("/guardian-sets", guardian_sets, GuardianSets, is_extension=True),
)
