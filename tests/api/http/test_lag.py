"""How far a store is behind its network: in /metrics and in the status, for a store that a follower loads; and whether
its ledger state adds up, in /metrics.

Expectations follow from the rows written here.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli.status_text import status_lines
from db import schema
from db.admin.migrate import migrate
from db.admin.status import get_status
from db.connect import StoreSettings, open_store
from db.queries.analytics import DAYS_DUE
from db.queries.head import HEAD
from db.store import WritableStore
from db.sync import range_row

NETWORK = "permatest-1"
NEWEST, AGE_S = 7, 30.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    """A store with the complete milestones 5 to 7, of which 7 is 30 s old."""
    settings = StoreSettings(f"sqlite:///{tmp_path}/store", NETWORK)
    migrate(settings)
    with closing(open_store(settings, writable=True)) as opened:
        now = int((time.time() - AGE_S) * 1000)
        rows = [
            {"ms_range_id": 0, "milestone_index": index, "ms_timestamp": now - 10_000 * (NEWEST - index)}
            | {"synced_by": 0, "logged_by": None, "message_count": 1, "verified": "signed", "layout": schema.LAYOUT}
            for index in range(5, NEWEST + 1)
        ]
        summed = range_row(NETWORK, 0, rows)
        with opened.batch() as batch:
            batch.upsert(schema.sync, schema.sync.names, [[row[name] for name in schema.sync.names] for row in rows])
            batch.upsert(schema.ranges, schema.ranges.names, [[summed[name] for name in schema.ranges.names]])
        yield opened


def follow(store: WritableStore, newest: int, due: str, *eta_s: float | None) -> None:
    """Writes what a follower notes."""
    notes = [(HEAD, json.dumps([newest, 1_700_000_000.0, *eta_s])), (DAYS_DUE, due)]
    with store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, notes)


async def gauges(store: WritableStore) -> dict[str, float]:
    """The gauges of /metrics with a network."""
    app = create_app({NETWORK: NetworkMount(store, NETWORK)}, NETWORK, ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        response = await client.get("/metrics")
    assert response.status_code == 200
    found = re.findall(rf'^(\w+){{network="{NETWORK}"}} (\S+)$', response.text, re.MULTILINE)
    return {name: float(value) for name, value in found}


async def test_metrics_have_the_lag_of_a_store_that_a_follower_loads(store: WritableStore) -> None:
    assert await gauges(store) == {}
    follow(store, newest=9, due="[[6,7]]")
    found = await gauges(store)
    assert AGE_S <= found.pop("permanode_lag_seconds") < AGE_S + 10
    assert found == {"permanode_milestones_behind": 2, "permanode_days_due_milestones": 2}


@pytest.mark.parametrize(
    ("wrong_at", "unreconciled"), [(None, 0), (7, 1), (5, 3), (4, 4)], ids=["none", "last", "middle", "first"]
)
async def test_metrics_have_the_milestones_whose_sums_are_wrong(
    store: WritableStore, wrong_at: int | None, unreconciled: int
) -> None:
    """A load compared the sums from the genesis, 4, to 7, and noted the first wrong one."""
    sums = {"supply": 100, "first": 4, "last": 7, "wrong_at": wrong_at, "wrong_sum": wrong_at and 99}
    with store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [("reconciled", json.dumps(sums))])
    assert await gauges(store) == {"permanode_unreconciled_milestones": unreconciled}


async def test_a_node_that_is_behind_the_store_has_no_lag(store: WritableStore) -> None:
    follow(store, newest=3, due="[]")
    assert (await gauges(store))["permanode_milestones_behind"] == 0


async def test_the_status_has_the_lag(store: WritableStore) -> None:
    assert (await get_status(store, NETWORK)).lag is None
    follow(store, newest=9, due="[[6,7]]")
    status = await get_status(store, NETWORK)
    assert re.search(
        r"\nlag         milestone 7 is 3\d\.\d s old; 2 not yet in their days\n"
        r" {12}2 behind the node at 2023-11-14 22:13:20 UTC\n",
        "\n".join(status_lines(status)),
    )


@pytest.mark.parametrize(
    ("newest", "eta_s", "end"),
    [(9, 90.0, r", reached at about 2023-11-14 22:14:50 UTC"), (9, None, ""), (7, 0.0, "")],
)
async def test_far_behind_the_node_the_status_says_when_the_follower_reaches_it(
    store: WritableStore, newest: int, eta_s: float | None, end: str
) -> None:
    follow(store, newest, "[]", eta_s)
    status = await get_status(store, NETWORK)
    text = "\n".join(status_lines(status))
    assert "s old; 0 not yet in their days\n" in text
    assert f" behind the node at 2023-11-14 22:13:20 UTC{end}\n" in text.replace("\n" + 12 * " " + "2023", " 2023")
