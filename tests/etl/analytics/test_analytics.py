"""The analytics tables after loads and recomputations, as whole rows, compared with plain Python over the input files
and, for three Shimmer milestones, with inx-chronicle's own figures.
"""

import json
import random
import re
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.cassandra import batch as cassandra_batch
from db.connect import open_adapter, open_store
from db.measures import MEASURES
from db.queries.analytics import ANALYSED, ANALYSED_BY
from db.utc_days import DAY_S, calendar_interval
from etl import runs
from etl.analytics import catch_up as analyse
from etl.analytics.calendar import newly_active, so_far
from etl.analytics.catch_up import STEPS, Step
from etl.analytics.days import counts, daily_analytics
from etl.analytics.milestones import aggregates, rows_of
from etl.engine.session import Session
from etl.jobs import find_job
from etl.report import Notify, Report, quiet
from etl.writers.publish import ANALYSED_TO
from tests import reference, reference_stardust
from tests.conftest import SHARED, needs_shared
from tests.etl import test_stardust_oracle, test_two_eras
from tests.etl.archives import NETWORK, Json, oracle, write
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.store_rows import ANALYTICS, by_key
from tests.etl.test_two_eras import ERAS
from tests.etl.two_eras import FIRST, stardust_lines
from tests.reference_analytics import active_so_far, analytics_rows
from tests.reference_facts import Genesis, Milestone

pytestmark = pytest.mark.loads

CHUNK_SIZE = 7
GAP = range(21, 31)

SHIMMER = SHARED / "iota" / "shimmer"


def stardust_facts() -> tuple[list[Milestone], Genesis]:
    """Facts of the Stardust oracle ledger."""
    genesis = reference.read_json(reference_stardust.ORACLE / "genesis.json")
    lines = test_stardust_oracle.oracle()
    return [reference_stardust.milestone_fact(line) for line in lines], reference_stardust.genesis_fact(genesis)


def facts_of_both() -> tuple[list[Milestone], Genesis]:
    """Facts of the Chrysalis oracle ledger and of the Stardust milestones after it."""
    facts = [reference.milestone_fact(line) for line in oracle()]
    facts += [reference_stardust.milestone_fact(line) for line in stardust_lines()]
    return facts, reference.genesis_fact(reference.read_json(test_two_eras.GENESIS))


@cache
def expected_of_both() -> dict[str, list[Json]]:
    return expected(*facts_of_both())


def expected(facts: Sequence[Milestone], genesis: Genesis, network: str = NETWORK) -> dict[str, list[Json]]:
    rows = analytics_rows(facts, genesis, network, CHUNK_SIZE)
    assert all(rows[table.name] for table in ANALYTICS)
    return {table.name: by_key(table, rows[table.name]) for table in ANALYTICS}


def found_in(loading: Loading) -> dict[str, list[Json]]:
    with closing(open_adapter(loading.store, writable=False)) as store:
        return {table.name: by_key(table, store.read_all(table)) for table in ANALYTICS}


def days_of_both() -> list[tuple[str, list[Milestone]]]:
    """The milestones of each UTC day, in order."""
    facts, _ = facts_of_both()
    dates = groupby(facts, lambda fact: datetime.fromtimestamp(fact.timestamp, UTC).date().isoformat())
    return [(date, [*each]) for date, each in dates]


def days_in(loading: Loading) -> list[Json]:
    with closing(open_adapter(loading.store, writable=False)) as store:
        return by_key(schema.date_cache, store.read_all(schema.date_cache))


def check(found: dict[str, list[Json]], wanted: dict[str, list[Json]]) -> None:
    for table, rows in wanted.items():
        assert found[table] == rows, table


def clear(loading: Loading) -> None:
    """Turns the store into one that never had analytics."""
    with closing(open_store(loading.store, writable=True)) as store:
        lease = store.acquire("test", "clear", 60)
        with store.batch() as batch:
            for table in (*ANALYTICS, schema.date_cache):
                batch.clear(table)
            for name in (ANALYSED, ANALYSED_BY, ANALYSED_TO):
                batch.delete(schema.keyspace_info, (name,))
        store.release(lease)


def recomputed(loading: Loading, first: int | None = None, last: int | None = None) -> dict[str, list[Json]]:
    assert runs.analytics(loading.store, loading.settings, first=first, last=last).exit_code == 0
    return found_in(loading)


@pytest.fixture(scope="module")
def both_eras(everywhere: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """Both eras, in loads that leave a gap and fill it; the ledger state comes from the store."""
    folder = tmp_path_factory.mktemp("both")
    loading = everywhere((CHUNK_SIZE, 3), eras=ERAS, ledger_near=10_000, analytics=True)
    chrysalis = oracle()
    early = [line for line in chrysalis if line["milestone"]["index"] not in GAP]
    late = [line for line in chrysalis if line["milestone"]["index"] in GAP]
    stardust = write(folder / "stardust.jsonl", stardust_lines())
    report = loading.load(write(folder / "early.jsonl", early), stardust, genesis=test_two_eras.GENESIS)
    assert (report.exit_code, report.ledger_index) == (0, GAP.start - 1)
    held = {row["milestone_index"]: row for row in found_in(loading)["ms_analytics"]}
    assert held.keys() == {*range(FIRST + 3)} - {*GAP}
    assert [index for index, row in held.items() if row["holders"] is None] == [*range(GAP.stop, FIRST + 3)]
    report = loading.load(write(folder / "late.jsonl", late))
    assert (report.exit_code, report.ledger_index) == (0, FIRST + 2)
    assert report.rows_by_table["daily_analytics"] == 1, "the day that the gap is in"
    return loading


@on(SQLITE)
def test_a_range_without_milestones_is_an_error(both_eras: Loading) -> None:
    with pytest.raises(ValueError, match=r"^RANGE: the store contains none of these milestones$"):
        recomputed(both_eras, first=FIRST + 3)


@on(SQLITE, LATER_CASSANDRA)
def test_a_gap_filled_later_gives_the_rows_of_the_input_files(both_eras: Loading) -> None:
    check(found_in(both_eras), expected_of_both())
    days = expected_of_both()["daily_analytics"]
    assert [day["milestone_count"] for day in days] == [FIRST + 1, 1]


@on(SQLITE, LATER_CASSANDRA)
def test_what_was_deleted_comes_again_and_twice_is_once(both_eras: Loading) -> None:
    """The ledger state is built from the lake."""
    days = [{"date": date, "start_ms": each[0].index, "end_ms": each[-1].index} for date, each in days_of_both()]
    assert days_in(both_eras) == days
    clear(both_eras)
    assert not any(found_in(both_eras).values())
    assert days_in(both_eras) == []
    for _ in range(2):
        check(recomputed(both_eras), expected_of_both())
        assert days_in(both_eras) == days


@on(SQLITE, LATER_CASSANDRA)
def test_a_day_is_made_again_whatever_the_clock_says(both_eras: Loading, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that does not advance and is far behind."""
    (date, *_) = (row["date"] for row in expected_of_both()["daily_analytics"])
    monkeypatch.setattr(cassandra_batch, "time", SimpleNamespace(time_ns=lambda: 0))
    for value in (b"\x00", b"\xff" * 64):
        with closing(open_store(both_eras.store, writable=True)) as store:
            lease = store.acquire("test", "stale", 60)
            with store.batch() as batch:
                batch.delete(schema.metrics_cache, (date,), fact=batch.last_fact(schema.metrics_cache, (date,)))
                batch.upsert(schema.metrics_cache, schema.metrics_cache.names, [(date, "index", "used", value, 9)])
            store.release(lease)
        assert found_in(both_eras)["metrics_cache"] != expected_of_both()["metrics_cache"]
        for _ in range(2):
            check(recomputed(both_eras, 1, 2), expected_of_both())


def test_only_what_was_requested_is_made_again(stores: Stores, tmp_path: Path) -> None:
    loading = stores((CHUNK_SIZE, 3), eras=ERAS, ledger_near=0, analytics=True)
    lines = write(tmp_path / "chrysalis.jsonl", oracle()), write(tmp_path / "stardust.jsonl", stardust_lines())
    without = loading.load(lines[0], genesis=test_two_eras.GENESIS, analytics=False)
    assert not any(found_in(loading).values())
    assert "daily_analytics" not in without.rows_by_table
    again = loading.load(lines[1])
    assert {f"analytics_{step.name}" for step in STEPS} <= again.seconds.keys()
    check(found_in(loading), expected_of_both())
    clear(loading)
    found = recomputed(loading, 10, 20)
    requested = [row for row in expected_of_both()["ms_analytics"] if 10 <= row["milestone_index"] < 20]
    assert found["ms_analytics"] == requested
    assert found["daily_analytics"] == expected_of_both()["daily_analytics"][:1]
    requested = [row for row in expected_of_both()["address_analytics"] if 10 <= row["milestone_index"] < 20]
    assert found["address_analytics"] == requested != []


def test_milestones_whose_analytics_lag_are_made_and_no_others(stores: Stores, tmp_path: Path) -> None:
    loading = stores((CHUNK_SIZE, 3), eras=ERAS, ledger_near=0, analytics=True)
    lines = write(tmp_path / "chrysalis.jsonl", oracle()), write(tmp_path / "stardust.jsonl", stardust_lines())
    loading.load(lines[0], genesis=test_two_eras.GENESIS)
    loading.load(lines[1], analytics=False)
    wanted = expected_of_both()
    tables = ("ms_analytics", "address_analytics")
    lagging = {name: [row for row in wanted[name] if row["milestone_index"] >= FIRST] for name in tables}
    found = loading.load(lines[1])
    assert found.rows_by_stage["analytics_ledger"] == {name: len(rows) for name, rows in lagging.items()}
    check(found_in(loading), wanted)
    assert "analytics_ledger" not in loading.load(lines[1]).rows_by_stage


@on(SQLITE, LATER_CASSANDRA)
def test_a_named_job_fills_its_tables_and_reports_rows_and_seconds_of_its_step(both_eras: Loading) -> None:
    clear(both_eras)
    wanted, reported = expected_of_both(), {}
    for step in STEPS:
        job = find_job(f"analytics-{step.name}")
        assert job.tables == tuple(table.name for table in step.tables)
        report = runs.analytics(both_eras.store, both_eras.settings, only=job.only)
        assert [*report.rows_by_stage] == [*report.seconds] == ["engine_start", f"analytics_{step.name}"]
        reported |= report.rows_by_stage
        found = found_in(both_eras) | {"date_cache": days_in(both_eras)}
        assert set(job.tables) <= {name for name, rows in found.items() if rows}
    counts = {name: len(rows) for name, rows in wanted.items()}
    late = sum(row["message_count"] is None for row in wanted["ms_analytics"])
    assert reported == {
        "engine_start": {},
        "analytics_milestones": {
            "ms_analytics": counts["ms_analytics"] - late,
            "analytics_ranges": counts["analytics_ranges"],
        },
        "analytics_days": {name: counts[name] for name in ("metrics_cache", "daily_analytics")}
        | {"date_cache": len(days_of_both())},
        "analytics_ledger": {name: counts[name] for name in ("ms_analytics", "address_analytics")},
    }
    check(found_in(both_eras), wanted)


@on(SQLITE, LATER_CASSANDRA)
def test_every_measure_of_stardust_is_that_of_the_input_files(everywhere: Stores, tmp_path: Path) -> None:
    """In one load with the ledger state from the store; then in a store that the lake fills."""
    loading = everywhere((CHUNK_SIZE, 3), test_stardust_oracle.NETWORK, ledger_near=10_000, analytics=True)
    file = write(tmp_path / "milestones.jsonl", test_stardust_oracle.oracle())
    loading.load(file, genesis=reference_stardust.ORACLE / "genesis.json")
    wanted = expected(*stardust_facts(), test_stardust_oracle.NETWORK)
    check(found_in(loading), wanted)
    silent = {name for name in wanted["ms_analytics"][0] if not any(row[name] for row in wanted["ms_analytics"])}
    assert silent == SILENT
    loading.rebuild()
    check(found_in(loading), wanted)


MANY = ("5", "6", "7", "small", "medium", "large", "huge")

SILENT = {
    "alias_governor_changed_count",
    "treasury_transaction_payload_count",
    "treasury_transaction_bytes",
    *(f"legacy{name}" for name in ("_count", "_amount", "_created_count", "_created_amount")),
    *(f"{items}_{size}" for items in ("inputs", "outputs") for size in MANY),
}
"""Columns that are zero throughout the Stardust oracle ledger: legacy outputs are Chrysalis outputs, and the tests
below cover the others.
"""


def test_messages_are_distinguished_by_payload_and_state(session: Session) -> None:
    """With generated messages, a decimal digit each: no message of the ledgers here has a treasury transaction."""
    kinds: list[int | None] = [None, 0, 1, 2, 4, 5, 6, 7]
    rows = session.createDataFrame(
        [(10**at, 7 * 10**at, kind, at % 3, at % 4 == 0, 3 * 10**at) for at, kind in enumerate(kinds)],
        "messages BIGINT, bytes BIGINT, payload_kind INT, inclusion_state INT, is_migrated BOOLEAN, amount BIGINT",
    )
    measures = aggregates([MEASURES["activity"], MEASURES["message_sizes"]])
    found = rows.agg(*measures).collect()[0].asDict()
    of_payloads = {
        "transaction": 1_000_010,
        "treasury_transaction": 10_000,
        "milestone": 10_000_100,
        "tagged_data": 101_000,
    }
    assert found == {
        "message_count": 11_111_111,
        "transaction_count": 10_010_010,
        "conflicting_count": 100_100,
        "no_transaction_count": 1_001_001,
        "no_payload_count": 1,
        "transferred_tokens": 33_303_330,
        **{f"{name}_payload_count": count for name, count in of_payloads.items()},
        "message_bytes": 77_777_777,
        **{f"{name}_bytes": 7 * count for name, count in of_payloads.items()},
    }


def test_transactions_of_any_size_have_their_bucket(session: Session) -> None:
    sizes = list(range(1, 129))
    rows = session.createDataFrame(
        [(messages, state, size, size) for size in sizes for messages, state in ((1, 1), (5, 2), (7, 0))],
        "messages BIGINT, inclusion_state INT, inputs INT, outputs INT",
    )
    counted = rows.agg(*aggregates([MEASURES["transaction_sizes"]])).collect()[0].asDict()
    assert counted == {f"{items}_{size}": 1 for items in ("inputs", "outputs") for size in "1234567"} | {
        f"{items}_{name}": size
        for items in ("inputs", "outputs")
        for name, size in (("small", 8), ("medium", 16), ("large", 32), ("huge", 65))
    }


def test_who_was_active_is_counted_once_an_interval(session: Session) -> None:
    """Over three years, with times that sometimes fall; computed from the first milestone on, and continued at any
    other.
    """
    rng, second = random.Random(5), int(datetime(2020, 12, 29, tzinfo=UTC).timestamp())
    times, owners, wanted = {}, {}, {}
    gathered = defaultdict[tuple[str, Any], set[str]](set)
    for index in range(1, 120):
        second += rng.choice((600, 90_000, 2_000_000)) if rng.random() < 0.8 else -rng.choice((600, 90_000))
        times[index], owners[index] = second, rng.sample("abcdefgh", rng.randint(0, 3))
        milestone: Any = SimpleNamespace(timestamp=second)
        wanted[index] = active_so_far(milestone, [{"address": each} for each in owners[index]], gathered)
    rows = [(index, 1000 * times[index], each.encode()) for index in times for each in owners[index]]
    active = session.createDataFrame(rows, "milestone_index INT, ms_timestamp BIGINT, owner BINARY")
    timed = session.createDataFrame(
        [(index, 1000 * at) for index, at in times.items()], "milestone_index INT, ms_timestamp BIGINT"
    )
    for first in (1, 37, 80):
        before: dict[str, dict[int, int]] = {}
        for index in range(1, first):
            for name, unit in schema.CALENDAR.items():
                begins = DAY_S * calendar_interval(unit, times[index] // DAY_S)[0]
                before.setdefault(name, {})[begins] = wanted[index][name]
        news = newly_active(active).where(f"milestone_index >= {first}").groupBy("milestone_index")
        summed = news.agg(*(F.sum(name).alias(name) for name in schema.CALENDAR))
        rows_so_far = timed.where(f"milestone_index >= {first}").join(summed, "milestone_index", "left").na.fill(0)
        columns = [so_far(name, before.get(name, {})).alias(name) for name in schema.CALENDAR]
        found = {row[0]: row.asDict() for row in rows_so_far.select("milestone_index", *columns).collect()}
        assert found == {index: {"milestone_index": index} | wanted[index] for index in range(first, 120)}


def by_milestone(changes: DataFrame, measure: str) -> DataFrame:
    """One measure of each milestone's changes."""
    rows = rows_of(MEASURES[measure].rows, {"changes": changes})
    return rows.groupBy("milestone_index").agg(*aggregates([MEASURES[measure]]))


def amounts(rng: random.Random) -> int:
    """A u256 of any byte length."""
    return rng.choice((rng.getrandbits(rng.randint(1, 256)) or 1, 1 << rng.randint(0, 255), (1 << 256) - 1))


def test_native_tokens_are_compared_whatever_their_amounts(session: Session) -> None:
    """Hundreds of transactions, one per milestone: one input with tokens, one or two outputs with them."""
    rng, rows, wanted = random.Random(8), [], {}
    for number in range(1, 300):
        taken, made = amounts(rng), amounts(rng) if number % 3 else None
        split = rng.randint(1, made) if made is not None and made > 1 else None
        parts = [part for part in (split, made and made - (split or 0)) if part]
        for is_spent, amount in ((True, taken), *((False, part) for part in parts)):
            data = bytes(9) + b"\x01" + bytes(38) + amount.to_bytes(32, "little")
            rows.append((number, 0, is_spent, (1,), data))
        gone = made is None
        wanted[number] = (not gone and made > taken, not gone, gone or made < taken)
    frame = session.createDataFrame(
        rows,
        "milestone_index INT, white_flag_index INT, is_spent BOOLEAN, stardust STRUCT<native_tokens: SMALLINT>, "
        "data BINARY",
    )
    found = {row[0]: tuple(map(bool, row[1:])) for row in by_milestone(frame, "native_tokens").collect()}
    assert found == wanted
    assert set(wanted.values()) >= {(True, True, False), (False, True, True), (False, False, True)}


def test_a_day_that_moves_more_tokens_than_64_bits_hold_does_not_know_how_many(session: Session) -> None:
    """First of two addresses together, then of one only; nothing moves on the last day."""

    def moved(day: int, *amounts: int) -> tuple[Any, ...]:
        outputs = [(3, bytes([place]), Decimal(amount)) for place, amount in enumerate(amounts)]
        return datetime(2022, 10, day, tzinfo=UTC), "merkle", 1, None, (b"t", outputs, [], None)

    lake = session.createDataFrame(
        [moved(1, 2**62, 2**62 - 1), moved(2, 2**62, 2**62), moved(3, 2**63, 1)],
        "timestamp TIMESTAMP, verified STRING, inclusion_state INT, tagged_data STRUCT<tag: BINARY>, "
        "transaction STRUCT<transaction_id: BINARY, outputs: ARRAY<STRUCT<kind: TINYINT, address: BINARY, "
        "amount: DECIMAL(20,0)>>, unlocks: ARRAY<STRUCT<address: BINARY>>, tagged_data: STRUCT<tag: BINARY>>",
    )
    milestones = session.createDataFrame(
        [(datetime(2022, 10, day, tzinfo=UTC), 1, 1, 0, 1) for day in (1, 2, 3, 4)],
        "timestamp TIMESTAMP, message_count INT, included INT, conflicting INT, transactions INT",
    )
    found = {str(row["date"]): row for row in daily_analytics(counts(lake), milestones).frame.collect()}
    assert {date: row["transferred_tokens"] for date, row in found.items()} == {
        "2022-10-01": 2**63 - 1,
        "2022-10-02": None,
        "2022-10-03": None,
        "2022-10-04": 0,
    }
    assert [row["output_count"] for _, row in sorted(found.items())] == [2, 2, 2, 0]


def test_an_alias_changes_its_state_or_its_governor(session: Session) -> None:
    """The state index follows the native tokens. The first state has one native token, the second none."""

    def alias(state_index: int, tokens: int) -> bytes:
        return b"\x04" + bytes(8) + bytes([tokens]) + bytes(70 * tokens + 32) + state_index.to_bytes(4, "little")

    rows = [
        (1, 0, 4, True, (b"a", b"g", 1), alias(7, 1)),
        (1, 0, 4, False, (b"a", b"g", 0), alias(8, 0)),
        (2, 5, 4, True, (b"a", b"g", 0), alias(8, 0)),
        (2, 5, 4, False, (b"a", b"h", 2), alias(8, 2)),
    ]
    frame = session.createDataFrame(
        rows,
        "milestone_index INT, white_flag_index INT, output_type TINYINT, is_spent BOOLEAN, "
        "stardust STRUCT<chain_id: BINARY, governor: BINARY, native_tokens: SMALLINT>, data BINARY",
    )
    rows = by_milestone(frame, "chains").collect()
    found = {row["milestone_index"]: {n for n, reported in row.asDict().items() if reported} for row in rows}
    assert found == {
        1: {"milestone_index", "alias_state_changed_count"},
        2: {"milestone_index", "alias_governor_changed_count"},
    }


CHANGED = {
    "analytics.active_addresses.count": "active_addresses",
    "analytics.base_tokens.transferred_amount.0": "transferred_amount",
    "analytics.output_activity.nft.created_count": "nft_new_count",
    "analytics.output_activity.nft.transferred_count": "nft_transferred_count",
    "analytics.output_activity.nft.destroyed_count": "nft_destroyed_count",
    "analytics.output_activity.alias.created_count": "alias_new_count",
    "analytics.output_activity.alias.governor_changed_count": "alias_governor_changed_count",
    "analytics.output_activity.alias.state_changed_count": "alias_state_changed_count",
    "analytics.output_activity.alias.destroyed_count": "alias_destroyed_count",
    "analytics.output_activity.foundry.created_count": "foundry_new_count",
    "analytics.output_activity.foundry.transferred_count": "foundry_transferred_count",
    "analytics.output_activity.foundry.destroyed_count": "foundry_destroyed_count",
    "analytics.block_activity.milestone_count": "milestone_payload_count",
    "analytics.block_activity.no_payload_count": "no_payload_count",
    "analytics.block_activity.tagged_data_count": "tagged_data_payload_count",
    "analytics.block_activity.transaction_count": "transaction_payload_count",
    "analytics.block_activity.treasury_transaction_count": "treasury_transaction_payload_count",
    "analytics.block_activity.confirmed_count": "transaction_count",
    "analytics.block_activity.conflicting_count": "conflicting_count",
    "analytics.block_activity.no_transaction_count": "no_transaction_count",
    "analytics.milestone_size.total_milestone_payload_bytes": "milestone_bytes",
    "analytics.milestone_size.total_tagged_data_payload_bytes": "tagged_data_bytes",
    "analytics.milestone_size.total_transaction_payload_bytes": "transaction_bytes",
    "analytics.milestone_size.total_treasury_transaction_payload_bytes": "treasury_transaction_bytes",
    "analytics.milestone_size.total_milestone_bytes": "message_bytes",
}
"""inx-chronicle's name of a measure of events → the name here."""

TOTALS = {
    **{
        f"analytics.ledger_outputs.{kind}.{name}": f"{kind}_{own}"
        for kind in ("basic", "alias", "nft", "foundry")
        for name, own in (("count", "count"), ("amount.0", "amount"))
    },
    **{
        f"analytics.unlock_conditions.{condition}.{name}": f"{condition}_{own}"
        for condition in ("expiration", "timelock", "storage_deposit_return")
        for name, own in (("count", "count"), ("amount.0", "amount"))
    },
    "analytics.unlock_conditions.storage_deposit_return_inner_amount": "storage_deposit_owed",
    "analytics.ledger_size.total_key_bytes": "key_bytes",
    "analytics.ledger_size.total_data_bytes": "data_bytes",
}
"""The same for measures of the state: their initial values are unknown, but their changes are."""

BUCKETS = re.compile(r"analytics\.transaction_size\.(input|output)_buckets\.(?:single\()?(\w+)\)?")

UNKNOWN = {
    "analytics.address_balance.address_with_balance_count",
    "analytics.unclaimed_tokens.unclaimed_count",
    "analytics.unclaimed_tokens.unclaimed_amount.0",
    "analytics.ledger_size.total_storage_deposit_amount.0",
    "analytics.base_tokens.booked_amount.0",
}
"""Measures of the whole state before, which the file does not contain, and derived ones with tests of their own."""


def stated() -> dict[int, dict[str, int]]:
    """measurements.ron: milestone → measure → value."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (SHIMMER / "measurements.ron").read_text())
    found = json.loads(re.sub(r",(\s*\})", r"\1", re.sub(r"(\d+): \{", r'"\1": {', text)))
    return {int(index): values for index, values in found.items()}


def mongo_address(value: Json) -> Json:
    ((kind, data),) = value.items()
    number, name = {"ed25519": (0, "pubKeyHash"), "alias": (8, "aliasId"), "nft": (16, "nftId")}[kind]
    return {"type": number, name: mongo_hex(data)}


def mongo_hex(value: Json) -> str:
    return "0x" + b64decode(value["$binary"]["base64"]).hex()


def mongo_feature(value: Json) -> Json:
    number = ("sender", "issuer", "metadata", "tag").index(value["kind"])
    if number < 2:
        return {"type": number, "address": mongo_address(value["address"])}
    return {"type": number, "data" if number == 2 else "tag": mongo_hex(value["data"])}


def mongo_output(value: Json) -> Json:
    """A spent output of in_memory_data.json as a node's JSON, with only the conditions that these outputs have."""
    conditions = {"address_unlock_condition": 0, "state_controller_address_unlock_condition": 4}
    conditions["governor_address_unlock_condition"] = 5
    found: Json = {
        "type": {"basic": 3, "alias": 4, "nft": 6}[value["kind"]],
        "amount": value["amount"],
        "unlockConditions": [
            {"type": number, "address": mongo_address(value[name]["address"])}
            for name, number in conditions.items()
            if name in value
        ],
        "features": [mongo_feature(each) for each in value["features"]],
        "nativeTokens": [mongo_token(each) for each in value["native_tokens"]],
    }
    found |= {"immutableFeatures": [mongo_feature(each) for each in value.get("immutable_features", ())]}
    if value["kind"] == "alias":
        found |= {"aliasId": mongo_hex(value["alias_id"]), "stateIndex": value["state_index"]}
        found |= {"stateMetadata": mongo_hex(value["state_metadata"]), "foundryCounter": value["foundry_counter"]}
    if value["kind"] == "nft":
        found |= {"nftId": mongo_hex(value["nft_id"])}
    return found


def mongo_token(value: Json) -> Json:
    amount = b64decode(value["amount"]["$binary"]["base64"])
    return {"id": mongo_hex(value["token_id"]), "amount": hex(int.from_bytes(amount, "big"))}


def shimmer_genesis() -> Json:
    """The outputs that the three milestones spend but did not create, as a genesis; all other tokens are in the
    treasury.
    """
    data = reference.read_json(SHIMMER / "in_memory_data.json")
    ids = {json.dumps(each["output_id"]) for milestone in data.values() for each in milestone["created"]}
    outputs = []
    for milestone in data.values():
        for each in (spent["output"] for spent in milestone["consumed"]):
            if json.dumps(each["output_id"]) not in ids:
                index = each["output_id"]["index"].to_bytes(2, "little").hex()
                output_id = mongo_hex(each["output_id"]["transaction_id"]) + index
                made = mongo_output(each["output"])
                size = len(reference_stardust.output_bytes(made)) + 40
                assert size == each["rent_structure"]["num_data_bytes"]
                outputs.append({"outputId": output_id, "output": made})
    supply = 1_813_620_509_061_365
    left = supply - sum(int(each["output"]["amount"]) for each in outputs)
    network_id = int.from_bytes(blake2b(b"shimmer", digest_size=32).digest()[:8], "little")
    return {
        "network": "shimmer",
        "networkId": str(network_id),
        "bech32Hrp": "smr",
        "ledgerIndex": 17_338,
        "treasury": {"milestoneId": f"0x{'00' * 32}", "amount": str(left)},
        "coordinatorPublicKeys": [],
        "outputs": outputs,
    }


@needs_shared
def test_three_milestones_of_shimmer_are_what_inx_chronicle_counted(stores: Stores, tmp_path: Path) -> None:
    loading = stores((100_000, 100_000), "shimmer", ledger_near=10_000, analytics=True)
    genesis = tmp_path / "genesis.json"
    genesis.write_text(json.dumps(shimmer_genesis()))
    report = loading.load(SHIMMER / "in_memory_data.json", genesis=genesis)
    assert (report.complete, report.ledger_index, report.held) == (3, 17_341, "")
    rows = {row["milestone_index"]: row for row in found_in(loading)["ms_analytics"]}
    before: dict[str, Any] = {}
    for index, values in stated().items():
        row = rows[index]
        buckets = {name: f"{found[1]}s_{found[2]}" for name in values if (found := BUCKETS.fullmatch(name))}
        assert len(buckets) == 22
        names = CHANGED | buckets
        assert {name: row[own] for name, own in names.items()} == {name: values[name] for name in names}
        booked = sum(row[f"{kind}_created_amount"] for kind in ("basic", "alias", "foundry", "nft"))
        assert booked == values["analytics.base_tokens.booked_amount.0"]
        if before:
            moved = {name: row[own] - rows[index - 1][own] for name, own in TOTALS.items()}
            assert moved == {name: values[name] - before[name] for name in TOTALS}
            cost = 100 * sum(
                weight * (row[name] - rows[index - 1][name]) for name, weight in (("key_bytes", 10), ("data_bytes", 1))
            )
            name = "analytics.ledger_size.total_storage_deposit_amount.0"
            assert cost == values[name] - before[name]
        assert values.keys() == names.keys() | TOTALS.keys() | UNKNOWN
        before = values


def test_steps_run_side_by_side_and_one_that_fails_leaves_its_milestones_to_the_next_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    infos = {ANALYSED: "[[1, 50]]"}
    met, shown = Barrier(2, timeout=30), list[tuple[int, int | None]]()

    def fails(*_: object) -> None:
        met.wait()
        raise ValueError("no disk")

    steps = (
        Step("milestones", "", (schema.ms_analytics,), lambda *_: met.wait() and None),
        Step("days", "", (schema.daily_analytics,), fails),
    )
    monkeypatch.setattr(analyse, "STEPS", steps)
    publication = noting(infos, lambda progress: shown.append((progress.done, progress.total)))
    with pytest.raises(ValueError, match="no disk"):
        analyse.analyse(publication, [(10, 19)], ledger=[])
    assert infos[ANALYSED] == "[[1, 9], [20, 50]]"
    assert shown[0] == (0, 2)
    monkeypatch.setattr(analyse, "STEPS", (*steps[:1], Step("ledger", "", (schema.rich_list,), steps[0].run)))
    analyse.analyse(publication, [(10, 19)], ledger=[(10, 19)])
    assert (infos[ANALYSED], shown[-2:]) == ("[[1, 50]]", [(0, 2), (2, 2)])


def noting(infos: dict[str, str], notify: Notify = quiet) -> Any:
    """A publication of milestones 1 to 60 that collects its log messages in `infos`."""

    @contextmanager
    def batch() -> Iterator[Any]:
        yield SimpleNamespace(upsert=lambda _, __, rows: infos.update(rows))

    return SimpleNamespace(
        reads=SimpleNamespace(complete=lambda: [(1, 60)], info=infos.get),
        store=SimpleNamespace(batch=batch),
        report=Report(run="1"),
        notify=notify,
    )


@pytest.mark.parametrize("only", [None, "days"])
def test_milestones_do_not_count_as_analysed_while_they_are_analysed_again(
    only: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster has no transactions: if a run is killed after it deleted a day's rows, the next load inserts them
    again.
    """
    infos = {ANALYSED: "[[1, 50]]"}
    seen: list[str] = []
    monkeypatch.setattr(analyse, "STEPS", (Step("days", "", (), lambda *_: seen.append(infos[ANALYSED])),))
    analyse.analyse(noting(infos), [(10, 19), (51, 55)], ledger=[], only=only)
    assert seen == ["[[1, 9], [20, 50]]"]
    assert infos == {ANALYSED: "[[1, 55]]" if only is None else "[[1, 50]]", ANALYSED_BY: "1"}
