"""Pending transactions and their outputs in every role: what a load stores, for how long, and what a rebuild keeps."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.admin.migrate import migrate
from db.connect import open_adapter
from etl.verification import ingest
from tests import reference, reference_stardust
from tests.etl import archives, stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.store_rows import by_key

pytestmark = pytest.mark.spark

LOADED = 10
"""Milestones that are loaded."""

WAITING = (*range(LOADED, 16), *range(34, 38))
"""Positions of milestones whose messages are pending. Among these are outputs of every type."""

AGE_S = 3_600
"""How long ago the pending messages were received."""

TABLES = (schema.pending_messages, schema.pending, schema.pending_hints)


def lines_of(era: str) -> list[dict[str, Any]]:
    return archives.oracle() if era == "chrysalis" else stardust_archives.oracle()


def pending_of(era: str) -> list[dict[str, Any]]:
    """The messages of later milestones as nodes return them before a milestone references them."""
    kind = "message" if era == "chrysalis" else "block"
    entries = [entry for at in WAITING for entry in lines_of(era)[at][f"{kind}s"]]
    return [{"id": each["id"], kind: each[kind], "bytes_hex": each["bytes_hex"]} for each in entries]


def expected_rows(era: str) -> dict[str, list[dict[str, Any]]]:
    of = reference if era == "chrysalis" else reference_stardust
    kind = "messages" if era == "chrysalis" else "blocks"
    waiting = [entry for at in WAITING for entry in lines_of(era)[at][kind]]
    rows = of.reference_rows(lines_of(era)[:LOADED], waiting, 100_000, 100_000, network_of(era))
    return {table.name: by_key(table, rows[table.name]) for table in TABLES}


def network_of(era: str) -> str:
    return "permatest-1" if era == "chrysalis" else stardust_archives.NETWORK


def pending_rows(loading: Loading) -> dict[str, list[dict[str, Any]]]:
    rows = loading.rows()
    return {table.name: rows[table.name] for table in TABLES}


def loaded(everywhere: Stores, folder: Path, era: str, monkeypatch: pytest.MonkeyPatch, received_at: int) -> Loading:
    monkeypatch.setattr(ingest, "now_s", lambda: received_at)
    loading = everywhere(network=network_of(era))
    write(folder / "milestones.jsonl", lines_of(era)[:LOADED])
    write(folder / "pending.jsonl", pending_of(era))
    report = loading.load(folder)
    assert (report.exit_code, report.complete, report.pending, report.rejects) == (0, LOADED, len(pending_of(era)), 0)
    return loading


def lifetimes(loading: Loading, now: float) -> set[int]:
    """The seconds after `now` at which each pending row expires."""
    with closing(open_adapter(loading.store, writable=True)) as store:
        if hasattr(store, "_writer"):
            with store.batch() as batch:
                found = [
                    int(at)
                    for table in TABLES
                    for (at,) in batch.connection.execute(f"SELECT expires_at FROM {table.name}").fetchall()
                ]
            return {at - int(now) for at in found}
        found = []
        for table, column in zip(TABLES[:2], ("message", "message_id"), strict=True):
            cql = f"SELECT TTL({column}) AS seconds FROM {store._keyspace}.{table.name}"
            found += [row["seconds"] for row in store._session.run(cql, ())]
        return set(found)


@pytest.mark.parametrize(
    ("everywhere", "era"),
    [
        pytest.param("sqlite", "stardust", id="sqlite-stardust"),
        pytest.param("sqlite", "chrysalis", id="sqlite-chrysalis"),
        pytest.param("cassandra", "stardust", id="cassandra-stardust", marks=pytest.mark.cassandra),
        pytest.param("cassandra", "chrysalis", id="cassandra-chrysalis", marks=LATER_CASSANDRA.marks),
    ],
    indirect=["everywhere"],
)
def test_pending_messages_are_stored_in_every_lookup_until_a_day_after_they_were_received(
    everywhere: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    received_at = int(time.time()) - AGE_S
    loading = loaded(everywhere, tmp_path, era, monkeypatch, received_at)
    expected = expected_rows(era)
    found = {row["lookup"] for row in expected["pending"]}
    roles = {"outputs_by_tag", "alias_outputs", "nft_outputs", "foundry_outputs"} if era == "stardust" else set()
    assert found == {"parents", "tags", "transactions", "outputs_by_address"} | roles
    assert pending_rows(loading) == expected
    check_lifetimes(loading, received_at)
    loading.rebuild()
    assert pending_rows(loading) == expected
    check_lifetimes(loading, received_at)


def check_lifetimes(loading: Loading, received_at: int) -> None:
    now = time.time()
    left = schema.PENDING_TTL_S - (int(now) - received_at)
    for seconds in lifetimes(loading, now):
        # Reading a cluster takes some of these seconds.
        assert abs(seconds - left) < AGE_S / 60, (
            "rows live as long as they were received ago, whenever they are written"
        )


def test_a_rebuild_into_a_new_store_has_the_pending_messages_too(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = loaded(stores, tmp_path, "stardust", monkeypatch, int(time.time()))
    for path in [loading.folder / "CURRENT", *loading.folder.glob("*.sqlite*")]:
        path.unlink()
    migrate(loading.store)
    assert pending_rows(loading)["pending"] == []
    loading.rebuild()
    assert pending_rows(loading) == expected_rows("stardust")


@on(SQLITE, LATER_CASSANDRA)
def test_pending_messages_of_the_day_before_do_not_come_back(
    everywhere: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_ago = int(time.time()) - schema.PENDING_TTL_S - 60
    loading = loaded(everywhere, tmp_path, "stardust", monkeypatch, long_ago)
    late = stardust_archives.pending()
    monkeypatch.setattr(ingest, "now_s", lambda: int(time.time()))
    loading.load(write(tmp_path / "late.jsonl", late))
    for _ in range(2):
        found = pending_rows(loading)["pending_messages"]
        assert [row["message_id"] for row in found] == sorted(each["id"][2:] for each in late)
        loading.rebuild()
