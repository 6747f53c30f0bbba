"""The Merkle tree hash that a milestone commits to (TIP-4). H = BLAKE2b-256."""

from collections.abc import Sequence
from hashlib import blake2b

_LEAF, _NODE = b"\0", b"\1"


def merkle_root(ids: Sequence[bytes]) -> bytes:
    """The 32-byte Merkle root of ids in order. Without ids it is the hash of the empty string.

    The inclusion Merkle proof of a Chrysalis milestone is the root of the messages that changed the ledger, in
    white-flag order.
    """
    if not ids:
        return blake2b(digest_size=32).digest()
    hashes = [leaf_hash(each) for each in ids]
    while len(hashes) > 1:
        hashes = next_level(hashes)
    return hashes[0]


def leaf_hash(leaf: bytes) -> bytes:
    """The 32-byte hash of a leaf, which is an id."""
    return blake2b(_LEAF + leaf, digest_size=32).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The 32-byte hash of a node with two children."""
    return blake2b(_NODE + left + right, digest_size=32).digest()


def next_level(hashes: Sequence[bytes]) -> list[bytes]:
    """Hashes pairs of one level. An odd last hash moves up unchanged.

    Repeating this gives the same root as splitting at the largest power of two below the count.
    """
    pairs = [node_hash(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=False)]
    return [*pairs, *hashes[len(pairs) * 2 :]]
