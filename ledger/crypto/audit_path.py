"""Audit paths: what leads from one id to the Merkle root over many of them (TIP-4), as values and as JSON.

Rules of this file:
1. A path is the sibling's hash of each level, from the leaf up, and on which side it stands; that is all there is to
   change in one. The ids' count is not part of it: leaves and nodes are hashed apart, so no node passes for a leaf.
2. JSON is the tree that inx-poi and inx-chronicle write: a node has `l` and `r`, of which one is a hash (`h`) and the
   other the way to the leaf, in the end `value`; where the leaf is the whole tree, there is only `l`. Parsing takes
   nothing else: theirs takes two values, and then a tree may vouch for an id that its root does not hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ledger.crypto.merkle import leaf_hash, next_level, node_hash
from ledger.json_reader import JsonError, hex_member, nested, prefixed_hash

MAX_STEPS = 32
"""Levels of a tree over 2³² ids, as many as an index of theirs can count."""

_Read: TypeAlias = Callable[[Any, str], bytes]


@dataclass(frozen=True, slots=True)
class Step:
    """One level: the sibling's hash, 32 bytes, and whether it stands left."""

    sibling: bytes
    is_left: bool


@dataclass(frozen=True, slots=True)
class AuditPath:
    """An id, 32 bytes, and the steps from its leaf up to the root."""

    leaf: bytes
    steps: tuple[Step, ...]

    @property
    def root(self) -> bytes:
        """The root that it leads to: of a tree that holds the leaf, where it is a root at all."""
        found = leaf_hash(self.leaf)
        for step in self.steps:
            found = node_hash(step.sibling, found) if step.is_left else node_hash(found, step.sibling)
        return found


def create_audit_path(ids: Sequence[bytes], position: int) -> AuditPath:
    """The path of the id at that position, 0 for the first, among ids in order. ValueError where there is none."""
    if not 0 <= position < len(ids):
        raise ValueError(f"position: expected one of {len(ids)} ids, found {position}")
    leaf, steps = ids[position], []
    hashes = [leaf_hash(each) for each in ids]
    while len(hashes) > 1:
        sibling = position ^ 1
        if sibling < len(hashes):
            steps.append(Step(hashes[sibling], is_left=sibling < position))
        hashes = next_level(hashes)
        position //= 2
    return AuditPath(leaf, tuple(steps))


def audit_path_json(path: AuditPath, prefix: str) -> dict[str, Any]:
    """The tree of a path; `prefix` of its hex: 0x in Stardust, none in Chrysalis."""
    node: dict[str, Any] = {"value": prefix + path.leaf.hex()}
    if not path.steps:
        return {"l": node}
    for step in path.steps:
        sibling = {"h": prefix + step.sibling.hex()}
        node = {"l": sibling, "r": node} if step.is_left else {"l": node, "r": sibling}
    return node


def parse_audit_path_json(value: Any, prefix: str) -> AuditPath:
    """The path of such a tree, its hex with that prefix. Raises JsonError."""
    read = prefixed_hash if prefix else _plain_hash
    if _keys(value) == {"l"}:
        return AuditPath(nested(value, "l", lambda node: read(node, "value")), ())
    leaf, steps = _parse_node(value, read, MAX_STEPS)
    return AuditPath(leaf, tuple(steps))


def _parse_node(node: Any, read: _Read, levels: int) -> tuple[bytes, list[Step]]:
    """The leaf and the steps to the node, which stands above at most so many levels."""
    if levels == 0:
        raise JsonError("", f"a value below at most {MAX_STEPS} nodes")
    if _keys(node) != {"l", "r"}:
        raise JsonError("", "a node of l and r")
    hashed = [side for side in ("l", "r") if _keys(node[side]) == {"h"}]
    if len(hashed) != 1:
        raise JsonError("", f"a hash as one of l and r, found {len(hashed)}")
    (side,) = hashed
    onward = "r" if side == "l" else "l"
    step = Step(nested(node, side, lambda sibling: read(sibling, "h")), is_left=side == "l")
    if _keys(node[onward]) == {"value"}:
        return nested(node, onward, lambda leaf: read(leaf, "value")), [step]
    leaf, steps = nested(node, onward, lambda below: _parse_node(below, read, levels - 1))
    return leaf, [*steps, step]


def _keys(value: Any) -> set[str]:
    return set(value) if type(value) is dict else set()


def _plain_hash(obj: Any, key: str) -> bytes:
    return hex_member(obj, key, 32)
