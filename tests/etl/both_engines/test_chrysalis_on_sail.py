"""The tests of the Chrysalis oracle ledger in tests/etl/test_oracle.py, with stores that Sail loads."""

from pathlib import Path

import pytest

from tests.etl.conftest import Loading, Stores
from tests.etl.test_oracle import (
    GEOMETRIES,
    ArchiveA,
    archive_a,
    check,
    node_json,
    reference,
    test_node_json_gives_the_reference_s_rows_pending_ones_too,
)
from tests.etl.test_oracle import (
    test_a_range_loads_no_more_and_what_is_complete_is_not_decoded_again as range_loads_no_more,
)
from tests.etl.test_oracle import test_a_rebuild_of_another_store_is_its_load as rebuild_is_its_load
from tests.etl.test_oracle import test_ascending_the_bound_holds as ascending_the_bound_holds
from tests.etl.test_oracle import test_split_by_milestone_shuffled_and_twice as split_by_milestone
from tests.etl.test_oracle import test_white_flag_index_is_the_oracle_s as white_flag_index_is_the_oracle_s

pytestmark = pytest.mark.loads

__all__ = [
    "archive_a",
    "node_json",
    "test_node_json_gives_the_reference_s_rows_pending_ones_too",
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_archive_a_gives_the_reference_s_rows(archive_a: ArchiveA, geometry: tuple[int, int]) -> None:
    check(archive_a(geometry).rows(), reference(geometry, node=False))


def test_white_flag_index_is_the_oracle_s(archive_a: ArchiveA) -> None:
    white_flag_index_is_the_oracle_s(archive_a)


def test_ascending_the_bound_holds(archive_a: ArchiveA) -> None:
    ascending_the_bound_holds(archive_a)


def test_split_by_milestone_shuffled_and_twice(stores: Stores, tmp_path: Path) -> None:
    split_by_milestone(stores, tmp_path)


def test_a_range_loads_no_more_and_what_is_complete_is_not_decoded_again(stores: Stores, tmp_path: Path) -> None:
    range_loads_no_more(stores, tmp_path)


def test_a_rebuild_of_another_store_is_its_load(node_json: Loading, stores: Stores) -> None:
    rebuild_is_its_load(node_json, stores)
