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
    hashes = [leaf_hash(each) for each in ids]
    while len(hashes) > 1:
        hashes = next_level(hashes)
    return hashes[0]


def leaf_hash(leaf: bytes) -> bytes:
    """The 32-byte hash that stands for an id at the tree's foot."""
    return blake2b(_LEAF + leaf, digest_size=32).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The 32-byte hash over two of a level below."""
    return blake2b(_NODE + left + right, digest_size=32).digest()


def next_level(hashes: Sequence[bytes]) -> list[bytes]:
    """The hashes over pairs, an odd last one moving up as is.

    Level by level this is what splitting at the largest power of two below the count gives.
    """
    pairs = [node_hash(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=False)]
    return [*pairs, *hashes[len(pairs) * 2 :]]
