"""Loads and frames of these tests run on the embedded engine. The oracle ledgers have 50 milestones, so intervals of
listings are smaller.
"""

from collections.abc import Iterator

import pytest

from db import schema
from ledger.completeness import check, intervals, trees
from ledger.transparency import positions
from tests.cassandra_rows import filled_together
from tests.etl.embedded import everywhere, session, stores

__all__ = ["everywhere", "filled_together", "session", "stores"]


@pytest.fixture(scope="module", autouse=True)
def small_intervals() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (intervals, trees, check, positions):
            patch.setattr(module, "SMALLEST", 5)
        patch.setattr(schema, "TREES_KEPT", 7)
        patch.setattr(schema, "DIVIDED_FROM", 3)
        yield
