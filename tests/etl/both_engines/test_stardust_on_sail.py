"""The tests of the Stardust oracle ledger and of two eras in tests/etl, with stores that Sail loads."""

from pathlib import Path

import pytest

from tests.etl.conftest import Stores
from tests.etl.tables.test_pending import test_a_rebuild_into_a_new_store_has_the_pending_messages_too
from tests.etl.test_oracle import check
from tests.etl.test_stardust_oracle import (
    GEOMETRIES,
    NodeJson,
    expected,
    loads,
    node_json,
)
from tests.etl.test_stardust_oracle import test_one_store_holds_both_eras as one_store_holds_both_eras
from tests.etl.test_stardust_oracle import test_white_flag_index_is_the_oracle_s as white_flag_index_is_the_oracle_s
from tests.etl.test_two_eras import (
    test_a_lake_has_one_beginning_and_it_is_of_the_era_behind_it as a_lake_has_one_beginning,
)
from tests.etl.test_two_eras import (
    test_both_eras_in_one_load_give_the_replay_s_rows as both_eras_give_the_replay_s_rows,
)
from tests.etl.test_two_eras import test_the_second_era_follows_in_a_load_of_its_own as the_second_era_follows

pytestmark = pytest.mark.loads

__all__ = [
    "loads",
    "node_json",
    "test_a_rebuild_into_a_new_store_has_the_pending_messages_too",
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_node_json_gives_the_reference_s_rows(node_json: NodeJson, geometry: tuple[int, int]) -> None:
    check(node_json(geometry).rows(), expected(geometry))


def test_white_flag_index_is_the_oracle_s(node_json: NodeJson) -> None:
    white_flag_index_is_the_oracle_s(node_json)


def test_the_second_era_follows_in_a_load_of_its_own(stores: Stores, tmp_path: Path) -> None:
    the_second_era_follows(stores, tmp_path)


def test_a_lake_has_one_beginning_and_it_is_of_the_era_behind_it(stores: Stores, tmp_path: Path) -> None:
    a_lake_has_one_beginning(stores, tmp_path)


def test_both_eras_in_one_load_give_the_replay_s_rows(stores: Stores, tmp_path: Path) -> None:
    both_eras_give_the_replay_s_rows(stores, tmp_path)


def test_one_store_holds_both_eras(stores: Stores, tmp_path: Path) -> None:
    one_store_holds_both_eras(stores, tmp_path)
