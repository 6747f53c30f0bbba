"""The tests of the Chrysalis oracle ledger in tests/etl/test_oracle.py, with stores that Sail loads."""

import pytest

from tests.etl.test_oracle import (
    GEOMETRIES,
    ArchiveA,
    archive_a,
    check,
    node_json,
    reference,
    test_a_range_loads_no_more_and_what_is_complete_is_not_decoded_again,
    test_ascending_the_bound_holds,
    test_node_json_gives_the_reference_s_rows_pending_ones_too,
    test_split_by_milestone_shuffled_and_twice,
    test_white_flag_index_is_the_oracle_s,
)

pytestmark = pytest.mark.loads

__all__ = [
    "archive_a",
    "node_json",
    "test_a_range_loads_no_more_and_what_is_complete_is_not_decoded_again",
    "test_ascending_the_bound_holds",
    "test_node_json_gives_the_reference_s_rows_pending_ones_too",
    "test_split_by_milestone_shuffled_and_twice",
    "test_white_flag_index_is_the_oracle_s",
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_archive_a_gives_the_reference_s_rows(archive_a: ArchiveA, geometry: tuple[int, int]) -> None:
    check(archive_a(geometry).rows(), reference(geometry, node=False))
