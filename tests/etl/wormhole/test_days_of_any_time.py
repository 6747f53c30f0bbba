"""Messages that claim days before Wormhole began or after today, or were seen there, are in coverage and in counts over
all time.

The network is invented, the guardian's key is a test key. The tests state their expected values.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.admin.wormhole_status import get_holdings
from db.connect import open_store
from db.schema.wormhole_tables import OWN
from etl.deep_check import wormhole as deep_check
from etl.wormhole import load
from ledger.wormhole.payloads import TokenTransfer
from ledger.wormhole.vaa import Vaa, encode_vaa
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.deep_check.checking import checked, differing
from tests.etl.vaas import DAY_S, since, write_lines
from tests.ledger.wormhole.cases import PRIVATE, guardian_set, signed, written

pytestmark = pytest.mark.loads

NETWORK = "wormhole-devnet"
EMITTER = bytes([0x0E] * 32)
BRIDGE = bytes.fromhex("0290fb167208af455bb137780163b7b7a9a10c16".zfill(64))
"""The token bridge of chain 2 on devnet."""

FUTURE = (datetime.now(UTC).date() + timedelta(400)).isoformat()
"""A day that is after today while the tests run."""

LAST_OF_BODY, LAST = "2106-02-07", "9999-12-31"
"""The last days of a timestamp in a body, and of an observation."""

MS = 1_000


def line(sequence: int, day: str | None, *, seen: str | None = None, moves: bool = False, keys: int = 1) -> str:
    """A message with the timestamp of a day, or none; `seen` is the day of its observation."""
    payload = written(TokenTransfer(5, bytes([0x11] * 32), 2, bytes([0x33] * 32), 4, 0)) if moves else b"payload"
    at = 0 if day is None else since(day) * DAY_S
    chain, emitter = (2, BRIDGE) if moves else (1, EMITTER)
    vaa = signed(Vaa(0, (), at, 0, chain, emitter, sequence, 1, payload), PRIVATE[:keys])
    observed = None if seen is None else since(seen) * DAY_S * MS
    return json.dumps({"vaa": encode_vaa(vaa).hex(), "observed_at": observed})


EARLY_AND_LATE = [
    line(1, "1970-01-02"),
    line(2, "2020-05-01", moves=True),
    line(3, "2021-06-30"),
    line(4, "2021-07-01"),
    line(5, "2023-03-03", moves=True),
    line(6, FUTURE, moves=True),
    line(7, LAST_OF_BODY),
    line(8, "2023-03-03", seen="2020-05-02"),
    line(9, "2023-03-03", seen=LAST),
    line(10, None),
    # Not verified.
    line(11, "2019-01-01", keys=0),
]
SEEN_EARLIER = [line(7, LAST_OF_BODY, seen="2022-02-02")]
DAYS = ["1970-01-02", "2020-05-01", "2020-05-02", "2021-06-30", "2021-07-01", "2023-03-03", FUTURE, LAST_OF_BODY, LAST]
MOVING = ["2020-05-01", "2023-03-03", FUTURE]
"""Days with transfers."""


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (load, deep_check):
        monkeypatch.setattr(module, "PUBLISHED", {"devnet": [guardian_set(0, PRIVATE[:1])]})


def responses(loading: Loading, *paths: str) -> list[Any]:
    async def read(app: Any) -> list[Any]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            return [(await client.get(f"/api/wormhole/v1/{path}")).json() for path in paths]

    with closing(open_store(loading.store)) as store:
        mount = NetworkMount(store, NETWORK, wormhole="devnet")
        return asyncio.run(read(create_app({NETWORK: mount}, NETWORK, ApiSettings())))


def ranges(days: Iterable[str]) -> Iterator[dict[str, str]]:
    """Ranges of days, which are in ascending order."""
    first = last = None
    for day in days:
        if last is None or since(day) > since(last) + 1:
            if first is not None:
                yield {"first": first, "last": last or first}
            first = day
        last = day
    if first is not None:
        yield {"first": first, "last": last or first}


@on(SQLITE, LATER_CASSANDRA)
def test_days_before_wormhole_began_and_after_today_count(everywhere: Stores, tmp_path: Path) -> None:
    loading = everywhere(network=NETWORK)
    loading.load(write_lines(tmp_path / "all.jsonl", EARLY_AND_LATE))
    covered, counts, until_2021, cards = responses(
        loading, "coverage", "vaas/vaa-counts", "scorecards?until=2021-12-31", "scorecards"
    )
    assert covered == {"days": [*ranges(DAYS)], "messages": 10, "undated": 1}
    assert counts == {"data": [{"chainId": 1, "count": 7}, {"chainId": 2, "count": 3}]}
    assert (until_2021["total_messages"], until_2021["total_tx_count"]) == ("6", "1")
    assert (cards["total_messages"], cards["total_tx_count"]) == ("7", "2")
    assert differing(checked(loading)) == []
    # An observation moves a message to another day, and the day without messages is not stored any more.
    loading.load(write_lines(tmp_path / "seen.jsonl", SEEN_EARLIER))
    (covered,) = responses(loading, "coverage")
    moved = sorted({*DAYS, "2022-02-02"} - {LAST_OF_BODY})
    assert covered == {"days": [*ranges(moved)], "messages": 10, "undated": 1}
    assert differing(checked(loading)) == []


def test_the_days_are_the_same_in_any_order_of_loads(stores: Stores, tmp_path: Path) -> None:
    at_once, reverse = stores(network=NETWORK), stores(network=NETWORK)
    at_once.load(write_lines(tmp_path / "all.jsonl", EARLY_AND_LATE + SEEN_EARLIER))
    whole = at_once.rows()
    counted = {*DAYS, "1970-01-01", "2022-02-02"} - {LAST_OF_BODY}
    expected = {("totals", since(day)) for day in counted}
    expected |= {(measure, since(day)) for day in MOVING for measure in ("transfers", "addresses")}
    assert sorted((row["measure"], row["day"]) for row in whole["vaa_days"]) == sorted(expected)
    for number, text in enumerate(reversed(SEEN_EARLIER + EARLY_AND_LATE)):
        reverse.load(write_lines(tmp_path / f"{number}.jsonl", [text]))
    found = reverse.rows()
    for table in OWN:
        assert found[table.name] == whole[table.name], table.name
    at_once.rebuild()
    assert at_once.rows() == whole


def test_periods_contain_days_before_wormhole_began(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network=NETWORK)
    loading.load(write_lines(tmp_path / "all.jsonl", EARLY_AND_LATE))
    (found,) = responses(
        loading,
        "x-chain-activity/tops?timespan=1mo&from=2020-04-01T00:00:00Z&to=2020-07-01T00:00:00Z",
    )
    assert [(each["from"][:10], each["count"]) for each in found] == [("2020-05-01", 1)]


def test_the_status_counts_emitters_of_chains_without_a_known_number(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network=NETWORK)
    unknown = [Vaa(0, (), 1_700_000_000, 0, 9_999, EMITTER, sequence, 1, b"") for sequence in (0, 5)]
    lines = [json.dumps({"vaa": encode_vaa(signed(each, PRIVATE[:1])).hex()}) for each in unknown]
    loading.load(write_lines(tmp_path / "unknown.jsonl", [line(1, "2023-03-03"), *lines]))
    with closing(open_store(loading.store)) as store:
        found = asyncio.run(get_holdings(store))
    assert (found.verified, found.verdicts, found.emitters) == (3, {"verified": 3}, 2)
    assert [(each.emitter_chain, each.first, each.last, each.missing) for each in found.gaps] == [(9_999, 0, 5, 4)]
