"""Checkpoints (C2SP tlog-checkpoint): the signed size and root of a log, and the cosignatures of witnesses."""

from collections.abc import Collection
from dataclasses import dataclass

from ledger.crypto.log_tree import EMPTY
from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.keys import Kind, SigningKey, VerifierKey, check_name, read_timestamp
from ledger.transparency.note import Note, make_note, parse_note, parse_signatures, verify_note
from ledger.transparency.text import decode_hash, encode_base64, parse_number

_FIRST_PART = "permanode"


@dataclass(frozen=True)
class Checkpoint:
    """The size and root of a log.

    Attributes:
        origin: the name of the log.
        size: the number of its records.
        root: 32 bytes.
        extensions: further lines without newlines, not empty. Our logs have none.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text that is signed."""
        lines = (self.origin, str(self.size), encode_base64(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse_checkpoint(text: str) -> Checkpoint:
    """Parses the text of a checkpoint without its signatures.

    Raises:
        LogError: the text has another form, or an empty log does not have the root of one.
    """
    *lines, last = text.split("\n")
    if len(lines) < 3 or last or not all(lines):
        raise LogError("expected at least three lines in a checkpoint, none of them empty")
    origin, size, root, *extensions = lines
    found = Checkpoint(origin, parse_number(size), decode_hash(root), tuple(extensions))
    if found.size == 0 and found.root != EMPTY:
        raise LogError("expected the root of an empty log for size 0")
    return found


def make_origin(network: str, first: int) -> str:
    """The origin of a network's log: `permanode/<network>/<first milestone>`.

    Raises:
        LogError: the name of the network has a slash, a plus sign or a space, or the index is not positive.
    """
    origin = f"{_FIRST_PART}/{network}/{first}"
    if parse_origin(origin) != (network, first):
        raise LogError(f"expected a network and its first milestone, found {origin[:80]!r}")
    return origin


def parse_origin(origin: str) -> tuple[str, int]:
    """The network and the first milestone of a log.

    Raises:
        LogError: the origin is not one of `make_origin`.
    """
    match check_name(origin).split("/"):
        case [part, network, first] if part == _FIRST_PART and network and parse_number(first) > 0:
            return network, parse_number(first)
    raise LogError(f"expected the origin {_FIRST_PART}/NETWORK/FIRST, found {origin[:80]!r}")


@dataclass(frozen=True)
class Cosignature:
    """A witness has seen the log extend all its earlier checkpoints.

    Attributes:
        name: of the witness.
        key_id: 4 bytes.
        unix_time: seconds since 1970.
    """

    name: str
    key_id: bytes
    unix_time: int


@dataclass(frozen=True)
class SignedCheckpoint:
    """A checkpoint with a valid signature of its log.

    Attributes:
        checkpoint: what is signed.
        note: the note that it was read from.
        cosignatures: those of known witnesses, all valid, in the order of the note.
    """

    checkpoint: Checkpoint
    note: Note
    cosignatures: tuple[Cosignature, ...]


def sign_checkpoint(checkpoint: Checkpoint, key: SigningKey) -> Note:
    """Returns the checkpoint as a note. The caller makes sure that it extends each one that the key signed before.

    Raises:
        LogError: the checkpoint has no valid text.
        ValueError: the key is of a witness.
    """
    if parse_checkpoint(checkpoint.text) != checkpoint:
        raise LogError("expected an origin and extensions of one line each")
    return make_note(checkpoint.text, key.sign(checkpoint.text))


def open_checkpoint(
    data: bytes, origin: str, log: VerifierKey, witnesses: Collection[VerifierKey] = ()
) -> SignedCheckpoint:
    """Parses and verifies a checkpoint.

    Args:
        data: the note.
        origin: that the checkpoint must have.
        log: the key that must have signed it.
        witnesses: known keys of kind COSIGNATURE. Signatures of other keys are ignored.

    Raises:
        SignatureError: the log's signature is missing, or one of a known key is invalid.
        LogError: the data are not a checkpoint, or one of another log.
        ValueError: a key has the wrong kind.
    """
    _check_kinds(witnesses)
    if log.kind is not Kind.SIGNATURE:
        raise ValueError("expected the key of a log")
    note = parse_note(data)
    signatures = verify_note(note, [log, *witnesses])
    if not any(log.is_of(each) for each in signatures):
        raise SignatureError(f"expected a signature of {log.name}")
    checkpoint = parse_checkpoint(note.text)
    if checkpoint.origin != origin:
        raise LogError(f"expected the origin {origin}, found {checkpoint.origin[:80]!r}")
    cosignatures = [
        Cosignature(each.name, each.key_id, unix_time)
        for each in signatures
        if not log.is_of(each) and (unix_time := read_timestamp(each)) is not None
    ]
    return SignedCheckpoint(checkpoint, note, tuple(cosignatures))


def add_cosignatures(note: Note, lines: bytes, witnesses: Collection[VerifierKey]) -> Note:
    """Returns a checkpoint with what witnesses returned for it, in place of their earlier cosignatures.

    Args:
        note: the checkpoint with the signature of its log.
        lines: the lines of signatures. Those of unknown keys are left out.
        witnesses: known keys of kind COSIGNATURE.

    Raises:
        SignatureError: a signature of a known witness is invalid, or no known witness signed.
        LogError: the lines do not have the form of signatures.
        ValueError: a key has the wrong kind.
    """
    _check_kinds(witnesses)
    added = verify_note(Note(note.text, parse_signatures(lines)), witnesses)
    latest = {(each.name, each.key_id): each for each in added}
    return parse_note(bytes(note.sign_with(*latest.values())))


def _check_kinds(witnesses: Collection[VerifierKey]) -> None:
    if any(each.kind is not Kind.COSIGNATURE for each in witnesses):
        raise ValueError("expected keys of witnesses")
