"""Formats what is proved of a log, and the results of an audit."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from db.intervals import in_words
from etl.transparency.audit import AuditResult, Difference, Operator
from etl.transparency.partial_audit import PartialComparison
from ledger.crypto.log_tree import HASH_BYTES, leaf_hash
from ledger.transparency.checkpoint import Cosignature, parse_checkpoint, parse_origin
from ledger.transparency.errors import LogError
from ledger.transparency.keys import VerifierKey
from ledger.transparency.positions import index_of_milestone
from ledger.transparency.proof_file import parse_proof, verify_proof
from ledger.transparency.records import MilestoneRecord, Record, parse_record


def checked_lines(data: bytes, keys: Sequence[VerifierKey], witnesses: Sequence[VerifierKey]) -> list[str]:
    """Verifies the proof of a milestone and formats what is proved.

    Raises:
        SignatureError: a signature is invalid, or none is of one of the keys.
        LogError: the proof is invalid.
    """
    proof = parse_proof(data)
    if proof.extra is None:
        raise LogError("expected a proof with its record as extra data")
    checkpoint = parse_checkpoint(proof.checkpoint.text)
    network, first = parse_origin(checkpoint.origin)
    signers = [key for key in keys if any(key.is_of(each) for each in proof.checkpoint.signatures)] or list(keys)
    signed = verify_proof(proof, proof.extra, checkpoint.origin, signers[0], witnesses)
    record = parse_record(proof.extra)
    if not isinstance(record, MilestoneRecord) or index_of_milestone(first, record.index) != proof.index:
        raise LogError("expected the record of a milestone at its place in the log")
    return [
        f"network      {network}",
        f"milestone    {record.index}",
        f"id           {record.milestone_id.hex()}",
        f"time         {_time(record.unix_time)}",
        f"messages     {record.message_count:,}",
        f"record       {leaf_hash(proof.extra).hex()}",
        f"log          {checkpoint.origin}: record {proof.index:,} of {checkpoint.size:,}",
        f"signed by    {signers[0].name}",
        f"cosigned by  {cosignature_text(signed.cosignatures) or 'no known witness'}",
        "valid",
    ]


def cosignature_text(cosignatures: Sequence[Cosignature]) -> str:
    """Formats names and times of witnesses."""
    return ", ".join(f"{each.name} at {_time(each.unix_time)}" for each in cosignatures)


def audit_lines(result: AuditResult) -> list[str]:
    """Formats the result of an audit."""
    return [
        *(line for each in result.operators for line in _operator_lines(each, result.newest)),
        *(line for each in result.differences for line in _difference_lines(each)),
        *(line for each in result.partial for line in _partial_lines(each)),
        *(f"{one} and {other} have no milestone in common" for one, other in result.unshared),
        _verdict(result) if result.is_good else "the archives differ, a proof fails, or an archive cannot be read",
    ]


def _verdict(result: AuditResult) -> str:
    parts = f"; {len(result.partial)} comparisons in part" if result.partial else ""
    return f"no difference, all proofs are valid{parts}"


def _partial_lines(found: PartialComparison) -> Iterator[str]:
    yield f"{found.urls[0]} and {found.urls[1]}"
    yield f"  compared: {'; '.join(found.compared) or 'nothing'}"
    yield f"  not compared: {found.not_compared}"


def _operator_lines(operator: Operator, newest: int) -> Iterator[str]:
    yield operator.url
    if operator.origin:
        behind = f", {newest - operator.last:,} behind" if newest > operator.last else ""
        yield f"  {operator.origin}: {operator.size:,} records to milestone {operator.last:,}{behind}"
        trust = "" if operator.is_key_given else " (the key that the archive states)"
        yield f"  signed by {operator.verifier}{trust}"
    if operator.filters is not None:
        yield f"  keeps a selection: filters: {operator.filters}; milestones {in_words(operator.milestones)}"
        if not operator.origin and not operator.fault:
            yield "  has no signed log"
    if operator.witnesses:
        yield f"  cosigned by {', '.join(operator.witnesses)}"
    if operator.fault:
        yield f"  {'PROOF FAILS' if operator.is_read else 'CANNOT BE READ'}: {operator.fault}"


def _difference_lines(difference: Difference) -> Iterator[str]:
    from_or_to = "from milestone {:,} on" if difference.is_first else "at milestone {:,} or before it"
    yield f"DIFFERENT {from_or_to.format(difference.milestone)}: {difference.what}"
    for url, record in zip(difference.urls, difference.records, strict=True):
        is_hash = len(record) == 2 * HASH_BYTES
        yield f"  {url}: {record if is_hash else _record_text(parse_record(bytes.fromhex(record)))}"


def _record_text(record: Record) -> str:
    if isinstance(record, MilestoneRecord):
        return f"{record.milestone_id.hex()}, {record.message_count:,} messages of {_time(record.unix_time)}"
    return f"root {record.root.hex()}"


def _time(unix_time: int) -> str:
    return f"{datetime.fromtimestamp(unix_time, UTC):%Y-%m-%d %H:%M:%S} UTC"
