"""The cache of rendered days of a series: the same items as from rows, as long as the analytics do not change."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import permutations
from typing import Any

import httpx
import pytest

from api.analytics_v2 import rendered_days
from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.model import Table
from db.queries.analytics import ANALYSED, ANALYSED_BY
from db.store import Row, WritableStore
from db.sync import range_row
from tests.api.conftest import STORES, filled_with, new_store
from tests.reference_rows import write

NETWORK = "days"
PATH = "/api/analytics/v2/series/day"
FIRST = date(2021, 12, 28)


@pytest.fixture
def days() -> list[Row]:
    """Days of two years. One is missing, and one has an unknown transferred amount."""
    found = []
    for number in (*range(5), *range(6, 9)):
        day = FIRST + timedelta(number)
        row = {"year": day.year, "date": str(day), "message_count": 7 * number, "used_indexes": number}
        found.append(row | ({} if number == 2 else {"transferred_tokens": 10**15 + number}))
    return found


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, days: list[Row]
) -> Iterator[WritableStore]:
    noons = [1000 * (midnight(row["date"]) + 43_200) for row in days]
    milestones = [
        dict.fromkeys(schema.sync.names)
        | {"ms_range_id": 0, "milestone_index": index, "ms_timestamp": noon, "synced_by": 0, "layout": schema.LAYOUT}
        for index, noon in enumerate(noons, start=1)
    ]
    rows = {"sync": milestones, "ranges": [range_row(NETWORK, 0, milestones)]}
    filled = filled_with(new_store(request, tmp_path_factory, "days", NETWORK), rows)
    yield filled
    filled.close()


def midnight(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp())


def note(store: WritableStore, milestones: str, run: str) -> None:
    write(store, {"keyspace_info": [{"name": ANALYSED, "value": milestones}, {"name": ANALYSED_BY, "value": run}]})


def item(row: Row) -> Row:
    moved = row.get("transferred_tokens")
    return {
        "date": row["date"],
        "timestamp": midnight(row["date"]),
        "messageCount": row["message_count"],
        "transferredTokens": None if moved is None else str(moved),
    }


def client_of(store: WritableStore) -> httpx.AsyncClient:
    app = create_app({"testing": NetworkMount(store, NETWORK, "atoi")}, "testing", ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


async def test_days_are_read_again_once_the_analytics_say_so(
    store: WritableStore, days: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Table] = []
    sliced = store.slice

    def noted(table: Table, *arguments: Any, **named: Any) -> Any:
        seen.append(table)
        return sliced(table, *arguments, **named)

    monkeypatch.setattr(store, "slice", noted)
    client = client_of(store)

    async def rendered(measures: str = "messageCount,transferredTokens", **more: str) -> tuple[list[Row], bool]:
        """The items, and whether rows were read for them."""
        seen.clear()
        answer = await client.get(PATH, params={"measures": measures} | more)
        assert answer.status_code == 200, answer.text
        return answer.json()["items"], schema.daily_analytics in seen

    # Nothing shows yet whether days change.
    for held in (days[:6], days):
        write(store, {"daily_analytics": held})
        assert await rendered() == ([item(row) for row in held], True)
    note(store, "[[1, 8]]", "first")
    assert await rendered() == ([item(row) for row in days], True)
    later = [item(row) for row in days if row["date"] >= "2021-12-30"]
    assert len(later) == 6
    days[3]["message_count"] = 99
    write(store, {"daily_analytics": days})
    assert await rendered(start="2021-12-30", sort="newest") == (later[::-1], False)
    for milestones, run in (("[[1, 8]]", "second"), ("[[1, 2], [4, 8]]", "second")):
        note(store, milestones, run)
        assert await rendered() == ([item(row) for row in days], True)
        days[4]["message_count"] -= 1
        write(store, {"daily_analytics": days})
    # The least recently requested day is evicted.
    names = ("messageCount", "usedIndexes", "transferredTokens", "totalAddresses")
    requested = [",".join(pair) for pair in permutations(names, 2)][: rendered_days.KEPT + 1]
    assert all([(await rendered(each))[1] for each in requested if each != "messageCount,transferredTokens"])
    await rendered(requested[0])
    assert not (await rendered(requested[3]))[1]
    await rendered("usedIndexes")
    assert (await rendered(requested[2]))[1]
    assert not (await rendered(requested[3]))[1]
