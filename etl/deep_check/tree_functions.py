"""Hashes of the trees that prove listings complete (ledger/completeness), as functions of queries."""

from collections.abc import Mapping

import pyarrow as pa

from etl.deep_check.functions import Function
from ledger.completeness.tiles import paths_of
from ledger.completeness.trees import Child, children_root, groups_of
from ledger.crypto.log_tree import leaf_hash, tree_root

_BYTES, _LIST, _NUMBERS = pa.binary(), pa.list_(pa.binary()), pa.list_(pa.int64())


def _root_of_children(level: int, numbers: list[int], counts: list[int], roots: list[bytes]) -> bytes:
    return children_root(level, map(Child, numbers, counts, roots))


TREE_FUNCTIONS: Mapping[str, Function] = {
    # The root over leaves, over the groups of a key's rows, over hashes, and of a key that several children have.
    "root_of_leaves": Function((_LIST,), _BYTES, lambda leaves: tree_root([leaf_hash(each) for each in leaves])),
    "root_of_rows": Function((_LIST,), _BYTES, lambda rows: tree_root(groups_of(rows))),
    "root_of_hashes": Function((_LIST,), _BYTES, tree_root),
    "root_of_children": Function((pa.int64(), _NUMBERS, _NUMBERS, _LIST), _BYTES, _root_of_children),
    # The audit path of each tile, from the roots of all tiles.
    "paths_of_tiles": Function((_LIST,), _LIST, lambda roots: [*paths_of(roots)]),
}
"""By name."""
