"""Recovers the signer's address from a recoverable secp256k1 signature.

Only this module imports coincurve (libsecp256k1). An address is the last 20 bytes of the public key's Keccak-256,
as in Ethereum.
"""

from functools import lru_cache

from coincurve import PublicKey

from ledger.crypto.hashes import keccak256

SIGNATURE_BYTES = 65


@lru_cache(maxsize=4096)
def _address(public_key: bytes) -> bytes:
    # A few guardians sign everything, and hashing a key costs a sixth of recovering it.
    return keccak256(public_key[1:])[12:]


def recover_address(digest: bytes, signature: bytes) -> bytes | None:
    """The signer's 20-byte address, from a signature (r, s, each 32 bytes, then v, 0 or 1) of a 32-byte digest.

    None for an invalid signature. A v of 2 or 3 is invalid, as in Ethereum's contracts, which add 27 to v.
    """
    if signature[64] > 1:
        return None
    try:
        key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except ValueError:
        return None
    return _address(key.format(compressed=False))
