"""Sizes of documents about ledgers of 8 million milestones."""

from random import Random

import pytest

from ledger.completeness.document import render_document
from ledger.completeness.families import BY_NAME
from ledger.completeness.intervals import cover
from ledger.completeness.proof import Listing, prove_page
from tests.ledger.completeness.synthetic import SyntheticTrees

BYTES_MOST = 40_000

ENDS = range(7_900_099, 8_000_000, 100)

WORST = max(ENDS, key=lambda end: len(cover(1, end)))

FAMILIES = ("messages_by_tag", "messages_by_parent", "basic_outputs_by_address", "transactions_by_address")


def size_of(family_name: str, rows: int, end: int) -> int:
    rng, family = Random(rows), BY_NAME[family_name]
    indexes = sorted(rng.randint(1, end) for _ in range(rows))
    ids = [each.to_bytes(4, "big") + rng.randbytes(family.row_bytes - 4) for each in indexes]
    key = rng.randbytes(family.key_most)
    listing = Listing("iota-mainnet", 1, family, key, end)
    trees = SyntheticTrees(family, key, ids, keys_per_milestone=150)
    checkpoint = "x" * 400
    document = render_document(prove_page(trees, listing, 0, 100, [bytes(32)] * 23, checkpoint))
    return len(document.encode())


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("rows", [0, 1, 10, 100])
def test_a_proof_of_100_rows_or_fewer_has_at_most_40_kb(name: str, rows: int) -> None:
    sizes = {each: size_of(name, rows, each) for each in (WORST, ENDS[317])}
    assert max(sizes.values()) <= BYTES_MOST
