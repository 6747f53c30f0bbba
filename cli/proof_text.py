"""A proof of inclusion checked offline, and what was checked in words.

Rules of this file: nothing is read but the file; what holds is decided in ledger/, said here.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from ledger.eras import Coordinator
from ledger.ids import message_id
from ledger.inclusion_proof import APPLIED, REFERENCED, InclusionProof, find_claims, form_of, parse_proof_json
from ledger.json_reader import JsonError
from ledger.milestone_proof import find_signature_fault, signatures

NOBODY = "nobody says which keys sign milestones: --key-ranges, or the network at hand"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a proof is valid, and the lines that say what was checked."""

    is_valid: bool
    lines: list[str]


def read_proof(file: Path) -> InclusionProof:
    """The proof in a file. Raises ValueError, which names the file and what is wrong with it."""
    try:
        return parse_proof_json(orjson.loads(file.read_bytes()))
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{file}: not JSON: {error}") from error
    except JsonError as error:
        raise ValueError(f"{file}: no proof of inclusion: {error}") from error


def check(proof: InclusionProof, coordinator: Coordinator | None) -> Verdict:
    """The verdict; without a coordinator never that it is valid, as anybody can sign a milestone of their own."""
    milestone, form = proof.milestone, form_of(proof.milestone)
    found = message_id(proof.message)
    claims = find_claims(proof)
    fault = NOBODY if coordinator is None else find_signature_fault(milestone, coordinator)
    proved = APPLIED if APPLIED in claims else REFERENCED
    is_valid = bool(claims) and fault is None
    time = datetime.fromtimestamp(milestone.timestamp, UTC).isoformat() if milestone.timestamp < 2**32 else "no time"
    name = form.message_key
    of_leaf = "its leaf" if found == proof.path.leaf else f"NOT its leaf, {form.prefix}{proof.path.leaf.hex()}"
    of_root = f"of what the milestone {proved}" if claims else "NOT the milestone's, or of another leaf"
    signed = f"{len(signatures(milestone))} of the coordinator's" if fault is None else f"NOT enough: {fault}"
    lines = [
        f"milestone   {milestone.index} of {form.codec.name}, {time}",
        f"{name:<10}  {form.prefix}{found.hex()}: {of_leaf}",
        f"path        {len(proof.path.steps)} steps to the root {of_root}",
        f"signatures  {signed}",
        f"valid: the milestone {proved} the {name}" if is_valid else "not valid",
    ]
    return Verdict(is_valid, lines)
