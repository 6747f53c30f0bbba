"""Proofs that a record is in a log, as one text (C2SP tlog-proof), with the extension `.tlog-proof`.

Invariant: a parsed proof has exactly one form, so `bytes(parse_proof(data)) == data`.
"""

from collections.abc import Collection
from dataclasses import dataclass

from ledger.crypto.log_tree import leaf_hash, root_of_audit_path
from ledger.transparency.checkpoint import SignedCheckpoint, open_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.keys import VerifierKey
from ledger.transparency.note import MAX_BYTES, Note, parse_note
from ledger.transparency.text import decode_base64, decode_hash, encode_base64, parse_number

_HEADER = "c2sp.org/tlog-proof@v1"

MAX_PATH = 63
"""Hashes of the longest audit path."""


@dataclass(frozen=True)
class LogProof:
    """A proof that has not been verified.

    Attributes:
        index: of the record in the log.
        path: the audit path, from the record's sibling up to the root's child.
        checkpoint: the signed checkpoint.
        extra: other data; None if the proof has no such line. Nothing proves them.
    """

    index: int
    path: tuple[bytes, ...]
    checkpoint: Note
    extra: bytes | None = None

    def __bytes__(self) -> bytes:
        extra = [] if self.extra is None else [f"extra {encode_base64(self.extra)}"]
        lines = (_HEADER, *extra, f"index {self.index}", *map(encode_base64, self.path), "")
        return "".join(f"{line}\n" for line in lines).encode() + bytes(self.checkpoint)


def parse_proof(data: bytes) -> LogProof:
    """Parses a `.tlog-proof`.

    Raises:
        LogError: the data do not have this form.
    """
    if len(data) > 2 * MAX_BYTES:
        raise LogError(f"expected a proof of at most {2 * MAX_BYTES} bytes, found {len(data)}")
    head, separator, checkpoint = data.partition(b"\n\n")
    try:
        header, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise LogError("expected a proof in ASCII") from None
    if header != _HEADER or not separator:
        raise LogError(f"expected a proof that begins with {_HEADER} and has an empty line before its checkpoint")
    extra = None
    if lines and lines[0].startswith("extra "):
        extra = decode_base64(lines.pop(0).removeprefix("extra "))
    if not lines or not lines[0].startswith("index ") or len(lines) > 1 + MAX_PATH:
        raise LogError(f"expected the index of the record and at most {MAX_PATH} hashes")
    index = parse_number(lines[0].removeprefix("index "))
    return LogProof(index, tuple(map(decode_hash, lines[1:])), parse_note(checkpoint), extra)


def verify_proof(
    proof: LogProof, record: bytes, origin: str, log: VerifierKey, witnesses: Collection[VerifierKey] = ()
) -> SignedCheckpoint:
    """Verifies that the record is in the log, and returns the verified checkpoint with the cosignatures of witnesses.

    Args:
        proof: parsed by `parse_proof`.
        record: the record.
        origin: that the log must have.
        log: the key of the log.
        witnesses: known keys of witnesses. How many must have signed is the caller's decision.

    Raises:
        SignatureError: the signature of the log is missing, or one of a known key is invalid.
        LogError: the proof does not lead to the root of the checkpoint, or is of another log.
    """
    signed = open_checkpoint(bytes(proof.checkpoint), origin, log, witnesses)
    try:
        root = root_of_audit_path(signed.checkpoint.size, proof.index, leaf_hash(record), proof.path)
    except ValueError as error:
        raise LogError(str(error)) from error
    if root != signed.checkpoint.root:
        raise LogError(f"the record is not record {proof.index} of the log")
    return signed
