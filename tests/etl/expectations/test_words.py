"""Sets of hashes as sorted arrays, compared with sets of Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from etl.expectations.words import among, distinct

HASHES = st.lists(st.integers(0, 12) | st.integers(0, 2**64 - 1), max_size=60)


@given(HASHES)
def test_distinct_hashes_are_in_ascending_order(hashes: list[int]) -> None:
    assert distinct(np.array(hashes, np.uint64)).tolist() == sorted(set(hashes))


@given(HASHES, HASHES)
def test_hashes_are_found_among_others(hashes: list[int], others: list[int]) -> None:
    found = among(np.array(hashes, np.uint64), np.array(sorted(others), np.uint64))
    assert found.tolist() == [each in others for each in hashes]
