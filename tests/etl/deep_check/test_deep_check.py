"""`permanode fsck --deep` finds nothing in stores without faults, and names each fault of the others."""

import json
import random
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import main as cli
from db import schema
from db.connect import open_adapter
from db.schema.protocols import IOTA, TABLES_OF, WORMHOLE
from etl.deep_check.check import Setup, check_rows
from etl.deep_check.compare import EXTRA, MISSING, WRONG
from etl.deep_check.queries import NOT_COMPARED, compared, queries
from etl.runs import lake_path
from ledger.levels import FULL, SIGNED
from tests.etl.archives import oracle, pending, write
from tests.etl.conftest import CASSANDRA, Loading, Stores, on
from tests.etl.deep_check.checking import GEOMETRY, checked, differing, faulty, missed
from tests.etl.deep_check.faults import SEED, native
from tests.etl.ledger_state.test_stardust_ledger import snapshot_after
from tests.etl.stardust_archives import NETWORK
from tests.etl.stardust_archives import oracle as stardust_oracle
from tests.etl.stardust_archives import pending as stardust_pending
from tests.etl.test_two_eras import ERAS, GENESIS, files
from tests.reference_stardust import ORACLE as STARDUST_ORACLE

pytestmark = pytest.mark.loads


def loaded(stores: Stores, name: str, folder: Path, last: int = 50) -> Loading:
    """The first milestones of an oracle ledger with their ledger state, analytics and pending messages; all milestones
    of both eras.
    """
    source = folder / name
    source.mkdir()
    if name == "both eras":
        loading = stores(GEOMETRY, eras=ERAS, analytics=True)
        report = loading.load(*files(source), genesis=GENESIS)
    else:
        is_stardust = name == "stardust"
        write(source / "milestones.jsonl", (stardust_oracle() if is_stardust else oracle())[:last])
        write(source / "pending.jsonl", stardust_pending() if is_stardust else pending())
        loading = stores(GEOMETRY, NETWORK if is_stardust else "permatest-1", analytics=True)
        report = loading.load(source, genesis=STARDUST_ORACLE / "genesis.json" if is_stardust else GENESIS)
    assert report.exit_code == 0
    return loading


@pytest.fixture(scope="module")
def ledgers(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Loading]:
    """Stores by name, each of which is loaded once."""
    folder = tmp_path_factory.mktemp("ledgers")
    return cache(lambda name: loaded(stores, name, folder))


NAMES = [pytest.param("chrysalis", marks=pytest.mark.slow), "stardust", "both eras"]
"""All milestones of Chrysalis are in the ledger of both eras, without pending messages."""


@pytest.mark.parametrize("protocol", [IOTA, WORMHOLE])
def test_every_table_is_recomputed_or_has_a_reason(protocol: str) -> None:
    names = {table.name for table in TABLES_OF[protocol]}
    recomputed = {table.name for table in compared(protocol)}
    assert recomputed.isdisjoint(NOT_COMPARED)
    assert names - recomputed - NOT_COMPARED.keys() == set()
    views = [query.view for query in queries(protocol)]
    assert len(views) == len(set(views))


@pytest.mark.parametrize("name", NAMES)
def test_all_rows_of_an_oracle_ledger_are_the_recomputed_ones(ledgers: Callable[[str], Loading], name: str) -> None:
    loading = ledgers(name)
    found = checked(loading)
    assert differing(found) == []
    counts = {each.table: each.rows for each in found}
    with closing(open_adapter(loading.store, writable=False)) as store:
        assert {table.name: len(store.read_all(table)) for table in compared(IOTA)} == {
            table: rows for table, rows in counts.items() if table != "supply"
        }
    assert counts["supply"] == counts["ms_analytics"]


def test_a_ledger_that_begins_with_a_snapshot_has_the_recomputed_rows(stores: Stores, tmp_path: Path) -> None:
    file = tmp_path / "full.bin"
    file.write_bytes(snapshot_after(24))
    loading = stores(GEOMETRY, NETWORK, analytics=True)
    assert loading.load(write(tmp_path / "later.jsonl", stardust_oracle()[24:]), genesis=file).ledger_index == 50
    found = checked(loading)
    assert differing(found) == []
    assert {each.table: each.rows for each in found}["booked_outputs"] > 0
    assert missed(loading, tmp_path, 3, SEED, [schema.booked_outputs]) == []


def test_a_store_without_a_ledger_state_has_the_recomputed_rows(stores: Stores) -> None:
    loading, _ = stores.loaded("chrysalis")
    found = checked(loading)
    assert differing(found) == []
    counts = {each.table: each.rows for each in found}
    assert counts["messages"] > 0
    assert {counts[name] for name in ("address_balances", "milestone_roots", "interval_roots", "log_tiles")} == {0}


def test_milestones_of_the_level_full_have_the_recomputed_rows(stores: Stores, tmp_path: Path) -> None:
    loading = stores(GEOMETRY, level=FULL)
    milestones = write(tmp_path / "milestones.jsonl", oracle()[:20] + oracle()[21:25])
    assert loading.load(milestones, genesis=GENESIS).ledger_index == 20
    rows = {row["milestone_index"]: row for row in loading.rows()["sync"]}
    assert {index: row["verified"] for index, row in rows.items()} == {
        **dict.fromkeys(range(1, 21), FULL),
        **dict.fromkeys(range(22, 26), SIGNED),
    }
    assert differing(checked(loading)) == []
    for index, level, named in (7, SIGNED, "proofs"), (22, FULL, "sync"):
        row = rows[index] | {"verified": level}
        with closing(open_adapter(loading.store, writable=True)) as store, store.batch() as batch:
            batch.upsert(schema.sync, schema.sync.names, [native(schema.sync, row)])
        found = differing(checked(loading))
        assert {(fault.table, fault.kind) for each in found for fault in each.faults} == {(named, WRONG)}
        with closing(open_adapter(loading.store, writable=True)) as store, store.batch() as batch:
            batch.upsert(schema.sync, schema.sync.names, [native(schema.sync, rows[index])])


@pytest.mark.parametrize("count", [pytest.param(8), pytest.param(334, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_each_fault_is_named_with_table_key_and_values(
    ledgers: Callable[[str], Loading], tmp_path: Path, name: str, count: int
) -> None:
    assert missed(ledgers(name), tmp_path, count, SEED + count) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_split_is_reported_as_rows_in_other_partitions(
    ledgers: Callable[[str], Loading], tmp_path: Path, name: str
) -> None:
    with faulty(ledgers(name), tmp_path) as store:
        splits = [row for row in store.store.read_all(schema.splits) if json.loads(row["first_milestones"])]
        for row in random.Random(SEED).sample(splits, 5):
            first, *others = json.loads(row["first_milestones"])
            for firsts in ([first + 1, *others], [first - 1, *others], others):
                after = row | {"first_milestones": json.dumps(firsts)}
                found = store.differing_rows(schema.splits, row, after, row["lookup"])
                assert found.differing, after
            found = store.differing_rows(schema.splits, row, None, row["lookup"])
            assert {fault.kind for fault in found.faults} == {MISSING, EXTRA}


def test_an_interrupted_check_continues_with_the_next_table(ledgers: Callable[[str], Loading], tmp_path: Path) -> None:
    loading, work = ledgers("stardust"), tmp_path / "work"
    setup = Setup(loading.store, lake_path(loading.store, loading.settings), work)
    read: list[str] = []
    with closing(open_adapter(loading.store, writable=False)) as store:
        checking = check_rows(setup, store, lambda name, _: read.append(name))
        first = [next(checking).table for _ in range(5)]
        checking.close()
        assert work.exists()
        read.clear()
        found = [*check_rows(setup, store, lambda name, _: read.append(name))]
    assert [each.table for each in found][:5] == first
    assert set(read).isdisjoint(first)
    assert differing(found) == []
    assert not work.exists()


def test_the_command_names_faults_and_says_how_to_repair_them(ledgers: Callable[[str], Loading]) -> None:
    loading = ledgers("stardust")
    with closing(open_adapter(loading.store, writable=True)) as store:
        row = next(each for each in store.read_all(schema.address_balances) if each["milestone_index"] == 20)
        wrong = row | {"balance": row["balance"] - 1}
        with store.batch() as batch:
            batch.upsert(
                schema.address_balances, schema.address_balances.names, [native(schema.address_balances, wrong)]
            )
        try:
            lines = fsck(loading, "--only", "rows").splitlines()
        finally:
            with store.batch() as batch:
                table = schema.address_balances
                batch.upsert(table, table.names, [native(table, row)])
    key = ", ".join(f"{name} {row[name]}" for name in schema.address_balances.key)
    cause = f"balance is {wrong['balance']}, expected {row['balance']}"
    assert lines[0] == f"rows address_balances, wrong: {key}: {cause} (milestones 20)"
    assert all(line.startswith("rows supply, wrong: milestone_index ") for line in lines[1:-2])
    assert lines[1:-2]
    assert lines[-2:] == ["to repair the store:", "  permanode rebuild"]


def fsck(loading: Loading, *arguments: str) -> str:
    """The output of the command for a store with faults."""
    store = loading.store
    geometry = {
        "PERMANODE_STORE_CHUNK_SIZE": str(store.chunk_size),
        "PERMANODE_STORE_PARTITION_SIZE": str(store.partition_size),
    }
    given = ["--store", store.url, "--network", store.network, "fsck", *arguments]
    result = CliRunner().invoke(cli.app, given, env=geometry)
    assert result.exit_code == 3, (result.output, result.exception)
    return result.stdout


@on(CASSANDRA)
@pytest.mark.parametrize(
    ("name", "last", "count"), [("stardust", 15, 2), pytest.param("both eras", 50, 20, marks=pytest.mark.slow)]
)
def test_faults_on_a_cluster_are_named_too(
    everywhere: Stores, tmp_path: Path, name: str, last: int, count: int
) -> None:
    loading = loaded(everywhere, name, tmp_path, last)
    assert missed(loading, tmp_path, count, SEED, is_checked=False) == []
