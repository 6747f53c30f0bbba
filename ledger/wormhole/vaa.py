"""Encodes and decodes signed VAAs (version 1), and hashes their bodies.

Invariants:
1. Decoding checks the layout only: version, lengths, nothing missing. `verify` checks the signatures. The payload is
   everything after the body's head, so there are no trailing bytes. `encode_vaa(decode_vaa(data)) == data`, and bad
   bytes raise only CodecError, which names the field and the offset.
2. Integers are big-endian. The body begins at 6 + 66 n for n signatures, the payload 51 bytes into the body.
3. The header is not signed, so one message exists with different subsets of signatures, and re-signed by later sets.
   Two VAAs are the same message if the digests of their bodies are equal.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Any, NamedTuple

from ledger.crypto.hashes import keccak256
from ledger.crypto.secp256k1 import SIGNATURE_BYTES
from ledger.reader import CodecError, Reader

VERSION = 1

_VERSION = Struct(">B")
_SET_INDEX = Struct(">I")
_COUNT = Struct(">B")
_HEADER = Struct(">BIB")  # version, guardian set index, signatures count
_SIGNATURE = Struct(f">B{SIGNATURE_BYTES}s")  # guardian index; r, s, v
_BODY = Struct(">IIH32sQB")
_BODY_FIELDS = (
    ("timestamp", 4),
    ("nonce", 4),
    ("emitter chain", 2),
    ("emitter address", 32),
    ("sequence", 8),
    ("consistency level", 1),
)


class Signature(NamedTuple):
    """A guardian's signature of the digest. `place` is the guardian's index in the set that the header names."""

    place: int
    signature: bytes  # r and s, 32 bytes each, and v, 0 or 1


@dataclass(frozen=True, slots=True)
class Vaa:
    """A message with its signatures. The fields from `timestamp` on are the body, which the guardians sign."""

    guardian_set_index: int
    signatures: tuple[Signature, ...]
    timestamp: int  # unix seconds; 0 in many governance messages
    nonce: int
    emitter_chain: int
    emitter_address: bytes
    sequence: int  # unsigned, 64 bits
    consistency_level: int
    payload: bytes


def decode_vaa(data: bytes) -> Vaa:
    """Decodes a VAA. Raises CodecError."""
    reader = Reader(data)
    (version,) = reader.unpack(_VERSION, "version")
    if version != VERSION:
        raise CodecError(0, f"version {VERSION}, found {version}")
    (guardian_set_index,) = reader.unpack(_SET_INDEX, "guardian set index")
    signatures = _signatures(reader)
    start = reader.offset
    if len(data) < start + _BODY.size:
        _reject_body(reader)
    body: tuple[Any, ...] = (*reader.unpack(_BODY, "body"), data[reader.offset :])
    return Vaa(guardian_set_index, signatures, *body)


def decode_signatures(data: bytes) -> tuple[Signature, ...]:
    """Decodes a list of signatures, as in cells of VAAState:Signatures: a count, then the signatures. Raises
    CodecError, also for trailing bytes.
    """
    reader = Reader(data)
    signatures = _signatures(reader)
    reader.finish()
    return signatures


def _signatures(reader: Reader) -> tuple[Signature, ...]:
    (count,) = reader.unpack(_COUNT, "signatures count")
    size = count * _SIGNATURE.size
    if reader.end - reader.offset < size:
        _reject_signatures(reader, count)
    data = reader.take(size, "signatures")
    return tuple(map(Signature._make, _SIGNATURE.iter_unpack(data)))


def _reject_signatures(reader: Reader, count: int) -> None:
    for number in range(1, count + 1):
        reader.take(_SIGNATURE.size, f"signature {number} of {count}")


def _reject_body(reader: Reader) -> None:
    for name, size in _BODY_FIELDS:
        reader.take(size, name)


def encode_vaa(vaa: Vaa) -> bytes:
    """Encodes the bytes that guardians publish."""
    header = _HEADER.pack(VERSION, vaa.guardian_set_index, len(vaa.signatures))
    return (
        header + b"".join([_SIGNATURE.pack(each.place, each.signature) for each in vaa.signatures]) + encode_body(vaa)
    )


def encode_body(vaa: Vaa) -> bytes:
    """Encodes the body, whose digest is signed."""
    return (
        _BODY.pack(
            vaa.timestamp,
            vaa.nonce,
            vaa.emitter_chain,
            vaa.emitter_address,
            vaa.sequence,
            vaa.consistency_level,
        )
        + vaa.payload
    )


def body_hash(vaa: Vaa) -> bytes:
    """The Keccak-256 of the body, which identifies the message in contracts of some chains."""
    return keccak256(encode_body(vaa))


def digest(vaa: Vaa) -> bytes:
    """The Keccak-256 of the body's hash. Guardians sign it, and it identifies duplicates."""
    return keccak256(body_hash(vaa))
