"""Queries of calendar intervals on both stores, compared with the input files in plain Python, with times of two years
that fall once.
"""

from datetime import UTC, date, datetime

import pytest

from db.queries.calendar import find_counts, list_active, list_begun
from db.schema import CALENDAR
from db.store import WritableStore
from db.utc_days import DAY_S, EPOCH, calendar_interval
from tests import reference
from tests.api.analytics import FALLING, Figures, in_two_years
from tests.db.stores import CHUNK_SIZE, NETWORK, PARTITION_SIZE
from tests.etl.archives import oracle
from tests.reference_analytics import CALENDAR as INTERVAL_OF
from tests.reference_analytics import analytics_rows
from tests.reference_ledger import ledger_rows
from tests.reference_rows import Rows, table_rows, write

GEOMETRY = CHUNK_SIZE, PARTITION_SIZE


@pytest.fixture(scope="module")
def figures() -> Figures:
    milestones = in_two_years([reference.milestone_fact(line) for line in oracle()])
    genesis = reference.genesis_fact(reference.read_json(reference.ORACLE / "genesis.json"))
    return Figures(milestones, genesis, NETWORK, str)


@pytest.fixture(scope="module")
def rows(figures: Figures) -> Rows:
    found = table_rows(figures.milestones, [], *GEOMETRY, NETWORK)
    ledger_rows(found, figures.milestones, figures.genesis, NETWORK, *GEOMETRY)
    found |= analytics_rows(figures.milestones, figures.genesis, NETWORK, CHUNK_SIZE)
    return {name: found[name] for name in ("date_cache", "ms_analytics", "address_analytics", "addresses_hints")}


async def test_who_was_active_in_the_intervals_that_go_on(store: WritableStore, rows: Rows, figures: Figures) -> None:
    """For each milestone, the intervals of the next one."""
    write(store, rows)
    active = {index: {row["address"] for row in changed} for index, changed in figures.changes.items()}
    addresses = sorted(set().union(*active.values()))
    times = {each.index: each.timestamp for each in figures.milestones}
    seen = set()
    for last in (1, 2, *range(FALLING - 3, FALLING + 5), 40, 45, 49):
        intervals = await list_begun(store, [times[last + 1] // DAY_S], 0, last)
        counts = await find_counts(store, CHUNK_SIZE, intervals, last)
        members = {}
        for column, of_date in INTERVAL_OF.items():
            now = of_date(datetime.fromtimestamp(times[last + 1], UTC))
            held = [at for at in times if at <= last and of_date(datetime.fromtimestamp(times[at], UTC)) == now]
            members[column] = set().union(*(active[at] for at in held))
            assert sum(counts.get(column, {}).values()) == len(members[column])
            seen.add((column, bool(held)))
        for address in addresses:
            found = await list_active(store, address, intervals, last)
            assert all(at <= last and address in active[at] and ms == 1000 * times[at] for at, ms in found)
            for column, of_date in INTERVAL_OF.items():
                now = of_date(datetime.fromtimestamp(times[last + 1], UTC))
                reported = any(of_date(datetime.fromtimestamp(ms // 1000, UTC)) == now for _, ms in found)
                assert reported == (address in members[column])
    assert seen == {(column, begun) for column in CALENDAR for begun in (False, True)}


@pytest.mark.parametrize("year", [2019, 2020, 2021, 2100])
def test_intervals_of_every_day_of_a_year(year: int) -> None:
    first = date(year, 1, 1).toordinal() - EPOCH
    units = dict(zip(CALENDAR.values(), INTERVAL_OF.values(), strict=True))
    for unit, of_date in units.items():
        days = [datetime.fromtimestamp(DAY_S * day, UTC) for day in range(first - 400, first + 800)]
        for day in range(first, first + 366):
            own = of_date(datetime.fromtimestamp(DAY_S * day, UTC))
            inside = [int(each.timestamp()) // DAY_S for each in days if of_date(each) == own]
            assert calendar_interval(unit, day) == (inside[0], inside[-1] + 1)
