"""Signed VAAs, version 1, bytes ⇄ values, and the hashes of their bodies.

Rules of this file:
1. Layout only: the version, the lengths, nothing missing. Whether guardians signed is asked in `verify`. The payload
   is all that follows, so no byte can be too many. `encode_vaa(decode_vaa(data)) == data`, and out of bad bytes comes
   only CodecError, which names the field and the offset.
2. Integers are big-endian. Offsets: body at 6 + 66 n for n signatures, payload 51 bytes into the body.
3. The header is not signed: one message exists under several subsets of signatures, and re-signed by later sets. The
   digest of the body says whether two are the same message.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Signature:
    """What a guardian signed the digest with; `index` is its place in the set that the header names."""

    index: int
    signature: bytes  # r and s, 32 bytes each, and v, 0 or 1


@dataclass(frozen=True, slots=True)
class Vaa:
    """A message with its signatures; from `timestamp` on it is the body, which they sign."""

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
    """The VAA in `data`, all of it. Raises CodecError."""
    reader = Reader(data)
    (version,) = reader.unpack(_VERSION, "version")
    if version != VERSION:
        raise CodecError(0, f"version {VERSION}, found {version}")
    (guardian_set_index,) = reader.unpack(_SET_INDEX, "guardian set index")
    signatures = _signatures(reader)
    start = reader.offset
    if len(data) < start + _BODY.size:
        _refuse_body(reader)
    body: tuple[Any, ...] = (*reader.unpack(_BODY, "body"), data[reader.offset :])
    return Vaa(guardian_set_index, signatures, *body)


def decode_signatures(data: bytes) -> tuple[Signature, ...]:
    """The list in `data`, all of it: a count and so many signatures, as cells of VAAState:Signatures hold. Raises
    CodecError.
    """
    reader = Reader(data)
    signatures = _signatures(reader)
    reader.finish()
    return signatures


def _signatures(reader: Reader) -> tuple[Signature, ...]:
    (count,) = reader.unpack(_COUNT, "signatures count")
    return tuple([Signature(*reader.unpack(_SIGNATURE, f"signature {n} of {count}")) for n in range(1, count + 1)])


def _refuse_body(reader: Reader) -> None:
    for name, size in _BODY_FIELDS:
        reader.take(size, name)


def encode_vaa(vaa: Vaa) -> bytes:
    """The bytes that guardians publish."""
    header = _HEADER.pack(VERSION, vaa.guardian_set_index, len(vaa.signatures))
    return (
        header + b"".join([_SIGNATURE.pack(each.index, each.signature) for each in vaa.signatures]) + encode_body(vaa)
    )


def encode_body(vaa: Vaa) -> bytes:
    """The bytes that are signed, by way of their digest."""
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
    """Keccak-256 of the body: what some chains' contracts know a message by."""
    return keccak256(encode_body(vaa))


def digest(vaa: Vaa) -> bytes:
    """Keccak-256 of the body's hash: what guardians sign, and what duplicates are told apart by."""
    return keccak256(body_hash(vaa))
