"""The embedded engine for all tests below this folder, and intervals that the oracle ledgers complete."""

import pytest

from db import schema
from ledger.completeness import check, intervals, trees
from ledger.transparency import positions
from tests.cassandra_rows import filled_together as filled_together
from tests.etl.completeness.published_logs import SMALLEST
from tests.etl.embedded import everywhere as everywhere
from tests.etl.embedded import stores as stores


@pytest.fixture
def small_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (intervals, trees, check, positions):
        monkeypatch.setattr(module, "SMALLEST", SMALLEST)
    monkeypatch.setattr(schema, "TREES_KEPT", 7)
    monkeypatch.setattr(schema, "DIVIDED_FROM", 3)
