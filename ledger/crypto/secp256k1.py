"""Recovers the signers' addresses from recoverable secp256k1 signatures.

Only this module imports coincurve (libsecp256k1). It calls the library's functions without coincurve's objects, which
take a fifth of the time of a recovery. An address is the last 20 bytes of the public key's Keccak-256, as in Ethereum.
"""

from collections.abc import Iterable

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

from ledger.crypto.hashes import keccak256

SIGNATURE_BYTES = 65
DIGEST_BYTES = 32

_KEY_BYTES = 65
_ADDRESSES_KEPT = 4_096

_context = GLOBAL_CONTEXT.ctx
_parse = lib.secp256k1_ecdsa_recoverable_signature_parse_compact
_recover = lib.secp256k1_ecdsa_recover
_serialize = lib.secp256k1_ec_pubkey_serialize

_addresses: dict[bytes, bytes] = {}
"""The addresses of keys in the library's own form, which is the same for equal keys. A few guardians sign most."""


def recover_addresses(digest: bytes, signatures: Iterable[bytes]) -> tuple[bytes | None, ...]:
    """The signers' 20-byte addresses, from signatures (r, s, each 32 bytes, then v, 0 or 1) of one 32-byte digest.

    None for an invalid signature, and for one or a digest of another length. A v of 2 or 3 is invalid, as in Ethereum's
    contracts, which add 27 to v.
    """
    parsed, key = ffi.new("secp256k1_ecdsa_recoverable_signature *"), ffi.new("secp256k1_pubkey *")
    form = ffi.buffer(key)
    serialized, size = ffi.new(f"unsigned char[{_KEY_BYTES}]"), ffi.new("size_t *", _KEY_BYTES)

    def address() -> bytes:
        own = form[:]
        known = _addresses.get(own)
        if known is None:
            _serialize(_context, serialized, size, key, lib.SECP256K1_EC_UNCOMPRESSED)
            known = keccak256(ffi.buffer(serialized)[1:])[12:]
            if len(_addresses) >= _ADDRESSES_KEPT:
                _addresses.clear()
            _addresses[own] = known
        return known

    found: list[bytes | None] = []
    for signature in signatures:
        # The library reads as many bytes as it needs, so lengths are checked here.
        is_valid = (
            len(signature) == SIGNATURE_BYTES
            and signature[64] <= 1
            and len(digest) == DIGEST_BYTES
            and _parse(_context, parsed, signature, signature[64])
            and _recover(_context, key, parsed, digest)
        )
        found.append(address() if is_valid else None)
    return tuple(found)


def recover_address(digest: bytes, signature: bytes) -> bytes | None:
    """The signer's 20-byte address, as `recover_addresses`."""
    return recover_addresses(digest, (signature,))[0]
