"""`permanode status` and `permanode purge` over a small store whose rows the test inserts itself."""

import json
import re
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli import main as cli
from cli.status_text import age_text
from db import schema
from db.connect import StoreSettings, open_store
from db.queries.reconciliation import Reconciliation
from db.sqlite.store import SqliteStore
from tests.db.stores import MIGRATIONS
from tests.sqlite_stores import create

NETWORK = "permatest-1"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreSettings:
    """Complete: 1–3 (signed) and 6 (Merkle root only); 4 has a reject, 5 is missing; archive files contain 2–4."""
    monkeypatch.chdir(tmp_path)
    settings = StoreSettings(url=f"sqlite:///{tmp_path}/store", network=NETWORK, chunk_size=7)
    monkeypatch.setenv("PERMANODE_STORE", settings.url)
    monkeypatch.setenv("PERMANODE_NETWORK", NETWORK)
    monkeypatch.setenv("PERMANODE_STORE_CHUNK_SIZE", "7")
    create(settings)
    with closing(open_store(settings, writable=True)) as opened, opened.batch() as batch:
        ranges = ("network", "ms_range_id", "complete", "incomplete", "message_count", "logged", "min_timestamp")
        batch.upsert(
            schema.ranges, ranges, [(NETWORK, 0, "[[1, 3], [6, 6]]", "[[4, 4]]", 70, "[[2, 4]]", 1_632_102_746_000)]
        )
        levels = '{"merkle": [[6, 6]], "signed": [[1, 3]]}'
        batch.upsert(schema.proofs, ("network", "ms_range_id", "levels"), [(NETWORK, 0, levels)])
        rejects = ("milestone_index", "file", "line", "item", "reason")
        batch.upsert(schema.rejects, rejects, [(4, "a.log", 4, "", "key nonce is missing")])
        batch.upsert(schema.rejects, rejects, [(-1, "a.log", 9, "", "not JSON")])
        columns = ("ms_range_id", "milestone_index", "ms_timestamp")
        batch.upsert(schema.sync, columns, [(0, 6, 1_632_189_146_038)])
    return settings


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_status_reports_complete_incomplete_and_missing_milestones_and_rejects(store: StoreSettings) -> None:
    years = int((time.time() - 1_632_189_146) / (365.25 * 86_400))
    assert run("status").splitlines() == [
        "network     permatest-1: 70 messages",
        "milestones  4 complete, 1 incomplete, 1 missing",
        f"newest      milestone 6 of 2021-09-21 01:52:26 UTC, {years} years old",
        "dates       2021-09-20 to 2021-09-21",
        "ledger      none; load with --genesis",
        "coverage    1 ▓▓▓··▒ 6  66.6 %",
        "            █ full  ▓ signed  ▒ merkle  ░ believed  + in part  · none",
        "complete    1:4, 6",
        "incomplete  4",
        "missing     5",
        "signed      1:4",
        "merkle      6",
        "unlogged    1, 6",
        "rejects     2; `permanode rejects list`",
        *run("status").splitlines()[14:],
    ]
    *_, size, created, load, writer = run("status").splitlines()
    assert re.fullmatch(r"size        [\d.]+ [kM]B, [\d.]+ [kMGTP]B free; \d+ rows; `permanode status --tables`", size)
    assert load == "load        none noted"
    assert created == "created as  protocol iota, layout 2, chunk 7, partition 100000"
    assert writer == "writer      none; newest engine none"
    assert len(run("status").splitlines()) == 18


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 seconds"),
        (0.9, "0 seconds"),
        (1, "1 second"),
        (1.9, "1 second"),
        (2, "2 seconds"),
        (60, "60 seconds"),
        (119.9, "119 seconds"),
        (120, "2 minutes"),
        (7_199.9, "119 minutes"),
        (7_200, "2 hours"),
        (10_799, "2 hours"),
        (172_799.9, "47 hours"),
        (172_800, "2 days"),
        (63_115_199, "730 days"),
        (63_115_200, "2 years"),
        (94_672_799, "2 years"),
        (63_115_200_000, "2,000 years"),
    ],
)
def test_an_age_is_in_the_longest_unit_of_which_two_have_passed_and_never_rounded_up(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


@given(st.floats(0, 10**11), st.floats(0, 10**11))
def test_a_shorter_age_is_never_written_as_a_longer_one(left: float, right: float) -> None:
    def written(seconds: float) -> float:
        count, unit = age_text(seconds).split()
        lengths = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "year": 31_557_600}
        return int(count.replace(",", "")) * lengths[unit.removesuffix("s")]

    shorter, longer = sorted((left, right))
    assert written(shorter) <= written(longer) <= longer


def test_damage_that_a_read_found_is_reported(store: StoreSettings) -> None:
    before = run("status").splitlines()
    with closing(open_store(store)) as opened:
        opened.note_damage("a page differs from its checksum")
    damage = "damage      a page differs from its checksum; `permanode fsck`"
    assert run("status").splitlines() == [*before[:14], damage, *before[14:]]
    assert json.loads(run("status", "--json"))["damage"] == "a page differs from its checksum"


@pytest.mark.parametrize(
    ("exit_code", "begun_at", "text"),
    [
        (3, None, "2025-10-09 08:53:20 UTC, 70 messages of 4 milestones in 12.5 s"),
        (1, None, "2025-10-09 08:53:20 UTC, failed after 12.5 s"),
        (0, 1_760_000_100.0, "…; one began at 2025-10-09 08:55:00 UTC, not ended"),
    ],
    ids=["ended", "failed", "killed"],
)
def test_the_newest_load_and_one_that_has_not_ended_are_reported(
    store: StoreSettings, exit_code: int, begun_at: float | None, text: str
) -> None:
    note = {"run": "a", "began_at": 1_759_999_987.5, "ended_at": 1_760_000_000.0, "exit_code": exit_code}
    note |= {"milestones": 4, "messages": 70, "rejects": 2}
    notes = [
        ("load", json.dumps(note)),
        ("rejects", "7"),
        *([] if begun_at is None else [("load_begun", str(begun_at))]),
    ]
    with closing(open_store(store, writable=True)) as opened, opened.batch() as batch:
        batch.upsert(schema.keyspace_info, ("name", "value"), notes)
    printed = run("status").replace("\n" + 12 * " ", " ")
    (line,) = re.findall(r"^load +(.*)$", printed, re.MULTILINE)
    assert line.endswith(text.removeprefix("…"))
    assert "rejects     7;" in printed
    assert json.loads(run("status", "--json"))["loads"]["ended"] == note


def test_the_size_is_that_of_the_stores_files(store: StoreSettings) -> None:
    folder = Path(store.url.removeprefix("sqlite:///"))
    files = sum(path.stat().st_size for path in folder.glob("gen-*") if path.suffix != ".sqlite-shm")
    assert json.loads(run("status", "--json"))["space"]["used"] == files


def test_tables_and_migrations_are_shown_on_request(store: StoreSettings) -> None:
    lines = run("status", "--tables").splitlines()
    assert lines[: len(run("status").splitlines())] == run("status").splitlines()
    found = json.loads(run("status", "--json"))
    rows = [line.split() for line in lines[len(run("status").splitlines()) + 2 :] if line]
    tables = [[each["table"], f"{each['rows']:,}", f"{each['bytes']:,}"] for each in found["tables"]]
    assert rows == [*tables, *(["migration", name] for name in found["migrations"])]


def test_what_is_missing_at_the_ledgers_beginning_is_reported_too(store: StoreSettings) -> None:
    """The ledger starts after milestone 0, and nothing before 9 was loaded."""
    with closing(open_store(store, writable=True)) as opened, opened.batch() as batch:
        ranges = ("network", "ms_range_id", "complete", "incomplete", "message_count")
        batch.upsert(schema.ranges, ranges, [(NETWORK, 0, "[[9, 10]]", "[]", 70)])
    assert "coverage    9 ░░ 10  100.0 %\n" in run("status")
    with closing(open_store(store, writable=True)) as opened, opened.batch() as batch:
        batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [(NETWORK, 0)])
    text = run("status")
    assert "coverage    1 ········░░ 10  20.0 %\n" in text
    assert "missing     1:9\n" in text
    assert "ledger      0\n" in text


def test_status_as_json_has_rows_and_bytes_of_every_table_and_the_versions(store: StoreSettings) -> None:
    found = json.loads(run("status", "--json"))
    assert found["missing"] == [[5, 5]]
    assert found["unlogged"] == [[1, 1], [6, 6]]
    assert found["proved"] == {"believed": [], "merkle": [[6, 6]], "signed": [[1, 3]], "full": []}
    assert found["versions"]["chunk_size"] == "7"
    assert found["migrations"] == MIGRATIONS
    assert found["writer"] is None
    rows = {table["table"]: table["rows"] for table in found["tables"]}
    assert rows["rejects"] == 2
    assert rows["messages"] == 0


def test_the_bar_of_many_milestones_shows_every_gap_and_never_claims_all(store: StoreSettings) -> None:
    with closing(open_store(store, writable=True)) as opened, opened.batch() as batch:
        ranges = ("network", "ms_range_id", "complete", "incomplete", "message_count")
        batch.upsert(schema.ranges, ranges, [(NETWORK, 0, "[[1, 29999], [30001, 60000]]", "[]", 70)])
    assert f"coverage    1 {'░' * 19}+{'░' * 20} 60,000  99.9 %\n" in run("status")


@pytest.mark.thorough
def test_a_status_with_much_in_it_fits_one_screen(store: StoreSettings) -> None:
    """Many short intervals of every level, a follower, rejects: 24 lines of 80 cells."""
    complete = [[10 * index, 10 * index + 3] for index in range(5_000)]
    levels = {name: complete[at::4] for at, name in enumerate(("believed", "merkle", "signed", "full"))}
    with closing(open_store(store, writable=True)) as opened, opened.batch() as batch:
        ranges = ("network", "ms_range_id", "complete", "incomplete", "message_count", "min_timestamp")
        incomplete = [[10 * index + 5, 10 * index + 6] for index in range(5_000)]
        row = (NETWORK, 0, json.dumps(complete), json.dumps(incomplete), 7 * 10**9, 1_600_000_000_000)
        batch.upsert(schema.ranges, ranges, [row])
        batch.upsert(schema.proofs, ("network", "ms_range_id", "levels"), [(NETWORK, 0, json.dumps(levels))])
        newest = 49_993
        batch.upsert(
            schema.sync, ("ms_range_id", "milestone_index", "ms_timestamp"), [(newest // 7, newest, 1_632_189_146_000)]
        )
        batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [(NETWORK, 49_993), (NETWORK, 0)])
        sums = Reconciliation(2_779_530_283_277_761, 0, 49_993).text()
        batch.upsert(
            schema.keyspace_info,
            ("name", "value"),
            [("head", json.dumps([60_000, 1_632_189_200, 12_345.5])), ("reconciled", sums)],
        )
    lines = run("status").splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert {line.split()[0] for line in lines if not line.startswith(" ")} >= {
        "newest", "dates", "ledger", "coverage", "complete", "incomplete", "missing", "full", "signed", "merkle",
        "believed", "unlogged", "lag", "rejects", "size", "writer",
    }  # fmt: skip
    (listed,) = (line for line in lines if line.startswith("complete"))
    shown = listed.removeprefix("complete    ").partition(" and ")[0].split(", ")
    assert shown == [f"{10 * index}:{10 * index + 4}" for index in range(len(shown))]
    assert listed.endswith(f" and {5_000 - len(shown):,} more")


def test_status_names_the_writer_while_somebody_loads(store: StoreSettings) -> None:
    with closing(open_store(store, writable=True)) as opened:
        lease = opened.acquire("elsewhere:1", "run", 60)
        assert "writer      elsewhere:1" in run("status")
        opened.release(lease)


def test_purge_deletes_what_has_expired_and_nothing_else(store: StoreSettings, tmp_path: Path) -> None:
    def write_pending(message_id: bytes, age_s: int) -> None:
        adapter = SqliteStore(tmp_path / "store", writable=True, clock=lambda: time.time() - age_s)
        with closing(adapter), adapter.batch() as batch:
            batch.upsert(schema.pending_messages, ("message_id", "version", "message"), [(message_id, 1, b"m")])

    write_pending(b"\1" * 32, schema.PENDING_TTL_S + 60)
    write_pending(b"\2" * 32, 0)
    assert run("purge") == "1 rows deleted\n"
    assert run("purge") == "0 rows deleted\n"
    rows = {table["table"]: table["rows"] for table in json.loads(run("status", "--json"))["tables"]}
    assert rows["pending_messages"] == 1
