"""`permanode status` and `permanode purge` over a small store whose rows the test inserts itself."""

import json
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import main as cli
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.sqlite.store import SqliteStore
from tests.db.stores import MIGRATIONS

NETWORK = "permatest-1"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreSettings:
    """Complete: 1–3 (signed) and 6 (Merkle root only); 4 has a reject, 5 is missing; archive files contain 2–4."""
    monkeypatch.chdir(tmp_path)
    settings = StoreSettings(url=f"sqlite:///{tmp_path}/store", network=NETWORK, chunk_size=7)
    monkeypatch.setenv("PERMANODE_STORE", settings.url)
    monkeypatch.setenv("PERMANODE_NETWORK", NETWORK)
    monkeypatch.setenv("PERMANODE_STORE_CHUNK_SIZE", "7")
    migrate(settings)
    with closing(open_store(settings, writable=True)) as opened, opened.batch() as batch:
        ranges = ("network", "ms_range_id", "complete", "incomplete", "message_count", "logged")
        batch.upsert(schema.ranges, ranges, [(NETWORK, 0, "[[1, 3], [6, 6]]", "[[4, 4]]", 70, "[[2, 4]]")])
        levels = '{"merkle": [[6, 6]], "signed": [[1, 3]]}'
        batch.upsert(schema.proofs, ("network", "ms_range_id", "levels"), [(NETWORK, 0, levels)])
        rejects = ("milestone_index", "file", "line", "item", "reason")
        batch.upsert(schema.rejects, rejects, [(4, "a.log", 4, "", "key nonce is missing")])
        batch.upsert(schema.rejects, rejects, [(-1, "a.log", 9, "", "not JSON")])
    return settings


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_status_reports_complete_incomplete_and_missing_milestones_and_rejects(store: StoreSettings) -> None:
    text = run("status")
    assert "network permatest-1: 4 milestones complete, 70 messages" in text
    assert "coverage    1 ███··█ 6  66.6 %\n" in text
    assert "complete    1–3, 6\n" in text
    assert "incomplete  4\n" in text
    assert "missing     5\nsigned      1–3\nmerkle      6\n" in text
    assert "unlogged    1, 6\n" in text
    assert "a.log:4: line: key nonce is missing" in text
    assert "a.log:9: line: not JSON" in text


def test_what_is_missing_at_the_ledgers_beginning_is_reported_too(store: StoreSettings) -> None:
    """The ledger starts after milestone 0, and nothing before 9 was loaded."""
    with closing(open_store(store, writable=True)) as opened, opened.batch() as batch:
        ranges = ("network", "ms_range_id", "complete", "incomplete", "message_count")
        batch.upsert(schema.ranges, ranges, [(NETWORK, 0, "[[9, 10]]", "[]", 70)])
    assert "coverage    9 ██ 10  100.0 %\n" in run("status")
    with closing(open_store(store, writable=True)) as opened, opened.batch() as batch:
        batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [(NETWORK, 0)])
    text = run("status")
    assert "coverage    1 ········██ 10  20.0 %\n" in text
    assert "missing     1–8\n" in text


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
    assert f"coverage    1 {'█' * 29}▒{'█' * 30} 60,000  99.9 %\n" in run("status")


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
