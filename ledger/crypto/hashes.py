"""Hash functions of other ledgers that hashlib does not always have.

This is the only module that imports pycryptodome. Keccak-256 is not `hashlib.sha3_256`: FIPS 202 changed the padding.
`hashlib` has SHA-512/256 only if OpenSSL does.
"""

from Crypto.Hash import SHA512, keccak


def keccak256(data: bytes) -> bytes:
    """The 32-byte Keccak-256 digest, as used by Ethereum and Wormhole."""
    return keccak.new(digest_bits=256, data=data).digest()


def sha512_256(data: bytes) -> bytes:
    """The 32-byte SHA-512/256 digest (FIPS 180-4), as used by Algorand."""
    return SHA512.new(data, truncate="256").digest()
