"""Proof of inclusion: a milestone references a message, or applied it to the ledger. Creates and validates proofs.

Routes and shapes are inx-chronicle's (`referenced-block`, `applied-block`) and inx-poi's (`create`, `validate`, for
references). A Chrysalis milestone commits only to the messages that it applied. There a proof of reference is a proof
of application, and a message that was referenced but not applied has no proof. An invalid body is rejected with the
name of the field. An invalid proof returns `{"valid": false}`, whatever the fault.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, TypeAlias

from api.fields.stardust_params import BLOCK_ID
from api.http.body import Body
from api.http.errors import NoProof, NotKept
from api.http.operations import Family, Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.poi_v1.responses import InclusionProof as InclusionProofModel
from api.poi_v1.responses import PostedProof, Validity
from db.coverage import find_coverage
from db.queries import messages, milestones
from db.store import NotFound, Row
from ledger.chrysalis import codec as chrysalis
from ledger.crypto.audit_path import AuditPath, create_audit_path
from ledger.inclusion_proof import (
    APPLIED,
    REFERENCED,
    InclusionProof,
    ParentPath,
    find_claims,
    form_of,
    parse_proof_json,
    proof_json,
    roots,
)
from ledger.message_proof import MessageProof, decode_proof
from ledger.milestone_proof import Milestone, find_signature_fault
from ledger.stardust import codec as stardust

CONE_MAX = 100_000
"""Maximum number of messages in a cone for which a proof is created: a minute at 1,700 messages per second. Reading
and hashing that many takes about a second.
"""

BODY_MAX_BYTES = 262_144
"""A block and a milestone have at most 32 KiB each, twice that as hex; a path of 32 levels has about 3 KiB."""

INCLUDED = 1

APPLIED_BLOCK_ID = replace(
    BLOCK_ID,
    meaning="Id of a block or of a Chrysalis message",
    example="0x5af7f6b6f97334daa7ec42100087df9694dbb23a8847e3d88d8bf432da4b0d38",
)

BlockId: TypeAlias = Annotated[str, APPLIED_BLOCK_ID]
Proof: TypeAlias = Annotated[
    InclusionProof,
    Body("A proof as `create` returns it, from this server or another", PostedProof, parse_proof_json, BODY_MAX_BYTES),
]


async def create_for_referenced_block(network: NetworkMount, block_id: BlockId) -> Json:
    """Returns the proof that a milestone references a block or a Chrysalis message.

    The status is 400 if no milestone references it, or if it is a Chrysalis message that was not applied. An archive
    that keeps a selection has a path of parents for these: `parents` instead of `proof`, an extension, contains the
    messages from a parent of the milestone to a child of the message.
    """
    return await create(network, block_id, REFERENCED)


async def create_for_applied_block(network: NetworkMount, block_id: BlockId) -> Json:
    """Returns the proof that a milestone applied a block or a Chrysalis message to the ledger.

    The status is 400 if no milestone references it, if it contains no transaction, or if its transaction is in
    conflict.
    """
    return await create(network, block_id, APPLIED)


async def create_proof(network: NetworkMount, block_id: BlockId) -> Json:
    """Returns the proof that a milestone references a block, as inx-poi does; the same as referenced-block/create."""
    return await create(network, block_id, REFERENCED)


async def create(network: NetworkMount, message_id: str, claim: str) -> Json:
    """Returns the proof of a claim.

    Raises NoProof if none can exist, NotFound if the archive does not have the data for it.
    """
    row = await messages.get_message(network.store, message_id)
    index = row.get("milestone_index")
    if index is None:
        raise NoProof(f"message {message_id} was not referenced by a milestone")
    milestone = decode_milestone(await milestones.get_milestone(network.store, index))
    stated = roots(milestone)
    proved = claim if claim in stated else APPLIED
    is_selective = await find_coverage(network.store) is not None
    if proved == APPLIED and row["inclusion_state"] != INCLUDED:
        if is_selective and claim == REFERENCED and (path := await stored_parents(network, message_id)) is not None:
            return proof_json(InclusionProof(milestone, row["message"], path))
        reason = "" if claim == APPLIED else f"; {form_of(milestone).codec.name} proves nothing of other messages"
        raise NoProof(f"message {message_id} was not applied to the ledger{reason}")
    if is_selective:
        return proof_json(InclusionProof(milestone, row["message"], await stored_path(network, message_id, proved)))
    return proof_json(
        InclusionProof(
            milestone, row["message"], await path_in_cone(network, message_id, index, proved, stated[proved])
        )
    )


async def path_in_cone(network: NetworkMount, message_id: str, index: int, claim: str, root: bytes) -> AuditPath:
    """Returns the audit path of a message in the cone of a milestone, which commits to `root`. Raises NotFound."""
    cone = await milestones.list_cone(network.store, index, CONE_MAX + 1)
    if len(cone) > CONE_MAX:
        raise NotKept(f"milestone {index} references more than {CONE_MAX} messages: the maximum for a proof")
    ids = leaves(cone, claim)
    if message_id not in ids:
        raise NotFound(f"the whole cone of milestone {index}")
    # A thread, because a large cone takes an eighth of a second.
    path = await asyncio.to_thread(
        lambda: create_audit_path([bytes.fromhex(each) for each in ids], ids.index(message_id))
    )
    if path.root != root:
        raise NotFound(f"a cone of milestone {index} that has the Merkle root of its messages {claim}")
    return path


async def stored_path(network: NetworkMount, message_id: str, claim: str) -> AuditPath:
    """Returns the stored audit path of a message of a selective archive. Raises NotFound."""
    proof = await find_stored(network, message_id)
    if proof is None or claim not in proof.paths:
        raise NotFound(f"an audit path of message {message_id} for messages {claim}")
    return AuditPath(bytes.fromhex(message_id), tuple(proof.paths[claim]))


async def stored_parents(network: NetworkMount, message_id: str) -> ParentPath | None:
    """Returns the stored path of parents of a message of a selective archive; None without one."""
    proof = await find_stored(network, message_id)
    return None if proof is None or proof.parents is None else ParentPath(tuple(proof.parents))


async def find_stored(network: NetworkMount, message_id: str) -> MessageProof | None:
    """Returns the stored proof of a message of a selective archive; None without one."""
    stored = await messages.find_proof(network.store, message_id)
    return None if stored is None else decode_proof(stored)


def leaves(cone: Sequence[Row], claim: str) -> list[str]:
    """Returns the ids that a milestone commits to, in white-flag order."""
    return [row["message_id"] for row in cone if claim == REFERENCED or row["inclusion_state"] == INCLUDED]


def decode_milestone(row: Row) -> Milestone:
    """Returns the milestone of a row of `milestones`. The type of its payload determines the era."""
    data: bytes = row["payload"]
    decode = chrysalis.decode_payload if data[0] == chrysalis.Milestone.KIND else stardust.decode_payload
    milestone = decode(data)
    assert isinstance(milestone, Milestone)
    return milestone


async def validate_for_referenced_block(network: NetworkMount, proof: Proof) -> Json:
    """Returns whether a proof that a milestone references a block or a Chrysalis message is valid.

    The coordinator of this network must have signed the milestone. If its keys are not configured, the milestone must
    be in this archive.
    """
    return await validate(network, proof, REFERENCED)


async def validate_for_applied_block(network: NetworkMount, proof: Proof) -> Json:
    """Returns whether a proof that a milestone applied a block or a Chrysalis message is valid.

    The milestone is checked as in referenced-block/validate.
    """
    return await validate(network, proof, APPLIED)


async def validate_proof(network: NetworkMount, proof: Proof) -> Json:
    """Returns whether a proof that a milestone references a block is valid, as inx-poi does; the same as
    referenced-block/validate.
    """
    return await validate(network, proof, REFERENCED)


async def validate(network: NetworkMount, proof: InclusionProof, claim: str) -> Json:
    """Returns whether a claim is valid. Raises NotFound for a milestone that cannot be checked here."""
    return {"valid": claim in find_claims(proof) and await is_genuine(network, proof.milestone)}


async def is_genuine(network: NetworkMount, milestone: Milestone) -> bool:
    """Whether the coordinator signed a milestone. Without its keys: whether the milestone is in this archive."""
    if network.coordinator is not None:
        return find_signature_fault(milestone, network.coordinator) is None
    own = await milestones.get_milestone(network.store, milestone.index)
    return decode_milestone(own) == milestone


POI_V1 = Family(
    "proof of inclusion",
    (
        *(
            Operation(f"{path}/create/{{blockId}}", handler, InclusionProofModel, (404, 501))
            for path, handler in (
                ("/referenced-block", create_for_referenced_block),
                ("/applied-block", create_for_applied_block),
                ("", create_proof),
            )
        ),
        *(
            Operation(f"{path}/validate", handler, Validity, (404,), method="POST")
            for path, handler in (
                ("/referenced-block", validate_for_referenced_block),
                ("/applied-block", validate_for_applied_block),
                ("", validate_proof),
            )
        ),
    ),
    wrap=lambda value: value,
)
