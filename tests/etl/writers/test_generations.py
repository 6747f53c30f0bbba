"""Which loads build a generation, and which write transactions into the served one."""

import pytest

from tests.conftest import SAMPLE
from tests.db.stores import generation_of
from tests.etl.conftest import AS_LARGE, Stores
from tests.etl.embedded import stores

pytestmark = pytest.mark.loads

__all__ = ["stores"]


@pytest.mark.parametrize(("bulk_share", "is_generation"), [(AS_LARGE, True), (0.1, False)])
def test_a_first_load_builds_a_generation_if_it_is_large(
    stores: Stores, bulk_share: float, *, is_generation: bool
) -> None:
    loading = stores(bulk_share=bulk_share)
    empty = generation_of(loading.folder)
    assert loading.load(SAMPLE).messages > 200
    assert (generation_of(loading.folder) != empty) == is_generation


def test_milestones_that_only_the_lake_has_count(stores: Stores) -> None:
    """As after a load that was interrupted between lake and store."""
    loading, without_rows = stores(), stores(bulk_share=AS_LARGE)
    loading.load(SAMPLE)
    (loading.folder / "lake").rename(without_rows.folder / "lake")
    empty = generation_of(without_rows.folder)
    without_rows.load(SAMPLE)
    assert generation_of(without_rows.folder) != empty
    assert without_rows.rows() == loading.rows()
