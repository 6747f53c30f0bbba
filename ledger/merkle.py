"""The Merkle tree hash that a milestone commits to (TIP-4). H = BLAKE2b-256."""

from collections.abc import Sequence
from hashlib import blake2b

_LEAF, _NODE = b"\0", b"\1"


def merkle_root(ids: Sequence[bytes]) -> bytes:
    """The 32-byte root over ids in order; H of nothing for none.

    Over the messages that changed the ledger, in white-flag order: a Chrysalis milestone's inclusion Merkle proof.
    """
    if not ids:
        return blake2b(digest_size=32).digest()
    hashes = [blake2b(_LEAF + each, digest_size=32).digest() for each in ids]
    # Splitting at the largest power of two below the count is pairing level by level, an odd last one moving up as is.
    while len(hashes) > 1:
        pairs = [
            blake2b(_NODE + left + right, digest_size=32).digest()
            for left, right in zip(hashes[::2], hashes[1::2], strict=False)
        ]
        hashes = pairs + hashes[len(pairs) * 2 :]
    return hashes[0]
