"""Merkle audit paths (TIP-4) from one id to the root of its tree, as values and as JSON.

Invariants:
1. A path contains the sibling hash of each level, from the leaf up, and the side of each sibling. It does not contain
   the number of ids: leaves and nodes use different hash prefixes, so a node never passes for a leaf.
2. The JSON is the tree that inx-poi and inx-chronicle write. A node has `l` and `r`: one is a hash (`h`), the other
   leads to the leaf (`value`). A tree of a single leaf has only `l`.
3. The parser rejects any other shape. The original accepts two values in one node, and such a tree can prove an id
   that its root does not contain.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ledger.crypto.merkle import leaf_hash, next_level, node_hash
from ledger.json_reader import JsonError, hex_member, nested, prefixed_hash

MAX_STEPS = 32
"""Levels of a tree of 2³² ids, the most that a 32-bit index can address."""

_Read: TypeAlias = Callable[[Any, str], bytes]


@dataclass(frozen=True, slots=True)
class Step:
    """One level of a path.

    Args:
        sibling: The sibling's hash, 32 bytes.
        is_left: Whether the sibling is the left child.
    """

    sibling: bytes
    is_left: bool


@dataclass(frozen=True, slots=True)
class AuditPath:
    """An id, 32 bytes, and the steps from its leaf up to the root."""

    leaf: bytes
    steps: tuple[Step, ...]

    @property
    def root(self) -> bytes:
        """The root that the path leads to. It is a tree's root only if the tree contains the leaf."""
        found = leaf_hash(self.leaf)
        for step in self.steps:
            found = node_hash(step.sibling, found) if step.is_left else node_hash(found, step.sibling)
        return found


def create_audit_path(ids: Sequence[bytes], position: int) -> AuditPath:
    """Creates the path of the id at `position` (from 0) in the ordered list `ids`.

    Raises:
        ValueError: There is no such position.
    """
    (path,) = create_audit_paths(ids, [position])
    return path


def create_audit_paths(ids: Sequence[bytes], positions: Sequence[int]) -> list[AuditPath]:
    """Creates the paths of several ids, in the order of `positions`. Hashes the tree once.

    Raises:
        ValueError: There is no such position.
    """
    for position in positions:
        if not 0 <= position < len(ids):
            raise ValueError(f"position: expected one of {len(ids)} ids, found {position}")
    if not positions:
        return []
    levels = [[leaf_hash(each) for each in ids]]
    while len(levels[-1]) > 1:
        levels.append(next_level(levels[-1]))
    return [AuditPath(ids[position], tuple(_steps_from(position, levels))) for position in positions]


def _steps_from(position: int, levels: Sequence[Sequence[bytes]]) -> Iterator[Step]:
    for hashes in levels:
        sibling = position ^ 1
        if sibling < len(hashes):
            yield Step(hashes[sibling], is_left=sibling < position)
        position //= 2


def audit_path_json(path: AuditPath, prefix: str) -> dict[str, Any]:
    """Renders a path as a tree. `prefix` precedes every hex text: `0x` in Stardust, empty in Chrysalis."""
    node: dict[str, Any] = {"value": prefix + path.leaf.hex()}
    if not path.steps:
        return {"l": node}
    for step in path.steps:
        sibling = {"h": prefix + step.sibling.hex()}
        node = {"l": sibling, "r": node} if step.is_left else {"l": node, "r": sibling}
    return node


def parse_audit_path_json(value: Any, prefix: str) -> AuditPath:
    """Parses a tree whose hex texts have this prefix. Raises JsonError."""
    read = prefixed_hash if prefix else _plain_hash
    if _keys(value) == {"l"}:
        return AuditPath(nested(value, "l", lambda node: read(node, "value")), ())
    leaf, steps = _parse_node(value, read, MAX_STEPS)
    return AuditPath(leaf, tuple(steps))


def _parse_node(node: Any, read: _Read, levels: int) -> tuple[bytes, list[Step]]:
    """The leaf, and the steps up to this node. `levels` limits the depth of the rest of the tree."""
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
