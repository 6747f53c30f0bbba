"""CSV and NDJSON exports of whole listings are produced at the pace of the client: no read-ahead, no copy of sent rows.

An address receives an output in each of COUNT milestones, far more than one read returns.
"""

import asyncio
import csv
import gc
import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.connect import StoreSettings
from db.queries import series
from db.store import Row
from db.sync import range_row
from ledger.crypto.bech32 import format_address
from tests.api.conftest import filled_with
from tests.api.oracle import Json
from tests.reference_rows import Rows

NETWORK, HRP = "long-1", "atoi"
COUNT = 9_000
MOST_ROWS = 4_000
"""Rows of a part: a page of a thousand, the rows that its items need beside, and one read ahead; or a day's milestones.
"""

LITTLE = 50_000
"""Bytes. The rows of a part take ten times as many."""

ADDRESS = "00" + "aa" * 32
TIMES = {index: 1_640_995_200 + 60 * index for index in range(1, COUNT + 1)}
"""Milestone → its time: a little more than six days, each with more milestones than one read returns."""


def day_of(unix_s: int) -> str:
    return str(datetime.fromtimestamp(unix_s, UTC).date())


def rows() -> Rows:
    synced = {"ms_range_id": 0, "synced_by": 0, "layout": schema.LAYOUT}
    sync = [dict.fromkeys(schema.sync.names) | synced | at(index) for index in TIMES]
    owned = {"address": ADDRESS, "ms_range_id": 0}
    location = owned | {"output_kind": "legacy", "variant": "address", "included": True, "partition_id": 0}
    made = {index: {"amount": index, "output_id": f"{index:064x}0000"} for index in TIMES}
    by = {index: {"message_id": f"{index:064x}", "transaction_id": f"{index:064x}"} for index in TIMES}
    days = {day: list(held) for day, held in groupby(TIMES, lambda index: day_of(TIMES[index]))}
    return {
        "ranges": [range_row(NETWORK, 0, sync)],
        "ledger_frontier": [{"network": NETWORK, "ledger_index": index} for index in (0, COUNT)],
        "addresses_hints": [location | {"output_kind": kind} for kind in ("legacy", "ledger", "transaction")],
        "ms_analytics": [at(index) | {"ms_range_id": 0, "message_count": index, "holders": 1} for index in TIMES],
        "daily_analytics": [{"year": int(day[:4]), "date": day} for day in days],
        "date_cache": [{"date": day, "start_ms": held[0], "end_ms": held[-1]} for day, held in days.items()],
        "address_analytics": [owned | at(index) | {"sent_tokens": 0, "recv_tokens": index} for index in TIMES],
        "address_balances": [owned | {"milestone_index": index, "balance": index} for index in TIMES],
        "ledger_updates_by_address": [
            owned | at(index) | made[index] | by[index] | {"partition_id": 0, "is_spent": False} for index in TIMES
        ],
        "outputs_by_address": [
            location | at(index) | made[index] | {"message_id": f"{index:064x}", "output_type": 0} for index in TIMES
        ],
        "outputs": [
            made[index] | {"created_milestone_index": index, "output_kind": "legacy", "address": ADDRESS}
            for index in TIMES
        ],
        "transactions_by_address": [
            owned | at(index) | by[index] | {"included": True, "partition_id": 0, "direction": "received"}
            | {"received": index, "inputs_count": 1, "outputs_count": 1}
            for index in TIMES
        ],
    }  # fmt: skip


def at(index: int) -> Row:
    return {"milestone_index": index, "ms_timestamp": 1000 * TIMES[index]}


class Watched:
    """A store that counts the rows it returned and the reads that are still running."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.rows = self.requested = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def watched(*arguments: Any, **named: Any) -> Any:
            self.requested += 1
            found = await method(*arguments, **named)
            self.requested -= 1
            self.rows += len(found) if isinstance(found, list) else 1
            return found

        return watched

    async def quiet(self) -> None:
        """Returns once no request is running any more."""
        idle = 0
        while idle < 100:
            idle = 0 if self.requested else idle + 1
            await asyncio.sleep(0)


@dataclass(frozen=True)
class Part:
    """Rows read for a part, and Python's memory in bytes when the client received it."""

    rows: int
    held: int


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    filled = filled_with(StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('long')}", NETWORK), rows())
    yield filled
    filled.close()


async def taken(store: Any, path: str, media_type: str, query: Json, into: Path) -> list[Part]:
    """The parts of a listing. Each is received once everything else is idle, and written to a file, since memory is
    measured.
    """
    watched: Any = Watched(store)
    app = create_app({"long": NetworkMount(watched, NETWORK, HRP)}, "long", ApiSettings())
    parts: list[Part] = []

    async def receive() -> Json:
        return await asyncio.get_running_loop().create_future()

    async def send(message: Json) -> None:
        if message["type"] == "http.response.body":
            await watched.quiet()
            file.write(message["body"])
            parts.append(Part(watched.rows, tracemalloc.get_traced_memory()[0]))
            watched.rows = 0

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": urlencode(query).encode(),
        "headers": [(b"accept", media_type.encode())],
        "root_path": "",
    }
    gc.collect()
    tracemalloc.start()
    try:
        with into.open("wb") as file:
            await app(scope, receive, send)
    finally:
        tracemalloc.stop()
    return parts


BECH32 = format_address(HRP, bytes.fromhex(ADDRESS))
HOURS = sorted({time // 3600 * 3600 for time in TIMES.values()})
LISTINGS: dict[str, tuple[str, Json, str, list[Any]]] = {
    "milestones": ("analytics/v2/series/milestone", {}, "milestoneIndex", [*TIMES]),
    "newest": ("analytics/v2/series/milestone", {"sort": "newest"}, "milestoneIndex", [*TIMES][::-1]),
    "hours": ("analytics/v2/series/hour", {}, "timestamp", HOURS),
    "days": ("analytics/v2/series/day", {"measures": "messageBytes"}, "date", sorted({*map(day_of, HOURS)})),
    "address": (f"analytics/v2/addresses/{BECH32}", {"sort": "oldest"}, "milestoneIndex", [*TIMES]),
    "updates": (f"explorer/v2/ledger/updates/by-address/{BECH32}", {"sort": "oldest"}, "milestoneIndex", [*TIMES]),
    "outputs": (f"explorer/v2/ledger/outputs/by-address/{BECH32}", {"sort": "oldest"}, "milestoneIndex", [*TIMES]),
    "history": (f"v1/addresses/{BECH32}/tx-history", {}, "ReferencedByMilestoneIndex", [*TIMES]),
}
"""Path and parameters, the field that contains an item's position, and all expected positions."""

EXPORTS = [(listing, "text/csv") for listing in LISTINGS] + [("updates", "application/x-ndjson")]
"""The parts of a listing are the same in both forms."""


@pytest.mark.thorough
@pytest.mark.parametrize(("listing", "media_type"), EXPORTS)
async def test_no_more_is_read_than_is_taken_and_what_is_taken_is_not_kept(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: str, media_type: str
) -> None:
    # All days would be one part, as these milestones are fewer than a page may read.
    monkeypatch.setattr(series, "EXAMINED", 1_000)
    path, query, name, expected = LISTINGS[listing]
    into = tmp_path / "listing"
    parts = await taken(store, f"/api/{path}", media_type, query, into)
    table = into.read_text("utf-8").rpartition("\n\n")[2].splitlines()
    items = csv.DictReader(table) if media_type == "text/csv" else map(json.loads, table)
    assert [str(item[name]) for item in items] == [str(each) for each in expected]
    assert max(part.rows for part in parts) <= MOST_ROWS
    held = [part.held for part in parts[1:-1]]
    half = len(held) // 2
    # Every other part may be waiting in a buffer.
    assert max(held[half:]) - max(held[:half]) < LITTLE
