"""Keys that sign notes: Ed25519 signatures of logs and timestamped cosignatures of witnesses.

The text forms are those of Go's package golang.org/x/mod/sumdb/note.
"""

import re
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import Self

from ledger.crypto import ed25519
from ledger.transparency.errors import LogError
from ledger.transparency.text import MAX_NUMBER, decode_base64, encode_base64

KEY_BYTES = 32
"""Of a public key, and of the seed that is a private key."""

SIGNATURE_BYTES = 64

TIMESTAMP_BYTES = 8

_PRIVATE = "PRIVATE+KEY+"


class Kind(IntEnum):
    """What a key signs. The value is the type byte of signed-note."""

    SIGNATURE = 1
    """The text of the note."""

    COSIGNATURE = 4
    """The text of a checkpoint and the time (tlog-cosignature)."""


@dataclass(frozen=True)
class Signature:
    """A line below the text of a note.

    Attributes:
        name: the name of the key.
        key_id: 4 bytes; with the name they identify the key and its kind.
        data: at least one byte. A cosignature begins with the timestamp.
    """

    name: str
    key_id: bytes
    data: bytes

    @property
    def line(self) -> str:
        """The line with its newline."""
        return f"— {self.name} {encode_base64(self.key_id + self.data)}\n"


def check_name(name: str) -> str:
    """Returns the name of a key.

    Raises:
        LogError: it is empty or contains a space, a control character or a plus sign.
    """
    if not name or "+" in name or any(char.isspace() or char < " " for char in name):
        raise LogError(f"expected a name of a key without spaces and plus signs, found {name[:80]!r}")
    return name


@dataclass(frozen=True)
class VerifierKey:
    """A public key, which verifies the signatures of one name.

    Raises:
        LogError: the name is invalid, or the key does not have 32 bytes.
    """

    name: str
    public_key: bytes
    kind: Kind = Kind.SIGNATURE

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.public_key) != KEY_BYTES:
            raise LogError(f"expected a public key of {KEY_BYTES} bytes, found {len(self.public_key)}")

    @property
    def key_id(self) -> bytes:
        """The 4 bytes that signatures of this key begin with."""
        return sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.public_key).digest()[:4]

    @property
    def text(self) -> str:
        """Name, key id in hex and Base64 of the type byte and the key, joined by plus signs."""
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(bytes([self.kind]) + self.public_key)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses the form of `text`.

        Raises:
            LogError: the text has another form, the kind is unknown, or the key id is not that of name and key.
        """
        kind, name, key_id, key = _parse_key(text)
        found = cls(name, key, kind)
        if found.key_id.hex() != key_id:
            raise LogError(f"expected the key id {found.key_id.hex()}, found {key_id!r}")
        return found

    def is_of(self, signature: Signature) -> bool:
        """Whether the signature claims to be of this key."""
        return (self.name, self.key_id) == (signature.name, signature.key_id)

    def verify(self, text: str, signature: Signature) -> bool:
        """Whether a signature that claims to be of this key is a valid one of this text."""
        if self.kind is Kind.SIGNATURE:
            return ed25519.verify_without_cofactor(self.public_key, text.encode(), signature.data)
        unix_time, rest = read_timestamp(signature), signature.data[TIMESTAMP_BYTES:]
        if unix_time is None:
            return False
        return ed25519.verify_without_cofactor(self.public_key, cosigned_message(text, unix_time), rest)


@dataclass(frozen=True)
class SigningKey:
    """A private key. Its representation in logs and errors does not show the seed.

    Attributes:
        name: of the key.
        seed: 32 secret random bytes.
        kind: what it signs.

    Raises:
        LogError: the name is invalid, or the seed does not have 32 bytes.
    """

    name: str
    seed: bytes = field(repr=False)
    kind: Kind = Kind.SIGNATURE

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.seed) != KEY_BYTES:
            raise LogError(f"expected a private key of {KEY_BYTES} bytes, found {len(self.seed)}")

    @property
    def verifier(self) -> VerifierKey:
        """The public key."""
        return VerifierKey(self.name, ed25519.public_key_of(self.seed), self.kind)

    @property
    def text(self) -> str:
        """The secret text of the key, which `parse` reads."""
        key_id = self.verifier.key_id.hex()
        return f"{_PRIVATE}{self.name}+{key_id}+{encode_base64(bytes([self.kind]) + self.seed)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses the form of `text`.

        Raises:
            LogError: the text has another form, the kind is unknown, or the key id is not that of name and key. The
                message contains nothing of the key.
        """
        if not text.startswith(_PRIVATE):
            raise LogError(f"expected a private key that begins with {_PRIVATE}")
        try:
            kind, name, key_id, seed = _parse_key(text.removeprefix(_PRIVATE))
        except LogError:
            raise LogError(f"expected a private key {_PRIVATE}NAME+ID+BASE64") from None
        found = cls(name, seed, kind)
        if found.verifier.key_id.hex() != key_id:
            raise LogError("expected another key id for this name and private key")
        return found

    def sign(self, text: str) -> Signature:
        """Signs the text of a note.

        Raises:
            ValueError: this key is of a witness.
        """
        if self.kind is not Kind.SIGNATURE:
            raise ValueError("a witness signs with a timestamp")
        return Signature(self.name, self.verifier.key_id, ed25519.sign(self.seed, text.encode()))

    def cosign(self, text: str, unix_time: int) -> Signature:
        """Signs the text of a checkpoint as a witness, at a time in seconds since 1970.

        Raises:
            ValueError: this key is not of a witness, or the time is negative or above 2^63 − 1.
        """
        if self.kind is not Kind.COSIGNATURE or not 0 <= unix_time <= MAX_NUMBER:
            raise ValueError("expected the key of a witness and a time since 1970")
        data = unix_time.to_bytes(TIMESTAMP_BYTES, "big") + ed25519.sign(self.seed, cosigned_message(text, unix_time))
        return Signature(self.name, self.verifier.key_id, data)


def cosigned_message(text: str, unix_time: int) -> bytes:
    """What a witness signs: a fixed line, the time, and the text of the checkpoint."""
    return f"cosignature/v1\ntime {unix_time}\n{text}".encode()


def read_timestamp(signature: Signature) -> int | None:
    """The time of a cosignature in seconds since 1970; None if the signature does not have the form of one."""
    unix_time = int.from_bytes(signature.data[:TIMESTAMP_BYTES], "big")
    is_long_enough = len(signature.data) == TIMESTAMP_BYTES + SIGNATURE_BYTES
    return unix_time if is_long_enough and unix_time <= MAX_NUMBER else None


def _parse_key(text: str) -> tuple[Kind, str, str, bytes]:
    """Kind, name, key id in hex and key."""
    found = re.fullmatch(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)", text)
    if not found:
        raise LogError(f"expected a key NAME+ID+BASE64, found {text[:80]!r}")
    name, key_id, encoded = found.groups()
    data = decode_base64(encoded)
    if data[0] not in set(Kind):
        raise LogError(f"expected a key of type 1 (Ed25519) or 4 (cosignatures), found {data[0]}")
    return Kind(data[0]), name, key_id, data[1:]
