"""Proofs of inclusion: that a milestone references a message, or applied it to the ledger, as values and as JSON.

Rules of this file:
1. A proof is all that its reader needs but one thing, who may sign milestones: the milestone, the message, and the
   audit path between them. The shape is that of inx-poi and inx-chronicle, which know Stardust alone: `milestone`,
   `block`, `proof`. A Chrysalis proof has `message` for `block`, and hex without 0x, as all JSON of its era.
2. A Stardust milestone commits to all blocks that it references and to those that it applied, a Chrysalis one only to
   the messages that it applied; applied messages are referenced ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis.json import milestone_json, parse_milestone_json
from ledger.crypto.audit_path import AuditPath, audit_path_json, parse_audit_path_json
from ledger.eras import CHRYSALIS, STARDUST, Codec
from ledger.ids import message_id
from ledger.json_reader import U32, JsonError, nested, uint
from ledger.milestone_proof import Milestone
from ledger.reader import CodecError
from ledger.stardust import values as stardust_values
from ledger.stardust.json import milestone_json as stardust_milestone_json
from ledger.stardust.json_parse import parse_milestone_json as parse_stardust_milestone_json

Json: TypeAlias = dict[str, Any]

T = TypeVar("T")

REFERENCED, APPLIED = "referenced", "applied"
"""What a milestone did to a message, as proofs say it."""


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """A milestone, a message as its canonical bytes, and the path that leads from one to the other."""

    milestone: Milestone
    message: bytes
    path: AuditPath


@dataclass(frozen=True, slots=True)
class Form:
    """How proofs of an era are written: the codec, the key of the message, the prefix of hex, milestones as JSON."""

    codec: Codec
    message_key: str
    prefix: str
    render_milestone: Callable[[Any], Json]
    parse_milestone: Callable[[Any], Milestone]


FORMS: Mapping[int, Form] = {
    chrysalis.Milestone.KIND: Form(CHRYSALIS, "message", "", milestone_json, parse_milestone_json),
    stardust_values.Milestone.KIND: Form(
        STARDUST, "block", "0x", stardust_milestone_json, parse_stardust_milestone_json
    ),
}
"""By the type of the milestone's payload, which tells the eras apart."""


def form_of(milestone: Milestone) -> Form:
    """How proofs of that milestone's era are written."""
    return FORMS[milestone.KIND]


def roots(milestone: Milestone) -> dict[str, bytes]:
    """What the milestone commits to: REFERENCED and APPLIED → Merkle root; a Chrysalis one has only the latter."""
    if isinstance(milestone, stardust_values.Milestone):
        return {REFERENCED: milestone.inclusion_merkle_root, APPLIED: milestone.applied_merkle_root}
    return {APPLIED: milestone.inclusion_merkle_proof}


def find_claims(proof: InclusionProof) -> frozenset[str]:
    """Which of REFERENCED and APPLIED the proof says, if the milestone is genuine; neither where it is broken.

    A Stardust milestone has a root for each, the only one of Chrysalis says both. Who signed it is not asked here
    (ledger/milestone_proof.py).
    """
    if proof.path.leaf != message_id(proof.message):
        return frozenset()
    root, stated = proof.path.root, roots(proof.milestone)
    found = {claim for claim, each in stated.items() if each == root}
    return frozenset(found | ({REFERENCED} - stated.keys()) if found else found)


def proof_json(proof: InclusionProof) -> Json:
    """The proof as JSON, whichever era it is of."""
    form = form_of(proof.milestone)
    return {
        "milestone": form.render_milestone(proof.milestone),
        form.message_key: form.codec.render(form.codec.decode(proof.message)),
        "proof": audit_path_json(proof.path, form.prefix),
    }


def parse_proof_json(value: Any) -> InclusionProof:
    """The proof of such JSON. Raises JsonError where its form is wrong; whether it holds is not asked here."""
    form = nested(value, "milestone", _find_form)
    return InclusionProof(
        nested(value, "milestone", lambda milestone: _decoded(form.parse_milestone, milestone)),
        nested(value, form.message_key, lambda message: _decoded(form.codec.pack, message, form.codec.decode)),
        nested(value, "proof", lambda path: parse_audit_path_json(path, form.prefix)),
    )


def _find_form(milestone: Any) -> Form:
    form = FORMS.get(uint(milestone, "type", U32))
    if form is None:
        raise JsonError("type", " or ".join(f"{tag} ({each.codec.name})" for tag, each in FORMS.items()))
    return form


def _decoded(parse: Callable[[Any], T], value: Any, decode: Callable[[T], object] = lambda _: None) -> T:
    """What `parse` makes of the value, once `decode` takes it: what bytes may say, packing does not ask."""
    try:
        parsed = parse(value)
        decode(parsed)
    except CodecError as error:
        raise JsonError("", f"{error.expected} (byte {error.offset} of its canonical form)") from None
    return parsed
