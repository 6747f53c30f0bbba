"""The gauges of /metrics about a network, and how far a store is behind its network in the status.

Expectations follow from the rows written here.
"""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli.status_text import status_lines
from db import schema
from db.admin.status import get_status
from db.connect import StoreSettings, open_store
from db.queries.analytics import DAYS_DUE
from db.queries.head import HEAD
from db.store import StoreUnavailable, WritableStore
from db.sync import range_row
from tests.sqlite_stores import create

NETWORK = "permatest-1"
NEWEST, AGE_S = 7, 30.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    """A store with the complete milestones 5 to 7, of which 7 is 30 s old."""
    settings = StoreSettings(f"sqlite:///{tmp_path}/store", NETWORK)
    create(settings)
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


def client_of(networks: dict[str, Any]) -> httpx.AsyncClient:
    app = create_app({name: NetworkMount(store, NETWORK) for name, store in networks.items()}, NETWORK, ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


def read_gauges(response: httpx.Response, network: str = NETWORK) -> dict[str, float]:
    """The gauges of a network, as NAME or NAME LABEL."""
    assert response.status_code == 200
    found = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            if sample.labels.get("network") == network:
                assert family.type == "gauge"
                assert family.documentation
                label = [value for name, value in sample.labels.items() if name != "network"]
                found[" ".join([sample.name.removeprefix("permanode_"), *label])] = sample.value
    return found


async def gauges(store: Any) -> dict[str, float]:
    """The gauges in a server's first response."""
    async with client_of({NETWORK: store}) as client:
        return read_gauges(await client.get("/metrics"))


def note(store: WritableStore, **notes: str) -> None:
    """Writes notes of loads."""
    with store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, notes.items())


WITHOUT_NOTES = {
    "store_up": 1,
    "store_damaged": 0,
    "newest_milestone": NEWEST,
    "milestones complete": 3,
    "milestones incomplete": 0,
    "milestones missing": 0,
    "proved_milestones believed": 0,
    "proved_milestones merkle": 0,
    "proved_milestones signed": 0,
    "proved_milestones full": 0,
    "messages": 3,
    "gaps": 0,
}


async def test_a_store_without_a_ledger_state_a_follower_or_notes_of_loads(
    store: WritableStore, tmp_path: Path
) -> None:
    found = await gauges(store)
    assert AGE_S <= found.pop("newest_milestone_age_seconds") < AGE_S + 10
    files = sum(path.stat().st_size for path in (tmp_path / "store").glob("gen-*") if path.suffix != ".sqlite-shm")
    assert found.pop("store_size_bytes") == files
    assert abs(found.pop("store_free_bytes") - shutil.disk_usage(tmp_path).free) < 1 << 30
    assert found == WITHOUT_NOTES


async def test_gaps_levels_and_the_ledger_index(store: WritableStore) -> None:
    """The ledger begins after milestone 0; 3 is incomplete; 1 and 2, and 4, are missing."""
    with store.batch() as batch:
        columns = ("network", "ms_range_id", "complete", "incomplete", "message_count")
        batch.upsert(schema.ranges, columns, [(NETWORK, 0, "[[5, 7]]", "[[3, 3]]", 9)])
        levels = json.dumps({"merkle": [[5, 5]], "full": [[6, 7]]})
        batch.upsert(schema.proofs, schema.proofs.names, [(NETWORK, 0, levels)])
        batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [(NETWORK, 0)])
    found = await gauges(store)
    expected = {"milestones incomplete": 1, "milestones missing": 3, "gaps": 2, "ledger_index": 0, "messages": 9}
    expected |= {"proved_milestones merkle": 1, "proved_milestones full": 2}
    assert {name: found[name] for name in WITHOUT_NOTES | expected} == WITHOUT_NOTES | expected


async def test_what_loads_noted(store: WritableStore) -> None:
    ended = {"run": "a", "began_at": 1_700_000_000.0, "ended_at": 1_700_000_012.5, "exit_code": 3}
    ended |= {"milestones": 3, "messages": 4, "rejects": 1}
    note(store, load=json.dumps(ended), rejects="5", load_begun="1700000100.0")
    found = await gauges(store)
    expected = {
        "rejects": 5,
        "load_start_timestamp_seconds": 1_700_000_100,
        "load_end_timestamp_seconds": 1_700_000_012.5,
        "load_duration_seconds": 12.5,
        "load_exit_code": 3,
        "load_milestones": 3,
        "load_messages": 4,
    }
    assert {name: found[name] for name in expected} == expected


class AwayStore:
    """A store that does not respond: at once, or never."""

    def __init__(self, *, hangs: bool) -> None:
        self._hangs = hangs

    def damage(self) -> None:
        """None was found before."""

    async def disk_space(self) -> NoReturn:
        if self._hangs:
            await asyncio.Event().wait()
        raise StoreUnavailable("refused")


@pytest.mark.thorough
@pytest.mark.parametrize("hangs", [False, True])
async def test_a_store_that_does_not_respond_is_down_and_the_others_are_not_affected(
    store: WritableStore, monkeypatch: pytest.MonkeyPatch, *, hangs: bool
) -> None:
    # The other store must respond within that time, too, and the machine may be busy.
    monkeypatch.setattr("api.gauges.READ_S", 3.0)
    async with client_of({NETWORK: store, "away": AwayStore(hangs=hangs)}) as client:
        response = await client.get("/metrics")
    assert read_gauges(response, "away") == {"store_up": 0, "store_damaged": 0}
    assert read_gauges(response).items() >= WITHOUT_NOTES.items()


async def test_damage_that_a_read_found_is_reported(store: WritableStore) -> None:
    async with client_of({NETWORK: store}) as client:
        assert read_gauges(await client.get("/metrics"))["store_damaged"] == 0
    store.note_damage("a page differs from its checksum")
    async with client_of({NETWORK: store}) as client:
        assert read_gauges(await client.get("/metrics"))["store_damaged"] == 1


class CountingStore:
    """Counts the reads of a store. It cannot describe tables, which would scan them."""

    def __init__(self, store: WritableStore) -> None:
        self._store = store
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        assert name in ("get", "get_many", "slice", "disk_space", "damage"), name
        self.reads += 1
        return getattr(self._store, name)


async def test_scrapes_read_summaries_only_and_not_more_often_than_every_few_seconds(
    store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = CountingStore(store)
    async with client_of({NETWORK: counting}) as client:
        await asyncio.gather(*(client.get("/metrics") for _ in range(5)))
        assert 0 < counting.reads < 20
        before = counting.reads
        await client.get("/metrics")
        assert counting.reads == before
        monkeypatch.setattr("api.gauges.KEPT_S", 0.0)
    async with client_of({NETWORK: counting}) as client:
        await client.get("/metrics")
        once = counting.reads - before
        await client.get("/metrics")
        assert counting.reads == before + 2 * once


@pytest.mark.thorough
async def test_metrics_have_the_lag_of_a_store_that_a_follower_loads(store: WritableStore) -> None:
    assert "milestones_behind" not in await gauges(store)
    follow(store, newest=9, due="[[6,7]]")
    found = await gauges(store)
    assert (found["milestones_behind"], found["days_due_milestones"]) == (2, 2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("wrong_at", "unreconciled"), [(None, 0), (7, 1), (5, 3), (4, 4)], ids=["none", "last", "middle", "first"]
)
async def test_metrics_have_the_milestones_whose_sums_are_wrong(
    store: WritableStore, wrong_at: int | None, unreconciled: int
) -> None:
    """A load compared the sums from the genesis, 4, to 7, and noted the first wrong one."""
    sums = {"supply": 100, "first": 4, "last": 7, "wrong_at": wrong_at, "wrong_sum": wrong_at and 99}
    assert "unreconciled_milestones" not in await gauges(store)
    note(store, reconciled=json.dumps(sums))
    assert (await gauges(store))["unreconciled_milestones"] == unreconciled


async def test_a_node_that_is_behind_the_store_has_no_lag(store: WritableStore) -> None:
    follow(store, newest=3, due="[]")
    assert (await gauges(store))["milestones_behind"] == 0


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
