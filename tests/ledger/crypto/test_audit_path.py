"""Audit paths: each leads to the root, a changed one never does, and no other JSON is accepted as a path."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.crypto.audit_path import (
    MAX_STEPS,
    AuditPath,
    Step,
    audit_path_json,
    create_audit_path,
    parse_audit_path_json,
)
from ledger.crypto.merkle import merkle_root
from ledger.json_reader import JsonError
from tests.inclusion import folded, raw, root, tree

IDS = st.binary(min_size=32, max_size=32)
LEAVES = st.lists(IDS, min_size=1, max_size=70, unique=True)
PREFIXES = st.sampled_from(["", "0x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | IDS.map(bytes.hex),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["l", "r", "h", "value", "x"]), inner),
    max_leaves=12,
)


@given(LEAVES, PREFIXES)
def test_the_path_of_every_leaf_is_as_defined_and_leads_to_the_root(leaves: list[bytes], prefix: str) -> None:
    for position, leaf in enumerate(leaves):
        path = create_audit_path(leaves, position)
        assert (path.leaf, path.root) == (leaf, root(leaves))
        assert audit_path_json(path, prefix) == tree(leaves, position, prefix)
        assert folded(audit_path_json(path, prefix)) == (merkle_root(leaves), [leaf])
        assert parse_audit_path_json(tree(leaves, position, prefix), prefix) == path


def test_a_leaf_that_is_the_whole_tree_has_no_steps() -> None:
    leaf = bytes(range(32))
    path = create_audit_path([leaf], 0)
    assert path == AuditPath(leaf, ())
    assert path.root == merkle_root([leaf])
    assert audit_path_json(path, "0x") == {"l": {"value": f"0x{leaf.hex()}"}}


@pytest.mark.parametrize(("count", "position"), [(0, 0), (1, 1), (3, -1), (3, 3)])
def test_a_position_without_an_id_is_rejected(count: int, position: int) -> None:
    with pytest.raises(ValueError, match="position: expected one of"):
        create_audit_path([bytes(32)] * count, position)


def flipped(data: bytes, bit: int) -> bytes:
    return (int.from_bytes(data, "big") ^ 1 << bit).to_bytes(32, "big")


BITS = st.integers(0, 255)


@given(LEAVES, st.data())
def test_a_changed_path_never_leads_to_the_root(leaves: list[bytes], data: st.DataObject) -> None:
    path = create_audit_path(leaves, data.draw(st.integers(0, len(leaves) - 1)))
    steps, changed = path.steps, []
    changed.append(replace(path, leaf=flipped(path.leaf, data.draw(BITS))))
    changed.append(replace(path, steps=(*steps, Step(data.draw(IDS), is_left=data.draw(st.booleans())))))
    for at, step in enumerate(steps):
        others: Sequence[tuple[Step, ...]] = (
            (replace(step, sibling=flipped(step.sibling, data.draw(BITS))),),
            (replace(step, is_left=not step.is_left),),
            (),
            (step, step),
        )
        changed += [replace(path, steps=steps[:at] + other + steps[at + 1 :]) for other in others]
    assert path.root == merkle_root(leaves)
    for each in changed:
        assert each.root != path.root
    assert path.root != flipped(merkle_root(leaves), data.draw(BITS))


@given(st.lists(IDS, min_size=2, max_size=70, unique=True), st.data())
def test_the_path_of_one_leaf_is_not_another_s(leaves: list[bytes], data: st.DataObject) -> None:
    one, other = data.draw(st.lists(st.integers(0, len(leaves) - 1), min_size=2, max_size=2, unique=True))
    moved = replace(create_audit_path(leaves, one), leaf=leaves[other])
    assert moved.root != merkle_root(leaves)


@given(VALUES, PREFIXES)
def test_other_json_is_rejected_with_the_one_error(value: Any, prefix: str) -> None:
    try:
        path = parse_audit_path_json(value, prefix)
    except JsonError:
        return
    assert folded(value) == (path.root, [path.leaf])


LEAF, OTHER = {"value": "0x" + "ab" * 32}, {"h": "0x" + "cd" * 32}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "value: expected a node of l and r"),
        ({}, "value: expected a node of l and r"),
        (LEAF, "value: expected a node of l and r"),
        (OTHER, "value: expected a node of l and r"),
        ({"r": LEAF}, "value: expected a node of l and r"),
        ({"l": OTHER}, "l.value: expected a value, found none"),
        ({"l": {"l": LEAF}}, "l.value: expected a value, found none"),
        ({"l": {"value": "ab" * 32}}, "l.value: expected 0x and 64 hex digits"),
        ({"l": LEAF, "r": LEAF}, "value: expected a hash as one of l and r, found 0"),
        ({"l": OTHER, "r": OTHER}, "value: expected a hash as one of l and r, found 2"),
        ({"l": OTHER, "r": {"l": LEAF, "r": None}}, "r: expected a hash as one of l and r, found 0"),
        ({"l": OTHER, "r": {"l": LEAF, "r": {"h": "0x"}}}, "r.r.h: expected 0x and 64 hex digits"),
        ({"l": OTHER, "r": {"l": {"value": 1}, "r": OTHER}}, "r.l.value: expected 0x and 64 hex digits"),
        ({"l": OTHER, "r": LEAF, "x": 1}, "value: expected a node of l and r"),
        ({"l": OTHER, "r": LEAF | OTHER}, "r: expected a node of l and r"),
        ({"l": OTHER, "r": {"l": LEAF}}, "r: expected a node of l and r"),
    ],
)
def test_an_invalid_path_is_rejected_where_it_is_wrong(value: Any, message: str) -> None:
    with pytest.raises(JsonError) as raised:
        parse_audit_path_json(value, "0x")
    assert str(raised.value) == message


def test_a_path_is_no_longer_than_any_tree_of_ids_is_high() -> None:
    value: Any = LEAF
    for _ in range(MAX_STEPS):
        value = {"l": value, "r": OTHER}
    assert len(parse_audit_path_json(value, "0x").steps) == MAX_STEPS
    for _ in range(100_000):
        value = {"l": value, "r": OTHER}
    with pytest.raises(JsonError, match="a value below at most 32 nodes"):
        parse_audit_path_json(value, "0x")


def test_a_root_does_not_pass_for_a_leaf() -> None:
    """RFC 6962, section 2.1: without prefixes a node's two hashes would be a leaf of 64 bytes."""
    leaves = [raw("ab" * 32), raw("cd" * 32)]
    assert AuditPath(merkle_root(leaves), ()).root != merkle_root(leaves)
