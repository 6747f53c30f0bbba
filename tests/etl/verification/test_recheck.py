"""A store that lost rows of complete milestones, and a store whose lake is older than it: on both kinds of store."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from cli import main as cli
from db import schema
from db.connect import StoreSettings, open_store
from db.intervals import Intervals, intersect
from db.model import Table
from db.queries.ledger import find_balance
from db.queries.outputs import list_outputs_by_address
from db.store import LeaseHeld, StoreMismatch
from db.sync import Held
from etl import runs
from etl.iota_steps import reject_older_lake
from etl.lake.delta import Lake
from etl.store_reads import StoreReads
from etl.verification.completeness_check import check_newest
from tests.cassandra_keyspace import Keyspace
from tests.cassandra_server import CassandraServer
from tests.conftest import SAMPLE
from tests.etl.archives import oracle
from tests.etl.conftest import SETTINGS, Loading, Stores
from tests.etl.listings import whole_oracle

pytestmark = pytest.mark.loads

NETWORK = "permatest-1"
LAST_FILE = SAMPLE / "41.part"


@pytest.fixture(scope="module")
def sqlite_loading(stores: Stores) -> Loading:
    return stores()


@pytest.fixture(scope="module")
def cassandra_loading(
    cassandra: CassandraServer, spark: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Loading]:
    folder = tmp_path_factory.mktemp("recheck")
    with Keyspace(cassandra, "recheck", StoreSettings("", NETWORK)) as keyspace:
        yield Loading(folder, keyspace.settings, replace(SETTINGS, lake=str(folder / "lake")))


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow])]
)
def loading(request: pytest.FixtureRequest) -> Loading:
    """A store with the whole sample and its ledger state."""
    found: Loading = request.getfixturevalue(f"{request.param}_loading")
    assert found.load(SAMPLE, genesis=SAMPLE / "genesis.json").complete == 50
    return found


def lose(loading: Loading, *rows: tuple[Table, tuple[int, int]]) -> None:
    with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
        for table, key in rows:
            batch.delete(table, key)


def status(loading: Loading, *arguments: str) -> tuple[int, dict[str, Intervals]]:
    """Exit code and JSON of `permanode status`."""
    variables = {"PERMANODE_STORE": loading.store.url, "PERMANODE_NETWORK": NETWORK}
    result = CliRunner().invoke(cli.app, ["status", "--json", *arguments], env=variables, catch_exceptions=False)
    return result.exit_code, json.loads(result.stdout)


def ledger_index(loading: Loading) -> int | None:
    with closing(open_store(loading.store)) as store, closing(StoreReads(store, NETWORK)) as reads:
        return reads.ledger_index()


async def check_rows(loading: Loading) -> None:
    """The milestones that lost rows, and the balance of each address, compared with the oracle."""
    with closing(open_store(loading.store)) as store:
        for index in (30, 31, 45):
            rows = await store.slice(schema.messages_by_milestone, (index,), limit=1000)
            assert [row["message_id"] for row in rows] == [each["id"] for each in oracle()[index - 1]["messages"]]
        for owned in whole_oracle().expected["addresses"]:
            address = "00" + owned["address"]
            row = await find_balance(store, address, 50)
            assert (row["balance"] if row else 0) == owned["balance"]
            page = await list_outputs_by_address(
                store, address, include_spent=False, as_of=50, newest=True, page_size=1000, cursor=None
            )
            assert {row["output_id"] for row in page.rows} == set(owned["unspentOutputIds"])


def test_short_milestones_are_named_and_the_next_load_writes_them_again(loading: Loading) -> None:
    """Rows of milestone 30 and the `sync` row of 45 are lost; later, when nothing is counted any more, rows of 31."""
    code, whole = status(loading, "--check", "50")
    assert (code, whole["short"], whole["complete"]) == (0, [], [[1, 50]])
    lose(loading, *((schema.messages_by_milestone, (30, place)) for place in (1, 2)), (schema.sync, (0, 45)))
    assert status(loading, "--check", "5")[1]["short"] == [], "neither is among the five newest"
    with closing(open_store(loading.store, writable=True)) as other:
        lease = other.acquire("elsewhere:1", "run-1", 60)
        with pytest.raises(LeaseHeld, match=r"milestones 30, 45 are short, not opened again: .*run-1"):
            check_newest(loading.store, 50)
        other.release(lease)
    code, found = status(loading, "--check", "50")
    assert (code, found["short"]) == (4, [[30, 30], [45, 45]])
    assert (found["complete"], found["incomplete"]) == ([[1, 29], [31, 44], [46, 50]], [[30, 30], [45, 45]])
    assert ledger_index(loading) is None, "rows of the ledger state may be lost too"
    assert status(loading, "--check", "50")[0] == 0, "what is incomplete is not counted"
    lose(loading, (schema.messages_by_milestone, (31, 0)))
    report = loading.load(LAST_FILE)
    assert (report.reopened, report.complete, report.skipped) == (2, 3, 9), "45 is in the file, 30 and 31 are not"
    assert (report.ledger_index, report.exit_code) == (50, 0)
    assert status(loading, "--check", "50")[1]["complete"] == [[1, 50]]
    asyncio.run(check_rows(loading))


def test_a_store_that_is_newer_than_its_lake_is_not_loaded_into(
    loading: Loading, spark: SparkSession, tmp_path: Path
) -> None:
    older = Lake(spark, str(tmp_path / "older"))
    held = Lake(spark, runs.lake_path(loading.store, loading.settings)).read("milestones")
    older.replace("milestones", held.where("milestone_index <= 20 OR milestone_index = 25"))
    for lake, missing in ((older.root, "21:25, 26:51"), (str(tmp_path / "none"), "1:51")):
        restored = replace(loading, settings=replace(loading.settings, lake=lake))
        with pytest.raises(
            StoreMismatch, match=f"milestones {missing}, but its lake at {lake} does not.*`permanode rebuild`"
        ):
            restored.load(LAST_FILE)
    with closing(open_store(loading.store)) as store:
        assert store.holder() is None, "a load that is refused gives its lease back"


class LakeWithout:
    """A lake that has those milestones but no genesis."""

    root = "/lake"

    def __init__(self, milestones: Intervals) -> None:
        self._milestones = milestones

    def held(self, wanted: Intervals) -> Intervals:
        return intersect(wanted, self._milestones)

    def has(self, table: str) -> bool:
        return table != "genesis"


@pytest.mark.parametrize(("ledger_index", "rejected"), [(9, True), (None, False)])
def test_a_ledger_state_needs_the_genesis_that_it_began_with(ledger_index: int | None, rejected: bool) -> None:
    held = Held([(1, 9)], [(10, 10)], [], 0)
    reads = SimpleNamespace(held=lambda: held, ledger_index=lambda: ledger_index)
    older = pytest.raises(StoreMismatch, match="a ledger state, but its lake at /lake does not")
    with older if rejected else nullcontext():
        reject_older_lake(LakeWithout([(1, 10)]), reads)


@pytest.mark.parametrize("count", ["0", "-1", "all"])
def test_an_invalid_count_is_a_usage_error_that_names_the_flag(count: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["--store", f"sqlite:///{tmp_path}", "status", "--check", count])
    assert result.exit_code == 2
    assert "--check" in result.output
