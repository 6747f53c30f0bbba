"""The ledger state after loads, as whole rows, compared with a plain replay of the oracle ledger from its genesis."""

import asyncio
import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.admin.migrate import REWRITTEN, migrate
from db.connect import open_store
from db.store import StoreMismatch
from etl.ledger_state import rich_list
from etl.ledger_state.advance import Ledger, most_near
from etl.tables.frames import TableFrame
from etl.writers import staging
from tests.api.conftest import filled_store
from tests.api.oracle import Oracle
from tests.conftest import SAMPLE
from tests.db.stores import MIGRATIONS, first_form
from tests.etl.archives import ARCHIVE, Json, line_of, oracle, write
from tests.etl.conftest import AS_BULK, LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.listings import check_listings, whole_oracle
from tests.etl.store_rows import COMPARED, by_key
from tests.etl.test_oracle import check, uncut
from tests.reference import ORACLE, read_json, whole_rows

pytestmark = pytest.mark.loads

GENESIS = SAMPLE / "genesis.json"
FILES = [SAMPLE / name for name in ARCHIVE]
STATE = (
    schema.ledger_updates_by_milestone,
    schema.ledger_updates_by_address,
    schema.native_token_updates,
    schema.unspent_outputs,
    schema.address_balances,
    schema.treasury,
    schema.receipts,
    schema.outputs,
    schema.messages,
)


def reference(geometry: tuple[int, int], last: int = 50) -> dict[str, list[Json]]:
    """The expected contents of a store after one load of the milestones to `last`, beside genesis."""
    lines = oracle()[:last]
    rows = whole_rows(lines, [], *geometry, "permatest-1")
    return {table.name: by_key(table, rows.get(table.name, [])) for table in COMPARED}


def state(rows: dict[str, list[Json]]) -> dict[str, list[Json]]:
    """The tables of the ledger state, and its last milestone."""
    held = uncut({table.name: rows[table.name] for table in STATE})
    last = {"ledger_frontier": rows["ledger_frontier"][-1:]}
    for table in (schema.distribution.name, schema.rich_list.name):
        last[table] = [row for row in rows[table] if row["ledger_index"] == rows["ledger_frontier"][-1]["ledger_index"]]
    return held | last


BOTH_WAYS = pytest.mark.parametrize(
    "ledger_near", [pytest.param(0, marks=pytest.mark.slow), 10_000], ids=["far", "near"]
)


def milestones(folder: Path, *numbers: int) -> list[Path]:
    """One file per milestone."""
    return [write(folder / f"{number}.log", [line_of(number)]) for number in numbers]


@pytest.fixture(scope="module")
def near_load(everywhere: Stores) -> Loading:
    """The oracle ledger, with the ledger state from the store."""
    loading, report = everywhere.loaded("chrysalis from genesis", (7, 3), ledger_near=10_000)
    assert (report.exit_code, report.ledger_index, report.held) == (0, 50, "")
    assert report.rows_by_table["parents"] == len(reference((7, 3))["parents"])
    return loading


@on(SQLITE, LATER_CASSANDRA)
def test_one_load_gives_the_replay_s_rows_and_a_second_one_changes_none(near_load: Loading) -> None:
    check(near_load.rows(), reference((7, 3)))
    again = near_load.load(*FILES, force=True)
    assert (again.exit_code, again.complete, again.ledger_index) == (0, 50, 50)
    check(near_load.rows(), reference((7, 3)))


def paths() -> list[str]:
    """Requests of every kind about some of the oracle's messages, transactions, outputs, addresses and milestones."""
    oracle, rng = whole_oracle(), random.Random(5)
    found = ["/info", "/treasury", "/receipts"]
    found += [f"/messages?index={tag}" for tag in rng.sample(sorted(oracle.tagged), 8)]
    for message_id in rng.sample([entry["id"] for line in oracle.milestones for entry in line["messages"]], 12):
        found += [f"/messages/{message_id}{part}" for part in ("", "/metadata", "/raw", "/children")]
    for transaction_id in rng.sample(sorted(oracle.included), 6):
        found += [f"/transactions/{transaction_id}/included-message{part}" for part in ("", "/metadata", "/children")]
    found += [f"/outputs/{output_id}" for output_id in rng.sample(sorted(oracle.outputs), 12)]
    for address in rng.sample(oracle.addresses, 8):
        found += [f"/addresses/ed25519/{address}{part}" for part in ("", "/outputs", "/tx-history")]
    for index in rng.sample(range(1, 51), 6):
        found += [f"/milestones/{index}{part}" for part in ("", "/messages", "/utxo-changes")]
    return found


@on(SQLITE, LATER_CASSANDRA)
async def test_the_api_answers_from_it_byte_for_byte_as_from_the_plain_reading(
    near_load: Loading, tmp_path: Path
) -> None:
    """The reference, not a load, wrote the SQLite store with which the result is compared."""
    oracle = whole_oracle()
    archived = Oracle(oracle.milestones, [], oracle.expected)
    plain, loaded = filled_store(tmp_path, archived, 7, 3), open_store(near_load.store)
    networks = {name: NetworkMount(store, "permatest-1", "atoi") for name, store in (("a", plain), ("b", loaded))}
    transport = httpx.ASGITransport(app=create_app(networks, "a", ApiSettings()))
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        for path in paths():
            expected, found = [await client.get(f"/api/{name}{path}") for name in networks]
            assert (found.status_code, found.content) == (expected.status_code, expected.content), path
            assert found.status_code == 200, path
    plain.close()
    loaded.close()


@on(SQLITE, AS_BULK)
def test_a_rebuild_from_the_lake_alone_cuts_as_its_own_store_says(
    everywhere: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, _ = everywhere.loaded("chrysalis from genesis", ledger_near=0)
    check(loading.rows(), reference((100_000, 100_000)))
    other = everywhere((9, 2), lake=str(loading.folder / "lake"), ledger_near=0)
    sort, shares = staging.write_sorted, []

    def write_sorted(frame: TableFrame, folder: Path, count: int) -> None:
        shares.append(count)
        sort(frame, folder, count)

    # The lake is small, and it is sorted like a large one.
    monkeypatch.setattr(staging, "SHARE_BYTES", 1 << 18)
    monkeypatch.setattr(staging, "write_sorted", write_sorted)
    assert other.rebuild().ledger_index == 50
    check(other.rows(), reference((9, 2)))
    assert other.bulk or min(shares) > 1


def test_both_ways_to_the_same_state_at_random_cuts(stores: Stores, tmp_path: Path) -> None:
    """Some milestones at a time, with inputs resolved from the lake and from the store in turn, some of them twice."""
    rng = random.Random(11)
    loading = stores((7, 3), bulk_share=0.5)
    files = milestones(tmp_path, *range(1, 51))
    ends = [0, *sorted(rng.sample(range(1, 50), 2)), 50]
    for turn, (start, end) in enumerate(pairwise(ends)):
        again = rng.sample(files[:start], min(start, 3))
        options = {"genesis": GENESIS} if turn == 0 else {}
        settings = replace(loading.settings, ledger_near=(0, 10_000)[turn % 2])
        report = replace(loading, settings=settings).load(*again, *files[start:end], force=turn == 2, **options)
        assert (report.exit_code, report.ledger_index) == (0, end)
        assert state(loading.rows()) == state(reference((7, 3), end))


def test_a_gap_holds_the_frontier_and_filling_it_catches_up(stores: Stores, tmp_path: Path) -> None:
    loading = stores()
    files = milestones(tmp_path, *range(1, 15))
    assert loading.load(*files[:3], *files[5:9]).ledger_index is None
    assert not loading.rows()["address_balances"]
    late = loading.load(genesis=GENESIS)
    assert (late.exit_code, late.milestones, late.ledger_index) == (0, 0, 3)
    assert state(loading.rows())["address_balances"] == state(reference((100_000, 100_000), 3))["address_balances"]
    assert loading.load(files[4]).ledger_index == 3
    assert loading.load(files[3]).ledger_index == 9
    expected = state(reference((100_000, 100_000), 9))
    assert state(loading.rows()) == expected
    loading.load(files[1], force=True)
    assert state(loading.rows()) == expected


@BOTH_WAYS
def test_an_unknown_input_holds_the_frontier_and_is_named(stores: Stores, tmp_path: Path, ledger_near: int) -> None:
    start: dict[str, Any] = read_json(ORACLE / "genesis.json")
    spent_in = {
        spent["transactionId"] + spent["transactionOutputIndex"].to_bytes(2, "little").hex(): line["milestone"]["index"]
        for line in oracle()
        for entry in line["messages"]
        if entry["metadata"]["ledgerInclusionState"] == "included"
        for spent in entry["message"]["payload"]["essence"]["inputs"]
    }
    output = max(start["outputs"], key=lambda each: spent_in.get(each["outputId"], 0))
    missing = output["outputId"]
    assert spent_in[missing] > 1
    output["outputId"] = "ff" * 32 + "0000"
    file = tmp_path / "genesis.json"
    file.write_text(json.dumps(start))
    loading = stores(ledger_near=ledger_near)
    report = loading.load(*FILES, genesis=file)
    assert (report.exit_code, report.ledger_index) == (3, spent_in[missing] - 1)
    assert missing in report.held
    assert f"milestone {spent_in[missing]}:" in report.held
    assert max(row["milestone_index"] for row in loading.rows()["address_balances"]) == spent_in[missing] - 1


def test_another_genesis_is_rejected_and_nothing_changes(stores: Stores, tmp_path: Path) -> None:
    loading = stores()
    loading.load(*milestones(tmp_path, 1), genesis=GENESIS)
    before = loading.rows()
    other = read_json(ORACLE / "genesis.json")
    other["outputs"][0]["outputId"] = "ff" * 32 + "0000"
    file = tmp_path / "other.json"
    file.write_text(json.dumps(other))
    with pytest.raises(ValueError, match=r"other\.json: another genesis than the lake's"):
        loading.load(*milestones(tmp_path, 2), genesis=file)
    assert loading.rows() == before
    loading.load(genesis=GENESIS)
    assert loading.rows() == before


class Death(BaseException):
    """Ends a load where a kill would."""


@pytest.mark.slow
@BOTH_WAYS
def test_killed_before_the_frontier_is_written_the_next_load_goes_on(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger_near: int
) -> None:
    loading = stores(ledger_near=ledger_near)
    files = milestones(tmp_path, 1, 2, 3)
    loading.load(*files[:2], genesis=GENESIS)
    held = state(loading.rows())

    def dying(*_: object, **__: object) -> None:
        raise Death

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_write", dying)
        with pytest.raises(Death):
            loading.load(files[2])
    rows = loading.rows()
    assert [row["milestone_index"] for row in rows["milestones"]] == [1, 2, 3]
    for table in ("ledger_updates_by_milestone", "address_balances", "ledger_frontier"):
        assert state(rows)[table] == held[table]
    assert loading.load(files[2]).ledger_index == 3
    assert state(loading.rows()) == state(reference((100_000, 100_000), 3))


def test_listings_and_updates_by_address_are_the_oracle_s(stores: Stores) -> None:
    """The unspent outputs and their distribution equal the oracle's; the rich list is computed from the whole state."""
    loading = stores((7, 3))
    expected = whole_oracle().expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rich_list, "moved", lambda *_: None)
        loading.load(*FILES, genesis=GENESIS)
    asyncio.run(check_listings(loading.store, with_genesis=True))
    rows = loading.rows()
    owner_of = {
        output_id: f"00{each['output']['address']['address']}" for output_id, each in expected["outputs"].items()
    }
    changes = {
        (owner_of[output_id], line["milestone"]["index"], output_id, is_spent)
        for line in oracle()
        for kind, is_spent in (("createdOutputs", False), ("consumedOutputs", True))
        for output_id in line["milestone"]["utxoChanges"][kind]
    }
    names = ("address", "milestone_index", "output_id", "is_spent")
    found = [tuple(row[name] for name in names) for row in rows["ledger_updates_by_address"]]
    assert set(found) == changes
    assert len(found) == len(changes) > 500
    left = {output_id for output_id, each in expected["outputs"].items() if not each["isSpent"]}
    for lookup in ("address", ""):
        unspent = [row for row in rows["unspent_outputs"] if row["lookup"] == lookup]
        assert {row["output_id"] for row in unspent if row["spent_milestone_index"] is None} == left
    balances = Counter[str]()
    for output_id in left:
        balances[owner_of[output_id]] += expected["outputs"][output_id]["output"]["amount"]
    last = [row for row in rows["rich_list"] if row["ledger_index"] == 50]
    assert [(row["address"], row["balance"]) for row in last] == sorted(
        balances.items(), key=lambda item: (-item[1], item[0])
    )
    spread = [row for row in rows["distribution"] if row["ledger_index"] == 50]
    assert {row["power"]: (row["addresses"], row["amount"]) for row in spread} == {
        digits - 1: (len(group), sum(group))
        for digits in {len(str(balance)) for balance in balances.values()}
        for group in [[balance for balance in balances.values() if len(str(balance)) == digits]]
    }
    assert sum(row["amount"] for row in spread) + expected["treasury"]["amount"] == expected["tokenSupply"]


def test_a_store_of_an_earlier_version_is_migrated_and_its_state_applied_again(stores: Stores, tmp_path: Path) -> None:
    loading = stores((7, 3))
    files = milestones(tmp_path, *range(1, 13))
    loading.load(*files[:11], genesis=GENESIS)
    generation = loading.folder / (loading.folder / "CURRENT").read_text().strip()
    first_form(generation)
    with closing(sqlite3.connect(generation)) as connection:
        for table in schema.TABLES:
            if table.layout >= 3:
                connection.execute(f"DROP TABLE {table.name}")
                continue
            for column in table.columns:
                if column.layout >= 3:
                    connection.execute(f"ALTER TABLE {table.name} DROP COLUMN {column.name}")
        connection.execute("DELETE FROM migrations WHERE name >= '0003'")
        for lookup in schema.LEDGER_LOOKUPS:
            connection.execute("DELETE FROM splits WHERE lookup = ?", (lookup.table.name,))
            connection.execute("DELETE FROM tails WHERE lookup = ?", (lookup.table.name,))
        connection.commit()
    with pytest.raises(StoreMismatch, match="migration 0003_unspent is missing; run `permanode migrate`"):
        loading.load(files[11])
    assert migrate(loading.store) == [*MIGRATIONS[2:], REWRITTEN]
    rows = loading.rows()
    assert rows["ledger_frontier"] == []
    assert len(rows["address_balances"]) > 10
    assert loading.load(files[11]).ledger_index == 12
    assert state(loading.rows()) == state(reference((7, 3), 12))


def test_of_the_rich_list_the_last_steps_are_kept(stores: Stores, tmp_path: Path) -> None:
    loading = stores()
    files = milestones(tmp_path, 1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("etl.ledger_state.advance.STEPS_KEPT", 2)
        patch.setattr("etl.ledger_state.advance.MILESTONES_AT_ONCE", 1)
        loading.load(*files, genesis=GENESIS)
    rows = loading.rows()
    assert [row["ledger_index"] for row in rows["ledger_frontier"]] == [0, 1, 2]
    for table in ("rich_list", "distribution"):
        assert {row["ledger_index"] for row in rows[table]} == {1, 2}


@pytest.mark.parametrize(
    ("ledger_near", "frontier", "most"),
    [
        (10_000, 100, 1_000),
        (500, 100, 500),
        (0, 100, 0),
        (10_000, 101, 10_000),
        (10_000, 20_103, 10_001),
        (0, 20_103, 0),
    ],
)
def test_the_milestones_that_are_applied_from_the_store(ledger_near: int, frontier: int, most: int) -> None:
    """The ledger begins at milestone 100. Expected: as docs/settings.md describes `ledger_near`."""
    assert most_near(ledger_near, 100, frontier) == most
