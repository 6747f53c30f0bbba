"""Hashes that other ledgers use and hashlib lacks, or need not have.

Rules of this file: the one importer of pycryptodome. FIPS 202's SHA3-256 is Keccak with another padding, so
`hashlib.sha3_256` gives other digests; SHA-512/256 is in hashlib only where OpenSSL has it.
"""

from Crypto.Hash import SHA512, keccak


def keccak256(data: bytes) -> bytes:
    """The 32-byte Keccak-256, as Ethereum and Wormhole hash."""
    return keccak.new(digest_bits=256, data=data).digest()


def sha512_256(data: bytes) -> bytes:
    """The 32-byte SHA-512/256 (FIPS 180-4), as Algorand hashes."""
    return SHA512.new(data, truncate="256").digest()
