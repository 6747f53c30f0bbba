"""The shipped oracle ledgers equal the data set's, and the expectations read from their lines equal the oracle's."""

import gzip

import pytest

from tests.api.oracle import Oracle
from tests.conftest import ROOT, SHARED, needs_shared


@needs_shared
@pytest.mark.parametrize("name", ["milestones.jsonl", "pending.jsonl", "expected.json"])
@pytest.mark.parametrize(("era", "folder"), [("chrysalis", "tests/oracle"), ("stardust", "sample/stardust")])
def test_the_shipped_copy_is_unchanged(era: str, folder: str, name: str) -> None:
    packed = (ROOT / folder / f"{name}.gz").read_bytes()
    assert gzip.decompress(packed) == (SHARED / "iota" / "ledger" / era / name).read_bytes()


def test_children_are_those_it_expects(oracle: Oracle) -> None:
    assert {parent: set(ids) for parent, ids in oracle.children.items()} == {
        parent: set(ids) for parent, ids in oracle.expected["children"].items()
    }


def test_indices_are_those_it_expects_and_pending_ones(oracle: Oracle) -> None:
    pending = {entry["id"] for entry in oracle.pending}
    for tag, ids in oracle.tagged.items():
        direct, inside = (oracle.expected[key].get(tag, []) for key in ("taggedIndex", "taggedIndexInTransactions"))
        assert set(ids) - pending == {*direct, *inside}


def test_it_holds_what_it_counts(oracle: Oracle) -> None:
    assert len(oracle.entries) == oracle.expected["counts"]["all"]
    assert len(oracle.pending) == oracle.expected["counts"]["pending"]
    assert len(oracle.milestones) == oracle.expected["milestones"]
