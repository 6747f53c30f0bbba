"""Ids as hashes. H = BLAKE2b-256.

The functions do not check their input. Sources: TIP-6 and TIP-7 (message, transaction, output), TIP-8 (milestone: the
whole payload with its signatures). In Stardust a block is a message (TIP-24), transaction and output ids are unchanged
(TIP-20), and a milestone's id is the hash that its signatures sign (TIP-29).
"""

from collections.abc import Iterable
from hashlib import blake2b


def message_id(message_bytes: bytes) -> bytes:
    """The 32-byte id of an encoded message: H of all its bytes, including the nonce."""
    return blake2b(message_bytes, digest_size=32).digest()


def transaction_id(payload_bytes: bytes) -> bytes:
    """The 32-byte id of an encoded transaction payload: H of type, essence and unlock blocks."""
    return blake2b(payload_bytes, digest_size=32).digest()


def milestone_id(payload_bytes: bytes) -> bytes:
    """The 32-byte id of an encoded milestone payload: H of type, essence and signatures."""
    return blake2b(payload_bytes, digest_size=32).digest()


def signing_hash(essence_bytes: bytes) -> bytes:
    """The 32 bytes that the signatures of a transaction or milestone essence sign."""
    return blake2b(essence_bytes, digest_size=32).digest()


def output_id(source_id: bytes, index: int) -> bytes:
    """The 34-byte id of the `index`-th output of a transaction, or of the `index`-th migrated fund of a milestone."""
    return source_id + index.to_bytes(2, "little")


def chain_id(output_id_bytes: bytes) -> bytes:
    """The 32-byte id of the alias or NFT that an output creates: H of the output id (TIP-18)."""
    return blake2b(output_id_bytes, digest_size=32).digest()


def inputs_commitment(outputs: Iterable[bytes]) -> bytes:
    """The inputs commitment of a Stardust transaction: H of the H of each encoded output that it spends (TIP-20)."""
    hashes = b"".join([blake2b(each, digest_size=32).digest() for each in outputs])
    return blake2b(hashes, digest_size=32).digest()


def ed25519_address(public_key: bytes) -> bytes:
    """The 33-byte serialized address of a public key: type 0, then H of the key (TIP-7)."""
    return b"\x00" + blake2b(public_key, digest_size=32).digest()


def network_id(id_name: str) -> int:
    """The number that identifies a network in messages: the first 8 bytes of H(name), little-endian."""
    return int.from_bytes(blake2b(id_name.encode(), digest_size=32).digest()[:8], "little")
