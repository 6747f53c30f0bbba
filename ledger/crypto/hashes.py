"""Hash functions of other ledgers that hashlib does not always have.

This is the only module that imports pycryptodome. Keccak-256 is not `hashlib.sha3_256`: FIPS 202 changed the padding.
It is computed in one call of pycryptodome's C function; with its hash object it takes three times as long.
`hashlib` has SHA-512/256 only if OpenSSL does.
"""

from Crypto.Hash import SHA512
from Crypto.Hash.keccak import _raw_keccak_lib
from Crypto.Util._raw_api import ffi

_DIGEST_BYTES, _CAPACITY_BYTES, _ROUNDS, _PADDING = 32, 64, 24, 1

_hash = _raw_keccak_lib.keccak_oneshot
_digest = ffi.typeof(f"uint8_t[{_DIGEST_BYTES}]")


def keccak256(data: bytes) -> bytes:
    """The 32-byte Keccak-256 digest, as used by Ethereum and Wormhole."""
    found = ffi.new(_digest)
    _hash(data, len(data), found, _DIGEST_BYTES, _CAPACITY_BYTES, _ROUNDS, _PADDING)
    return bytes(ffi.buffer(found))


def sha512_256(data: bytes) -> bytes:
    """The 32-byte SHA-512/256 digest (FIPS 180-4), as used by Algorand."""
    return SHA512.new(data, truncate="256").digest()
