"""Who signed: the address of the key that a recoverable secp256k1 signature was made with.

Rules of this file: the one importer of coincurve (libsecp256k1). An address is the last 20 bytes of Keccak-256 of the
public key, as Ethereum has it.
"""

from functools import lru_cache

from coincurve import PublicKey

from ledger.crypto.hashes import keccak256

SIGNATURE_BYTES = 65


@lru_cache(maxsize=4096)
def _address(public_key: bytes) -> bytes:
    # Guardians are few and sign everything: hashing a key costs a sixth of recovering it.
    return keccak256(public_key[1:])[12:]


def recover_address(digest: bytes, signature: bytes) -> bytes | None:
    """The 20-byte address behind a signature (r, s, each 32 bytes, then v, 0 or 1) of a 32-byte digest.

    None for a signature that no key can have made. As in Ethereum's contracts, which add 27 to v, 2 and 3 are none.
    """
    if signature[64] > 1:
        return None
    try:
        key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except ValueError:
        return None
    return _address(key.format(compressed=False))
