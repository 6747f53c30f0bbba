"""Wrong rows of the ledger state and of the analytics fail their step, and the next load repairs. Without the
comparison these steps end without an error.
"""

import shutil
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from db import schema
from db.connect import open_adapter
from db.queries.analytics import ANALYSED
from etl import runs
from etl.expectations.comparison import WrongRows
from etl.ledger_state import changes, state_frames
from etl.writers import few_rows, few_run
from tests.etl import stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores
from tests.etl.expectations.faults import (
    LAST,
    Fault,
    cases,
    in_small_run,
    in_store,
    one_more,
    opposite,
    truncated,
    twice_first,
    without_first,
    zero_for_null,
)
from tests.etl.ledger_state.test_stardust_ledger import GENESIS

pytestmark = pytest.mark.loads

FAR, NEAR = 0, 10_000
"""Values of ledger_near: the state comes from joins over the lake, or from the store."""

OF_LEDGER: dict[str, tuple[str, Fault, str]] = {
    "a lost change": ("ledger_updates_by_milestone", without_first, ""),
    "a wrong result of a join": ("changes", one_more("amount"), ""),
    "a lost unspent output": ("unspent_outputs", without_first, "output_type"),
    "a balance twice": ("address_balances", twice_first, ""),
    "a lost movement": ("address_movements", without_first, ""),
    "a movement off by one": ("address_movements", one_more("amount"), ""),
    "a lost hint": ("unspent_hints", without_first, ""),
    "a wrong sum": ("powers", one_more("amount"), ""),
}
"""The staged rows that are changed, how, and a column that distinguishes the frame."""

OF_SMALL_TABLES: dict[str, tuple[ModuleType, str, Fault, str]] = {
    "a lost message": (few_run, "parents", without_first, "messages"),
    "a truncated blob": (few_rows, "message_BINARY", truncated("message_BINARY"), "messages"),
    "zero for null": (few_rows, "expiration_BIGINT", zero_for_null("expiration_BIGINT"), "outputs_by_address"),
    "a wrong count": (few_run, "included", one_more("message_count"), "sync"),
}
"""Queries of small runs: the module, a column of the rows that are changed, how, and what the error names."""

OF_SMALL_LEDGER: dict[str, tuple[ModuleType, str, Fault, str]] = {
    "an output without its creation": (changes, "is_spent", without_first, "distribution"),
    "a spent output as created": (
        few_rows,
        "is_spent_BOOLEAN",
        opposite("is_spent_BOOLEAN"),
        "ledger_updates_by_milestone",
    ),
    "an amount off by one": (few_rows, "is_spent_BOOLEAN", one_more("amount_BIGINT"), "ledger_updates_by_milestone"),
    "a balance off by one": (state_frames, "balance", one_more("balance"), "address_balances"),
    "a movement off by one": (state_frames, "counterparties", one_more("amount"), "address_movements"),
    "a hint of another partition": (few_rows, "ms_range_id_1", one_more("ms_range_id_1"), "addresses_hints"),
}

OF_MILESTONES: dict[str, Fault] = {
    "an amount off by one": one_more("transferred_tokens"),
    "a lost milestone": without_first,
}
"""How the rows of ms_analytics are changed."""

NAMES = {"changes": "distribution|ledger_updates", "powers": "distribution"}
"""What the error names, where it is not the changed rows."""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first milestone."""
    return write(tmp_path_factory.mktemp("first") / "milestone.jsonl", stardust_archives.oracle()[:1])


@pytest.fixture(scope="module")
def base(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """A store of genesis and the milestones after the first one, without which its ledger state cannot advance."""
    file = write(tmp_path_factory.mktemp("faults") / "milestones.jsonl", stardust_archives.oracle()[1:LAST])
    loading = stores(network=stardust_archives.NETWORK)
    assert loading.load(file, genesis=GENESIS).ledger_index == 0
    return loading


def copy_of(base: Loading, stores: Stores, **options: Any) -> Loading:
    loading = stores(network=stardust_archives.NETWORK, **options)
    shutil.rmtree(loading.folder)
    shutil.copytree(base.folder, loading.folder)
    return loading


def fails_at_ledger(loading: Loading, first: Path, name: str) -> None:
    with pytest.raises(WrongRows, match=f"({name}).* engine sail .*(need|expected) .* found "):
        loading.load(first)
    assert [row["ledger_index"] for row in loading.rows()["ledger_frontier"]] == [0]


@pytest.mark.parametrize("name", cases(OF_LEDGER, "a wrong result of a join", "a balance twice", "a lost movement"))
def test_wrong_rows_of_the_ledger_state_keep_the_frontier(
    stores: Stores, base: Loading, first: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    changed, fault, column = OF_LEDGER[name]
    in_store(monkeypatch, changed, fault, column)
    fails_at_ledger(copy_of(base, stores, ledger_near=FAR), first, NAMES.get(changed, changed))


@pytest.mark.parametrize("name", cases(OF_SMALL_LEDGER, "a spent output as created", "a movement off by one"))
def test_wrong_rows_of_small_runs_keep_the_frontier(
    stores: Stores, base: Loading, first: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module, column, fault, named = OF_SMALL_LEDGER[name]
    in_small_run(monkeypatch, module, column, fault)
    fails_at_ledger(copy_of(base, stores, ledger_near=NEAR), first, named)


@pytest.mark.parametrize("name", cases(OF_SMALL_TABLES, "a lost message", "a wrong count"))
def test_wrong_rows_of_small_runs_leave_the_milestone_incomplete(
    stores: Stores, base: Loading, first: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module, column, fault, named = OF_SMALL_TABLES[name]
    loading = copy_of(base, stores, bulk_share=0.1)
    in_small_run(monkeypatch, module, column, fault)
    with pytest.raises(WrongRows, match=f"{named}, milestones 1: .* engine sail .*expected .* found "):
        loading.load(first)
    assert 1 not in {row["milestone_index"] for row in loading.rows()["sync"]}


def test_the_next_load_repairs_the_ledger_state(stores: Stores, base: Loading, first: Path) -> None:
    good, loading = (copy_of(base, stores, ledger_near=near) for near in (NEAR, FAR))
    assert good.load(first).ledger_index == LAST
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_store(monkeypatch, "address_balances", one_more("balance"))
        fails_at_ledger(loading, first, "address_balances")
    assert loading.load(first).ledger_index == LAST
    state = [name for name in good.rows() if name.startswith(("ledger_", "address_balances", "distribution"))]
    assert {name: loading.rows()[name] for name in state} == {name: good.rows()[name] for name in state}


def fails_at_analytics(loading: Loading, name: str) -> None:
    with pytest.raises(WrongRows, match=f"{name}.* engine sail .* expected .* found "):
        runs.analytics(loading.store, loading.settings)
    with closing(open_adapter(loading.store, writable=False)) as store:
        noted = {row["name"]: row["value"] for row in store.read_all(schema.keyspace_info)}
    assert noted.get(ANALYSED, "[]") == "[]"


@pytest.mark.parametrize("name", cases(OF_MILESTONES, "an amount off by one"))
def test_wrong_analytics_of_milestones_do_not_count_as_computed(
    stores: Stores, base: Loading, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    in_small_run(monkeypatch, few_rows, "transferred_tokens", OF_MILESTONES[name])
    fails_at_analytics(copy_of(base, stores), "ms_analytics")


def test_wrong_analytics_of_days_do_not_count_as_computed(
    stores: Stores, base: Loading, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_store(monkeypatch, "daily_analytics", one_more("milestone_count"), "message_count")
    fails_at_analytics(copy_of(base, stores), "daily_analytics")
