"""Trees of RFC 6962: known roots of other implementations, and properties of proofs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.crypto.log_tree import (
    EMPTY,
    ProofError,
    is_consistent,
    leaf_hash,
    prove_consistency,
    prove_range,
    root_of_range,
    split,
    tree_root,
)
from tests.ledger.completeness.reference import mth

LEAVES = [bytes.fromhex(each) for each in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")] + [
    bytes.fromhex("606162636465666768696a6b6c6d6e6f")
]
"""The leaves of Certificate Transparency's reference tests."""

ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    4: "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
"""Roots of the first leaves, from the same tests."""


def hashes_of(size: int) -> list[bytes]:
    return [leaf_hash(number.to_bytes(4, "big")) for number in range(size)]


def test_the_roots_are_those_of_certificate_transparency() -> None:
    assert tree_root([]) == EMPTY == bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    for size, root in ROOTS.items():
        assert tree_root([leaf_hash(leaf) for leaf in LEAVES[:size]]).hex() == root


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_the_root_is_that_of_the_definition(leaves: list[bytes]) -> None:
    assert tree_root([leaf_hash(leaf) for leaf in leaves]) == mth(leaves)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[int, int, int]:
    size = draw(st.integers(1, 70))
    start = draw(st.integers(0, size - 1))
    return size, start, draw(st.integers(start + 1, size))


@given(ranges())
def test_a_range_leads_to_the_root_and_has_a_hash_for_each_subtree_beside_it(case: tuple[int, int, int]) -> None:
    size, start, stop = case
    hashes = hashes_of(size)
    proof = prove_range(hashes, start, stop)
    assert root_of_range(size, start, hashes[start:stop], proof) == tree_root(hashes)
    assert len(proof) <= 2 * size.bit_length()
    assert (proof == []) == (stop - start == size)


@given(ranges(), st.data())
def test_no_other_leaves_places_or_hashes_lead_to_the_root(case: tuple[int, int, int], data: st.DataObject) -> None:
    size, start, stop = case
    hashes = hashes_of(size)
    root, run, proof = tree_root(hashes), hashes[start:stop], prove_range(hashes, start, stop)
    other = hashes_of(size + 5)
    kind = data.draw(st.sampled_from(["start", "drop", "add", "swap", "proof", "short", "long"]))
    claimed_start, claimed, path = start, list(run), list(proof)
    if kind == "start":
        claimed_start = data.draw(st.integers(0, 70).filter(lambda each: each != start))
    elif kind == "drop":
        del claimed[data.draw(st.integers(0, len(run) - 1))]
    elif kind == "add":
        claimed.insert(data.draw(st.integers(0, len(run))), other[size + 1])
    elif kind == "swap":
        claimed[data.draw(st.integers(0, len(run) - 1))] = other[size + 2]
    elif kind == "proof" and proof:
        path[data.draw(st.integers(0, len(proof) - 1))] = other[size + 3]
    elif kind == "short" and proof:
        del path[data.draw(st.integers(0, len(proof) - 1))]
    else:
        path.insert(data.draw(st.integers(0, len(proof))), other[size + 4])
    try:
        found = root_of_range(size, claimed_start, claimed, path)
    except ProofError:
        return
    assert found != root


def test_a_range_of_a_tree_has_at_least_one_leaf_within_it() -> None:
    for start, stop in ((0, 0), (2, 2), (3, 2), (-1, 1), (0, 4)):
        with pytest.raises(ValueError, match="expected leaves"):
            prove_range(hashes_of(3), start, stop)
    with pytest.raises(ProofError, match="within a tree of 3"):
        root_of_range(3, 2, hashes_of(2), [])


@pytest.mark.parametrize("newer", range(1, 34))
def test_each_prefix_of_a_tree_is_consistent_with_it(newer: int) -> None:
    hashes = hashes_of(newer)
    for older in range(1, newer + 1):
        proof = prove_consistency(hashes, older)
        roots = tree_root(hashes[:older]), tree_root(hashes)
        assert is_consistent(older, newer, *roots, proof)
        for other in range(1, newer + 2):
            if other != older:
                assert not is_consistent(other, newer, *roots, proof)
        forked = tree_root([*hashes[: older - 1], leaf_hash(b"another")])
        assert not is_consistent(older, newer, forked, roots[1], proof)
        for place in range(len(proof)):
            assert not is_consistent(older, newer, *roots, [*proof[:place], *proof[place + 1 :]])
            assert not is_consistent(older, newer, *roots, [*proof[:place], EMPTY, *proof[place + 1 :]])
        assert not is_consistent(older, newer, *roots, [*proof, EMPTY])


def test_every_tree_extends_the_empty_one() -> None:
    assert is_consistent(0, 5, EMPTY, tree_root(hashes_of(5)), [])
    assert not is_consistent(0, 5, EMPTY, tree_root(hashes_of(5)), [EMPTY])
    with pytest.raises(ValueError, match="from 1 to 3"):
        prove_consistency(hashes_of(3), 4)


def test_a_tree_splits_at_the_largest_power_of_two_below_its_size() -> None:
    assert [split(size) for size in range(2, 10)] == [1, 2, 2, 4, 4, 4, 4, 8]
