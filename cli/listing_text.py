"""Verifies a proof that a listing is complete offline and formats the result. The checks are in ledger/."""

from collections.abc import Sequence
from pathlib import Path

from cli.proof_text import Verdict
from ledger.completeness.check import LogHead, check_document
from ledger.completeness.document import BYTES_MOST, parse_document
from ledger.completeness.proof import ListingProof
from ledger.json_reader import JsonError
from ledger.transparency.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.keys import Kind, VerifierKey
from ledger.transparency.note import parse_note

UNKNOWN = "signer unknown"
"""The result for a document of which everything but the log's signature was checked."""

_FIRST_FIELDS_BYTES = 500

HOW = "pass --keys with the key of the log"


def read_document(file: Path) -> bytes:
    """The beginning of a file: all of it, if it is not larger than a document may be."""
    with file.open("rb") as source:
        return source.read(BYTES_MOST + 1)


def is_listing_proof(document: bytes) -> bool:
    """Whether a file claims to be the proof of a listing: the first fields of its JSON contain the family."""
    return b'"family"' in document[:_FIRST_FIELDS_BYTES]


def parse_keys(texts: Sequence[str]) -> list[VerifierKey]:
    """Keys of logs and witnesses in the form NAME+ID+BASE64. Raises ValueError with the faulty one."""
    return [VerifierKey.parse(text.strip()) for text in texts]


def check_listing(document: bytes, network: str | None, keys: Sequence[VerifierKey]) -> Verdict:
    """Checks a document. Without the key of its log it is never valid, because anybody can make a log.

    Args:
        document: the bytes of the file.
        network: that the reader wants; None accepts the one in the document.
        keys: one of those of kind SIGNATURE must have signed the checkpoint, and all of kind COSIGNATURE.

    Raises:
        ValueError: it is not a document, or its checkpoint is not one.
    """
    try:
        proof = parse_document(document)
    except JsonError as error:
        raise ValueError(f"not a proof of a listing: {error}") from error
    try:
        checkpoint = parse_checkpoint(parse_note(proof.checkpoint.encode()).text)
    except LogError as error:
        raise ValueError(f"checkpoint: {error}") from error
    listing = proof.listing
    found = check_document(document, network or listing.network, LogHead(checkpoint.size, checkpoint.root))
    signed, fault = _signers(proof, checkpoint, keys)
    is_signer_known = any(key.kind is Kind.SIGNATURE for key in keys)
    is_valid = found.is_valid and fault is None and is_signer_known
    if is_valid:
        result = f"valid: the listing has {proof.total} rows, and this page {len(proof.rows)} of them"
    elif not found.is_valid or fault is not None:
        result = "invalid"
    else:
        result = f"{UNKNOWN}; all else is right"
    lines = [
        f"network     {listing.network}",
        f"listing     {listing.family.name}, key {listing.key.hex()}",
        f"log         {checkpoint.origin}, {checkpoint.size} records",
        *(f"proved      {claim}" for claim in found.claims),
        *([] if found.failure is None else [f"NOT proved  {found.failure}"]),
        f"signatures  {signed if fault is None else f'NOT sufficient: {fault}'}",
        result,
    ]
    return Verdict(is_valid, lines)


def _signers(proof: ListingProof, checkpoint: Checkpoint, keys: Sequence[VerifierKey]) -> tuple[str, str | None]:
    """Who signed the checkpoint, and what is wrong with the signatures; None if nothing is."""
    note = parse_note(proof.checkpoint.encode())
    logs = [key for key in keys if key.kind is Kind.SIGNATURE]
    witnesses = [key for key in keys if key.kind is Kind.COSIGNATURE]
    if not logs:
        return f"{UNKNOWN}: {HOW}", None
    signer = next((key for key in logs if any(key.is_of(each) for each in note.signatures)), logs[0])
    try:
        opened = open_checkpoint(bytes(note), checkpoint.origin, signer, witnesses)
    except LogError as error:
        return "", str(error)
    seen = {(each.name, each.key_id) for each in opened.cosignatures}
    if missing := [key.name for key in witnesses if (key.name, key.key_id) not in seen]:
        return "", f"expected a cosignature of {', '.join(missing)}"
    return ", ".join([signer.name, *(key.name for key in witnesses)]), None
