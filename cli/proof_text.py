"""Verifies a proof of inclusion offline and formats the result. Reads only the file; the checks are in ledger/."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from ledger.eras import Coordinator
from ledger.ids import message_id
from ledger.inclusion_proof import (
    APPLIED,
    REFERENCED,
    InclusionProof,
    ParentPath,
    find_claims,
    form_of,
    parse_proof_json,
)
from ledger.json_reader import JsonError
from ledger.milestone_proof import find_signature_fault, signatures

UNKNOWN = "signers unknown"
"""The result for a proof of which everything but the signers was checked."""

HOW = "pass --key-ranges, or select a network with --network"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a proof is valid, and one line per check."""

    is_valid: bool
    lines: list[str]


def read_proof(file: Path) -> InclusionProof:
    """Reads a proof from a file. Raises ValueError with the file's name and its fault."""
    try:
        return parse_proof_json(orjson.loads(file.read_bytes()))
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{file}: not JSON: {error}") from error
    except JsonError as error:
        raise ValueError(f"{file}: not a proof of inclusion: {error}") from error


def check(proof: InclusionProof, coordinator: Coordinator | None) -> Verdict:
    """Checks a proof. Without a coordinator it is never valid, because anybody can sign a milestone: if all else is
    right, its signers are unknown.
    """
    milestone, form = proof.milestone, form_of(proof.milestone)
    found = message_id(proof.message)
    claims = find_claims(proof)
    fault = None if coordinator is None else find_signature_fault(milestone, coordinator)
    proved = APPLIED if APPLIED in claims else REFERENCED
    is_valid = bool(claims) and fault is None and coordinator is not None
    time = (
        datetime.fromtimestamp(milestone.timestamp, UTC).isoformat() if milestone.timestamp < 2**32 else "no timestamp"
    )
    name = form.message_key
    if isinstance(proof.path, ParentPath):
        of_leaf = "is at the end of the path" if claims else "is NOT at the end of the path"
        of_path = f"{len(proof.path.messages)} messages from the milestone through parents"
    else:
        leaf = proof.path.leaf
        of_leaf = "is the leaf" if found == leaf else f"is NOT the leaf {form.prefix}{leaf.hex()}"
        of_root = f"of the messages that the milestone {proved}" if claims else "that is NOT in the milestone"
        of_path = f"{len(proof.path.steps)} steps to the root {of_root}"
    count = len(signatures(milestone))
    signed = f"{count} of the coordinator" if fault is None else f"NOT sufficient: {fault}"
    if coordinator is None:
        signed = f"{count}; {UNKNOWN}: {HOW}"
    result = f"valid: the milestone {proved} the {name}"
    if not is_valid:
        result = (
            "invalid" if fault or not claims else f"{UNKNOWN}; all else is right: the milestone {proved} the {name}"
        )
    lines = [
        f"milestone   {milestone.index} ({form.codec.name}), {time}",
        f"{name:<10}  {form.prefix}{found.hex()} {of_leaf}",
        f"path        {of_path}",
        f"signatures  {signed}",
        result,
    ]
    return Verdict(is_valid, lines)
