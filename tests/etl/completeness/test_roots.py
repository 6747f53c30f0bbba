"""Roots after loads, compared with a plain reading of the oracle ledgers of both eras."""

import asyncio
from contextlib import closing
from typing import Any

import pytest

from db import schema
from db.connect import open_adapter, open_store
from db.queries.log_records import closed_records, find_proved
from etl.completeness import advance
from ledger.completeness import check, intervals, trees
from tests import reference, reference_stardust
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import Loading, Stores
from tests.etl.stardust_archives import NETWORK as STARDUST_NETWORK
from tests.etl.stardust_archives import oracle as stardust_oracle
from tests.ledger.completeness.reference import Ledger
from tests.reference_completeness import listings, milestone_record

pytestmark = pytest.mark.loads

SMALLEST = 5
"""Milestones of the smallest interval in these tests, because the oracle ledgers have 50 milestones."""

LAST = 50


@pytest.fixture(autouse=True)
def small_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (intervals, trees, check):
        monkeypatch.setattr(module, "SMALLEST", SMALLEST)
    monkeypatch.setattr(advance, "KEPT", 7)
    monkeypatch.setattr(advance, "DIVIDED_FROM", 3)


def chrysalis_rows() -> dict[str, list[dict[str, Any]]]:
    return dict(reference.whole_rows(chrysalis_oracle(), [], 100_000, 100_000, "permatest-1"))


def stardust_rows() -> dict[str, list[dict[str, Any]]]:
    return dict(reference_stardust.whole_rows(stardust_oracle(), [], 100_000, 100_000, STARDUST_NETWORK))


LEDGERS = {
    "chrysalis from genesis": (chrysalis_rows, "permatest-1", False),
    "stardust from genesis": (stardust_rows, STARDUST_NETWORK, True),
}


def expected(name: str) -> list[bytes]:
    """The leaves of the log."""
    rows_of, network, stardust = LEDGERS[name]
    rows = rows_of()
    ledger = Ledger(network, 1, LAST, listings(rows, 0), SMALLEST)
    return [
        milestone_record(rows, int(text.split()[1]), stardust=stardust) if text.startswith("milestone") else leaf
        for text, leaf in ledger.log()
    ]


def log_of(loading: Loading) -> list[bytes]:
    """The leaves of the log that a store has records of."""

    async def read() -> list[bytes]:
        with closing(open_store(loading.store)) as store:
            proved = await find_proved(store)
            if proved is None:
                return []
            records = closed_records(store, proved.start, proved.start - 1, proved.stop - 1)
            return [bytes(each) async for each in records]

    return asyncio.run(read())


def tables_of(loading: Loading) -> dict[str, list[dict[str, Any]]]:
    names = (schema.milestone_roots, schema.interval_roots, schema.listing_tiles, schema.listing_parts)
    with closing(open_adapter(loading.store, writable=False)) as store:
        return {table.name: sorted(store.read_all(table), key=repr) for table in names}


@pytest.mark.parametrize("name", LEDGERS)
def test_roots_are_those_of_the_input_files(everywhere: Stores, name: str) -> None:
    loading, report = everywhere.loaded(name)
    assert report.ledger_index == LAST
    assert log_of(loading) == expected(name)
