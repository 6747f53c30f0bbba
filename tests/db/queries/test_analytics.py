"""Queries of the analytics tables on both stores, compared with the input files' rows in plain Python."""

import json
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any

import pytest

from db import schema
from db.model import Table
from db.queries import analytics
from db.store import Row, WritableStore
from tests import reference
from tests.db.stores import CHUNK_SIZE, NETWORK, PARTITION_SIZE
from tests.etl.archives import oracle
from tests.reference_rows import Rows, write

SPANS = [(0, 2**31 - 1), (1, 50), (7, 7), (6, 14), (13, 33), (49, 60), (51, 60), (30, 29)]


def runs_in(rows: Sequence[Row], first: int, last: int) -> list[list[int]]:
    """First, last and sums of each gapless run of the milestones [first, last], ascending."""
    known = {row["milestone_index"]: row for row in rows if row.get("message_count") is not None}
    inside = [index for index in sorted(known) if first <= index <= last]
    found = []
    for _, run in groupby(enumerate(inside), key=lambda pair: pair[1] - pair[0]):
        indices = [index for _, index in run]
        sums = [sum(known[index][name] for index in indices) for name in analytics.SUMMED]
        found.append([indices[0], indices[-1], *sums])
    return found


@pytest.fixture(scope="module")
def rows() -> Rows:
    """The rows of the oracle ledger without milestones 21 to 24."""
    found = reference.whole_rows(oracle(), [], CHUNK_SIZE, PARTITION_SIZE, NETWORK)
    found["ms_analytics"] = [row for row in found["ms_analytics"] if row["milestone_index"] not in range(21, 25)]
    for row in found["analytics_ranges"]:
        own = [each for each in found["ms_analytics"] if each["ms_range_id"] == row["ms_range_id"]]
        row["runs"] = json.dumps(runs_in(own, 0, 50))
    found["daily_analytics"] += [{"year": 2022, "date": f"2022-01-{day:02}", "total_addresses": day} for day in (3, 9)]
    return found


@pytest.fixture
def filled(store: WritableStore, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> WritableStore:
    """With pages of three rows, so that every series has several pages."""
    names = (
        "ms_analytics",
        "analytics_ranges",
        "daily_analytics",
        "address_analytics",
        "metrics_cache",
        "ranges",
        "addresses_hints",
    )
    write(store, {name: rows[name] for name in (*names, "date_cache")})
    monkeypatch.setattr(analytics, "ROWS_AT_ONCE", 3)
    return store


async def listed(series: AsyncIterator[Row], columns: Sequence[str]) -> list[Row]:
    return [{name: row[name] for name in columns} async for row in series]


async def test_milestones_of_a_span_either_way_without_genesis(filled: WritableStore, rows: Rows) -> None:
    known = [row for row in rows["ms_analytics"] if row.get("message_count") is not None]
    assert len(known) == 46
    columns = list(known[0])
    for first, last in SPANS:
        wanted = [row for row in known if first <= row["milestone_index"] <= last]
        found = await listed(analytics.list_milestones(filled, NETWORK, first, last), columns)
        assert found == wanted
        newest = analytics.list_milestones(filled, NETWORK, first, last, newest=True, columns=("holders",))
        names = ("milestone_index", "holders")
        assert await listed(newest, names) == [{name: row[name] for name in names} for row in reversed(wanted)]
    assert await analytics.find_milestone(filled, CHUNK_SIZE, 22) is None
    genesis = await analytics.find_milestone(filled, CHUNK_SIZE, 0)
    assert genesis is not None
    assert genesis["holders"] == rows["ms_analytics"][0]["holders"] > 0


async def test_runs_are_summed_newest_first(filled: WritableStore, rows: Rows) -> None:
    for first, last in SPANS:
        wanted = [analytics.Run(*run) for run in reversed(runs_in(rows["ms_analytics"], first, last))]
        assert [run async for run in analytics.list_runs(filled, NETWORK, first, last)] == wanted
    assert len([run async for run in analytics.list_runs(filled, NETWORK, 1, 50)]) == 2


def test_a_run_is_kept_in_pieces() -> None:
    rows = [{"milestone_index": index} | dict.fromkeys(analytics.SUMMED, 1) for index in (1, 2, 3, 4, 6, 7, 8, 9)]
    pieces = [(run.first, run.last, run.message_count) for run in analytics.runs_of(rows, 4)]
    assert pieces == [(1, 3, 3), (4, 4, 1), (6, 7, 2), (8, 9, 2)]
    assert [(run.first, run.last) for run in analytics.runs_of(rows)] == [(1, 4), (6, 9)]
    # A sum beyond the column's range is stored as null: that milestone belongs to no run.
    rows[2] |= {"transferred_tokens": None}
    assert [(run.first, run.last) for run in analytics.runs_of(rows)] == [(1, 2), (4, 4), (6, 9)]


async def test_pieces_are_joined_and_no_more_of_them_is_read_than_what_is_cut(
    filled: WritableStore, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    for row in rows["analytics_ranges"]:
        own = [each for each in rows["ms_analytics"] if each["ms_range_id"] == row["ms_range_id"]]
        pieces = (runs_in(own, first, first + 2) for first in range(0, 51, 3))
        kept.append(row | {"runs": json.dumps([run for runs in pieces for run in runs])})
    write(filled, {"analytics_ranges": kept})
    read, between = [], analytics.list_between

    async def noting(store: Any, table: Table, *query: Any, **options: Any) -> AsyncIterator[Row]:
        async for row in between(store, table, *query, **options):
            read.append(table.name)
            yield row

    monkeypatch.setattr(analytics, "list_between", noting)
    for first, last in SPANS:
        read.clear()
        wanted = [analytics.Run(*run) for run in reversed(runs_in(rows["ms_analytics"], first, last))]
        assert [run async for run in analytics.list_runs(filled, NETWORK, first, last)] == wanted
        assert read.count("ms_analytics") <= 2 * 2


async def test_days_of_a_span_either_way(filled: WritableStore, rows: Rows) -> None:
    days = sorted(row["date"] for row in rows["daily_analytics"])
    assert days == ["2022-01-01", "2022-01-03", "2022-01-09"]
    for first, last in (("0001-01-01", "9999-12-31"), ("2022-01-02", "2022-01-09"), ("2022-01-04", "2022-01-08")):
        wanted = [day for day in days if first <= day <= last]
        for newest in (False, True):
            found = analytics.list_days(filled, NETWORK, first, last, newest=newest)
            assert [row["date"] async for row in found] == (wanted[::-1] if newest else wanted)
    (row,) = [row async for row in analytics.list_days(filled, NETWORK, "2022-01-01", "2022-01-01")]
    assert row == rows["daily_analytics"][0]


async def test_an_address_over_its_ranges_either_way(filled: WritableStore, rows: Rows) -> None:
    addresses = {row["address"] for row in rows["address_analytics"]}
    for address in sorted(addresses):
        own = [row for row in rows["address_analytics"] if row["address"] == address]
        for first, last in SPANS:
            wanted = [row for row in own if first <= row["milestone_index"] <= last]
            for newest in (False, True):
                found = analytics.list_address(filled, address, first, last, newest=newest)
                assert [row async for row in found] == (wanted[::-1] if newest else wanted)
    assert [row async for row in analytics.list_address(filled, "00" * 33, 0, 99)] == []


async def test_what_a_day_counted_adds_up(filled: WritableStore, rows: Rows) -> None:
    (day,) = (row for row in rows["daily_analytics"] if row["date"] == "2022-01-01")
    for variant, metric, column in (
        ("address", "sent", "send_addresses"),
        ("address", "received", "recv_addresses"),
        ("address", "sent_or_received", "total_addresses"),
        ("index", "used", "used_indexes"),
    ):
        wanted = [row for row in rows["metrics_cache"] if (row["variant"], row["metric"]) == (variant, metric)]
        found = [
            row
            for row in filled.read_all(schema.metrics_cache)
            if (row["date"], row["variant"], row["metric"]) == ("2022-01-01", variant, metric)
        ]
        assert found == sorted(wanted, key=lambda row: row["value"])
        assert len(found) == day[column] > 3
    found_day = await analytics.find_day(filled, "2022-01-01")
    assert found_day is not None
    assert (found_day["start_ms"], found_day["end_ms"]) == (1, 50)
