"""Merkle trees of RFC 6962 over SHA-256, proofs that consecutive leaves are part of one, and consistency proofs.

H(leaf) = SHA-256(00 ‖ leaf), H(node) = SHA-256(01 ‖ left ‖ right). A tree of n > 1 leaves splits at the largest power
of two below n. Trees are given as the hashes of their leaves.

One kind of proof serves all uses: a proof of the leaves from `start` to before `stop`. Of one leaf it has the hashes of
the audit path (RFC 9162 2.1.3), of two neighbours it shows that no leaf lies between them, of all leaves it is empty.
Its hashes come from left to right; an audit path has them from the leaf upwards (`beside_leaf`).

A root does not commit to the size of its tree: whoever checks a proof must know both from the same source.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256

HASH_BYTES = 32

EMPTY = sha256().digest()
"""The root of a tree without leaves."""


class ProofError(ValueError):
    """A proof does not have the form that its tree requires. The message says what was expected."""


def leaf_hash(leaf: bytes) -> bytes:
    """The 32-byte hash of a leaf of any length."""
    return sha256(b"\0" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The 32-byte hash of a node with two children."""
    return sha256(b"\1" + left + right).digest()


def tree_root(hashes: Sequence[bytes]) -> bytes:
    """The root of the tree with these leaf hashes."""
    level = list(hashes)
    if not level:
        return EMPTY
    while len(level) > 1:
        level = _level_above(level)
    return level[0]


def levels_of(hashes: Sequence[bytes]) -> list[list[bytes]]:
    """The nodes of the tree with these leaf hashes, at least one, by their level: first the leaves, last the root."""
    levels = [list(hashes)]
    while len(levels[-1]) > 1:
        levels.append(_level_above(levels[-1]))
    return levels


def _level_above(level: list[bytes]) -> list[bytes]:
    # The same tree as splitting at powers of two: an odd last node moves up unchanged.
    pairs = [sha256(b"\1" + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=False)]
    return [*pairs, *level[2 * len(pairs) :]]


def split(size: int) -> int:
    """The largest power of two below `size`, which is 2 or more: the number of leaves on the left."""
    return 1 << (size - 1).bit_length() - 1


def beside_range(size: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yields the subtrees whose roots are the proof of the leaves from `start` to before `stop` in a tree of `size`.

    A subtree is (place of its first leaf, number of its leaves). They come from left to right.
    """
    waiting = [(0, size)]
    while waiting:
        first, count = waiting.pop()
        if stop <= first or start >= first + count:
            yield first, count
        elif start > first or stop < first + count:
            left = split(count)
            waiting += ((first + left, count - left), (first, left))


def prove_range(hashes: Sequence[bytes], start: int, stop: int) -> list[bytes]:
    """Returns the proof of the leaves from `start` to before `stop`, at least one.

    It has the root of each largest subtree without any of these leaves, from left to right.

    Raises:
        ValueError: there are no such leaves.
    """
    if not 0 <= start < stop <= len(hashes):
        raise ValueError(f"expected leaves of {len(hashes)}, found {start} to {stop}")
    return [tree_root(hashes[first : first + count]) for first, count in beside_range(len(hashes), start, stop)]


def beside_leaf(size: int, index: int) -> list[tuple[int, int]]:
    """The subtrees of an audit path in its own order (RFC 9162 2.1.3): from the sibling of the leaf up to the root's
    child. A proof of one leaf has the same subtrees from left to right.
    """
    found = []
    first, count = 0, size
    while count > 1:
        left = split(count)
        if index < first + left:
            found.append((first + left, count - left))
            count = left
        else:
            found.append((first, left))
            first, count = first + left, count - left
    return found[::-1]


def from_left(size: int, index: int, path: Sequence[bytes]) -> list[bytes]:
    """Returns the audit path of a leaf in the order of `prove_range`: from left to right."""
    return [root for _, root in sorted(zip(beside_leaf(size, index), path, strict=True))]


def root_of_audit_path(size: int, index: int, leaf: bytes, path: Sequence[bytes]) -> bytes:
    """Returns the root to which the audit path of a leaf hash leads, as `root_of_range` does for a proof.

    Raises:
        ProofError: the path has more or fewer hashes than such a tree needs, or the leaf is not within it.
    """
    if not 0 <= index < size:
        raise ProofError(f"expected a leaf within a tree of {size}, found {index}")
    subtrees = beside_leaf(size, index)
    if len(path) != len(subtrees):
        raise ProofError(f"expected {len(subtrees)} hashes in the audit path, found {len(path)}")
    ordered = sorted(zip(subtrees, path, strict=True))
    return root_of_range(size, index, [leaf], [found for _, found in ordered])


def root_of_range(size: int, start: int, run: Sequence[bytes], proof: Sequence[bytes]) -> bytes:
    """Returns the root to which a proof leads. It is a tree's root only if the tree has these leaves at these places.

    Args:
        size: the number of the tree's leaves.
        start: the place of the first of the proved leaves.
        run: their hashes, at least one.
        proof: of `prove_range`.

    Raises:
        ProofError: the proof has more or fewer hashes than such a tree needs, or the leaves are not within it.
    """
    stop = start + len(run)
    if not 0 <= start < stop <= size:
        raise ProofError(f"expected leaves within a tree of {size}, found {start} to {stop}")
    rest = iter(proof)

    def root(first: int, count: int) -> bytes:
        if first + count <= start or first >= stop:
            found = next(rest, None)
            if found is None:
                raise ProofError("expected more hashes in the proof")
            return found
        if count == 1:
            return run[first - start]
        left = split(count)
        return node_hash(root(first, left), root(first + left, count - left))

    found = root(0, size)
    if next(rest, None) is not None:
        raise ProofError("expected fewer hashes in the proof")
    return found


def beside_older(newer: int, older: int) -> Iterator[tuple[int, int]]:
    """Yields the subtrees whose roots prove that a tree of `newer` leaves extends its first `older` leaves.

    A subtree is (place of its first leaf, number of its leaves). They come in the order of RFC 9162 2.1.4.1.
    """
    yield from _consistency(0, newer, older, is_known=True)


def _consistency(first: int, count: int, older: int, *, is_known: bool) -> Iterator[tuple[int, int]]:
    if older == first + count:
        if not is_known:
            yield first, count
        return
    left = split(count)
    if older <= first + left:
        yield from _consistency(first, left, older, is_known=is_known)
        yield first + left, count - left
    else:
        yield from _consistency(first + left, count - left, older, is_known=False)
        yield first, left


def prove_consistency(hashes: Sequence[bytes], older: int) -> list[bytes]:
    """Returns the proof that the tree of the first `older` leaves is a prefix of this one (RFC 9162 2.1.4.1).

    Raises:
        ValueError: the tree has fewer leaves, or `older` is 0.
    """
    if not 0 < older <= len(hashes):
        raise ValueError(f"expected a size from 1 to {len(hashes)}, found {older}")
    return [tree_root(hashes[first : first + count]) for first, count in beside_older(len(hashes), older)]


def is_consistent(older: int, newer: int, older_root: bytes, newer_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof of `prove_consistency` shows that a tree of `newer` leaves extends one of `older` leaves.

    Every tree extends the empty one, without a proof.
    """
    if older in {0, newer}:
        return not proof and (older != newer or older_root == newer_root)
    if not 0 < older < newer:
        return False
    rest = iter(proof)
    try:
        before, after = _roots(older, newer, rest, older_root if older & (older - 1) == 0 else None)
    except StopIteration:
        return False
    return next(rest, None) is None and (before, after) == (older_root, newer_root)


def _roots(older: int, newer: int, rest: Iterator[bytes], known: bytes | None) -> tuple[bytes, bytes]:
    """The roots of the first `older` leaves and of all `newer` leaves. `known`: that of the older ones, if the proof
    leaves it out because the whole older tree is one subtree.
    """
    if older == newer:
        found = known if known is not None else next(rest)
        return found, found
    middle = split(newer)
    if older <= middle:
        before, after = _roots(older, middle, rest, known)
        return before, node_hash(after, next(rest))
    before, after = _roots(older - middle, newer - middle, rest, None)
    left = next(rest)
    return node_hash(left, before), node_hash(left, after)


def packed_root(hashes: bytes) -> bytes:
    """`tree_root` of leaf hashes that follow each other in one value: about twice as fast for many."""
    if not hashes:
        return EMPTY
    while len(hashes) > HASH_BYTES:
        end = len(hashes) // (2 * HASH_BYTES) * (2 * HASH_BYTES)
        pairs = [sha256(b"\1" + hashes[at : at + 2 * HASH_BYTES]).digest() for at in range(0, end, 2 * HASH_BYTES)]
        hashes = b"".join(pairs) + hashes[end:]
    return hashes
