"""Signed notes (C2SP signed-note): a text, an empty line, and lines of signatures.

Invariant: a parsed note has exactly one form, so `bytes(parse_note(data)) == data`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.keys import Signature, VerifierKey, check_name
from ledger.transparency.text import decode_base64

MAX_BYTES = 1_000_000
"""Of a note, as in Go's package note."""

MAX_SIGNATURES = 100
"""Of a note, as in Go's package note. The specification requires at least 16."""

_KEY_ID_BYTES = 4


@dataclass(frozen=True)
class Note:
    """A text that ends with a newline, and its signatures. Nothing is verified yet."""

    text: str
    signatures: tuple[Signature, ...]

    def __bytes__(self) -> bytes:
        return f"{self.text}\n{''.join(each.line for each in self.signatures)}".encode()

    def sign_with(self, *signatures: Signature) -> "Note":
        """The note with more signatures. One of the same key is replaced."""
        replaced = {(each.name, each.key_id) for each in signatures}
        kept = [each for each in self.signatures if (each.name, each.key_id) not in replaced]
        return Note(self.text, (*kept, *signatures))


def make_note(text: str, *signatures: Signature) -> Note:
    """Returns a note that `parse_note` accepts.

    Raises:
        LogError: the text does not end with a newline or contains other control characters, or there is no signature.
    """
    return parse_note(bytes(Note(text, signatures)))


def parse_note(data: bytes) -> Note:
    """Parses a note.

    Raises:
        LogError: the data are too large, not UTF-8, contain control characters, or do not have the form of a note.
    """
    if len(data) > MAX_BYTES:
        raise LogError(f"expected a note of at most {MAX_BYTES} bytes, found {len(data)}")
    # The last empty line ends the text, so a text may contain empty lines.
    text, separator, lines = _decode(data).rpartition("\n\n")
    if not separator:
        raise LogError("expected an empty line between the text and the signatures of a note")
    return Note(f"{text}\n", _parse_lines(lines))


def parse_signatures(data: bytes) -> tuple[Signature, ...]:
    """Parses lines of signatures alone, as a witness returns them.

    Raises:
        LogError: a line does not have the form of a signature, or there are none or too many.
    """
    if len(data) > MAX_BYTES:
        raise LogError(f"expected at most {MAX_BYTES} bytes of signatures, found {len(data)}")
    return _parse_lines(_decode(data))


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> tuple[Signature, ...]:
    """Returns the signatures of the given keys, all valid, in the order of the note. Others are ignored.

    Raises:
        SignatureError: a signature of one of these keys is invalid, or no key has signed the note.
        ValueError: two keys have the same name and key id.
    """
    known: dict[tuple[str, bytes], VerifierKey] = {}
    for key in keys:
        if known.setdefault((key.name, key.key_id), key) != key:
            raise ValueError(f"two keys have the name {key.name} and the key id {key.key_id.hex()}")
    found = []
    for signature in note.signatures:
        signer = known.get((signature.name, signature.key_id))
        if signer is None:
            continue
        if not signer.verify(note.text, signature):
            raise SignatureError(f"invalid signature of {signature.name}")
        found.append(signature)
    if not found:
        raise SignatureError("expected a signature of a known key")
    return tuple(found)


def _decode(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise LogError("expected a note in UTF-8") from None
    if any(char < " " and char != "\n" for char in text):
        raise LogError("expected a note without control characters")
    return text


def _parse_lines(text: str) -> tuple[Signature, ...]:
    *lines, last = text.split("\n")
    if last or not 0 < len(lines) <= MAX_SIGNATURES:
        raise LogError(f"expected 1 to {MAX_SIGNATURES} lines of signatures, each with a newline")
    return tuple(_parse_line(line) for line in lines)


def _parse_line(line: str) -> Signature:
    dash, _, rest = line.partition(" ")
    name, _, encoded = rest.partition(" ")
    if dash != "—":
        raise LogError(f"expected a line of a signature, found {line[:80]!r}")
    data = decode_base64(encoded)
    if len(data) <= _KEY_ID_BYTES:
        raise LogError(f"expected a signature after the key id, found {line[:80]!r}")
    return Signature(check_name(name), data[:_KEY_ID_BYTES], data[_KEY_ID_BYTES:])
