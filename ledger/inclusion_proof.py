"""Proofs that a milestone references a message or applied it to the ledger, as values and as JSON.

Invariants:
1. A proof contains the milestone, the message and the audit path between them. To verify it, a reader only needs to
   know who may sign milestones.
2. The JSON has the shape of inx-poi and inx-chronicle, which know only Stardust: `milestone`, `block`, `proof`. A
   Chrysalis proof has `message` instead of `block`, and hex without 0x, like all Chrysalis JSON.
3. A Chrysalis message that changed nothing has a path of parents instead of an audit path, `parents` instead of
   `proof`. This is an extension; the original APIs have no such proof.
4. A Stardust milestone commits to all blocks that it references and to those that it applied. A Chrysalis milestone
   commits only to the messages that it applied, which are also referenced.
"""

from collections.abc import Callable, Iterator, Mapping
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
"""What a milestone did to a message."""


@dataclass(frozen=True, slots=True)
class ParentPath:
    """The messages between a Chrysalis milestone and a message, in canonical bytes. The first one is a parent of the
    milestone, each one contains the id of the next one, the last one that of the message. Without messages, the
    milestone itself contains this id.
    """

    messages: tuple[bytes, ...]

    def leads_to(self, identity: bytes, milestone: Milestone) -> bool:
        """Whether the path leads from the milestone to the message with this id."""
        parents = milestone.parents
        for message in self.messages:
            if message_id(message) not in parents:
                return False
            try:
                parents = chrysalis.decode_message(message).parents
            except CodecError:
                return False
        return identity in parents


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """A milestone, a message in canonical bytes, and the path between them."""

    milestone: Milestone
    message: bytes
    path: AuditPath | ParentPath


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an era's proofs: codec, key of the message, hex prefix, and milestone JSON."""

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
"""The form by type of the milestone payload, which distinguishes the eras."""


def form_of(milestone: Milestone) -> Form:
    """The form of proofs for this milestone's era."""
    return FORMS[milestone.KIND]


def roots(milestone: Milestone) -> dict[str, bytes]:
    """The Merkle roots in the milestone: REFERENCED and APPLIED in Stardust, only APPLIED in Chrysalis."""
    if isinstance(milestone, stardust_values.Milestone):
        return {REFERENCED: milestone.inclusion_merkle_root, APPLIED: milestone.applied_merkle_root}
    return {APPLIED: milestone.inclusion_merkle_proof}


def find_claims(proof: InclusionProof) -> frozenset[str]:
    """What the proof shows if its milestone is genuine: REFERENCED, APPLIED or both. Empty if the proof is broken.

    A Stardust milestone has one root for each; the single root of a Chrysalis milestone shows both. Signatures are not
    checked here, see `ledger.milestone_proof`.
    """
    if isinstance(proof.path, ParentPath):
        is_chrysalis = isinstance(proof.milestone, chrysalis.Milestone)
        leads = is_chrysalis and proof.path.leads_to(message_id(proof.message), proof.milestone)
        return frozenset({REFERENCED} if leads else ())
    if proof.path.leaf != message_id(proof.message):
        return frozenset()
    root, stated = proof.path.root, roots(proof.milestone)
    found = {claim for claim, each in stated.items() if each == root}
    return frozenset(found | ({REFERENCED} - stated.keys()) if found else found)


def proof_json(proof: InclusionProof) -> Json:
    """Renders a proof of either era."""
    form = form_of(proof.milestone)
    shown = {
        "milestone": form.render_milestone(proof.milestone),
        form.message_key: form.codec.render(form.codec.decode(proof.message)),
    }
    if isinstance(proof.path, ParentPath):
        return shown | {"parents": [form.codec.render(form.codec.decode(each)) for each in proof.path.messages]}
    return shown | {"proof": audit_path_json(proof.path, form.prefix)}


def parse_proof_json(value: Any) -> InclusionProof:
    """Parses a proof. Raises JsonError if it is malformed. Does not verify it."""
    form = nested(value, "milestone", _find_form)

    def parse_message(message: Any) -> bytes:
        return _decoded(form.codec.pack, message, form.codec.decode)

    def parse_path() -> AuditPath | ParentPath:
        if form.codec is CHRYSALIS and "parents" in value and "proof" not in value:
            return nested(value, "parents", lambda parents: ParentPath(tuple(_each(parents, parse_message))))
        return nested(value, "proof", lambda tree: parse_audit_path_json(tree, form.prefix))

    return InclusionProof(
        nested(value, "milestone", lambda milestone: _decoded(form.parse_milestone, milestone)),
        nested(value, form.message_key, parse_message),
        parse_path(),
    )


def _each(values: Any, parse: Callable[[Any], T]) -> Iterator[T]:
    if type(values) is not list:
        raise JsonError("", "a list of messages")
    yield from map(parse, values)


def _find_form(milestone: Any) -> Form:
    form = FORMS.get(uint(milestone, "type", U32))
    if form is None:
        raise JsonError("type", " or ".join(f"{tag} ({each.codec.name})" for tag, each in FORMS.items()))
    return form


def _decoded(parse: Callable[[Any], T], value: Any, decode: Callable[[T], object] = lambda _: None) -> T:
    """Parses a value and decodes the result, because packing does not check what the bytes mean. Raises JsonError."""
    try:
        parsed = parse(value)
        decode(parsed)
    except CodecError as error:
        raise JsonError("", f"{error.expected} (byte {error.offset} of its canonical form)") from None
    return parsed
