"""Stored proofs that a milestone references a message or applied it to the ledger, as bytes.

The proof of a message does not contain the message or the milestone. It is a sequence of parts, integers little-endian:

01  audit path to the root of all referenced messages (Stardust): steps u8, sides u32, 32 bytes for each step
02  audit path to the root of the applied messages: the same
03  path of parents: messages u16, then for each its length u32 and its canonical bytes

Bit i of the sides is set if the sibling of step i is the left child. In a path of parents the first message is a parent
of the milestone, each message contains the id of the next one, and the last one that of the proved message. Without
messages, the milestone itself contains this id. The message that carries a Chrysalis milestone needs no part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct, error

from ledger.chrysalis import codec as chrysalis
from ledger.crypto.audit_path import MAX_STEPS, AuditPath, Step
from ledger.ids import message_id
from ledger.inclusion_proof import APPLIED, REFERENCED, InclusionProof, ParentPath, find_claims
from ledger.milestone_proof import Milestone
from ledger.reader import CodecError

_HASH_BYTES = 32
_PARENTS = 3
_CLAIMS = {1: REFERENCED, 2: APPLIED}
_PATH_HEAD = Struct("<BBI")
_PARENTS_HEAD = Struct("<BH")
_LENGTH = Struct("<I")


@dataclass(frozen=True, slots=True)
class MessageProof:
    """The parts of a proof.

    Attributes:
        paths: REFERENCED or APPLIED → steps of the audit path.
        parents: the canonical bytes of the messages between the milestone and the message. None: no path of parents.
    """

    paths: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    parents: Sequence[bytes] | None = None

    def find_claims(self, milestone: Milestone, message: bytes) -> frozenset[str]:
        """What the proof shows of a message (canonical bytes) if its milestone is genuine: REFERENCED, APPLIED or both.
        Empty if any part of it is broken.
        """
        identity, found = message_id(message), frozenset[str]()
        for claim, steps in self.paths.items():
            shown = find_claims(InclusionProof(milestone, message, AuditPath(identity, tuple(steps))))
            if claim not in shown:
                return frozenset()
            found |= shown
        if self.parents is not None:
            shown = find_claims(InclusionProof(milestone, message, ParentPath(tuple(self.parents))))
            if not shown:
                return frozenset()
            found |= shown
        return found or _of_carrier(milestone, message)


def encode_proof(proof: MessageProof) -> bytes:
    """Encodes a proof."""
    parts = []
    for kind, claim in _CLAIMS.items():
        if (steps := proof.paths.get(claim)) is not None:
            sides = sum(step.is_left << position for position, step in enumerate(steps))
            parts += [_PATH_HEAD.pack(kind, len(steps), sides), *(step.sibling for step in steps)]
    if proof.parents is not None:
        parts.append(_PARENTS_HEAD.pack(_PARENTS, len(proof.parents)))
        parts += [part for message in proof.parents for part in (_LENGTH.pack(len(message)), message)]
    return b"".join(parts)


def decode_proof(data: bytes) -> MessageProof:
    """Decodes a proof. Raises CodecError."""
    paths: dict[str, Sequence[Step]] = {}
    parents: list[bytes] | None = None
    offset = kind = 0
    try:
        while offset < len(data):
            if not kind < data[offset] <= _PARENTS:
                raise CodecError(offset, f"a kind of part above {kind}, up to {_PARENTS}, found {data[offset]}")
            kind = data[offset]
            if kind in _CLAIMS:
                _, count, sides = _PATH_HEAD.unpack_from(data, offset)
                offset += _PATH_HEAD.size
                paths[_CLAIMS[kind]] = _steps(data, offset, count, sides)
                offset += count * _HASH_BYTES
            else:
                _, count = _PARENTS_HEAD.unpack_from(data, offset)
                offset, parents = offset + _PARENTS_HEAD.size, []
                for _ in range(count):
                    (length,) = _LENGTH.unpack_from(data, offset)
                    start, offset = offset + _LENGTH.size, offset + _LENGTH.size + length
                    parents.append(data[start:offset])
    except error:
        raise CodecError(offset, "a whole part of a proof") from None
    if offset != len(data):
        raise CodecError(len(data), f"{offset - len(data)} more bytes")
    return MessageProof(paths, parents)


def _steps(data: bytes, offset: int, count: int, sides: int) -> list[Step]:
    if count > MAX_STEPS or sides >> count:
        raise CodecError(offset, f"at most {MAX_STEPS} steps, with a side for each")
    return [
        Step(data[start : start + _HASH_BYTES], is_left=bool(sides >> position & 1))
        for position, start in enumerate(range(offset, offset + count * _HASH_BYTES, _HASH_BYTES))
    ]


def _of_carrier(milestone: Milestone, message: bytes) -> frozenset[str]:
    """REFERENCED for the message that carries a Chrysalis milestone."""
    if not isinstance(milestone, chrysalis.Milestone):
        return frozenset()
    try:
        carries = chrysalis.milestone_of(chrysalis.decode_message(message)) == milestone
    except CodecError:
        carries = False
    return frozenset({REFERENCED}) if carries else frozenset()
