"""Balances and treasury after each milestone, and what a load reports if they do not add up to the token supply."""

import asyncio
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.progress import report_lines
from cli.status_text import status_lines
from db import schema
from db.admin.status import get_status
from db.connect import open_store
from db.queries.reconciliation import Reconciliation
from etl.ledger_state.reconciliation import net_changes, sums_after
from tests.etl import stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.ledger_state.test_ledger import GENESIS as CHRYSALIS_GENESIS
from tests.etl.ledger_state.test_stardust_ledger import GENESIS
from tests.etl.listings import whole_oracle
from tests.reference import read_json

pytestmark = pytest.mark.loads

FAR, NEAR = 0, 10_000
RECEIPT, LAST = 10, 12
"""A milestone with a receipt, and the last one that is loaded."""


def supply_of(genesis: Path) -> int:
    """Outputs and treasury of a genesis.json of either era."""
    document = read_json(genesis)
    amounts = [each.get("amount", each.get("output", {}).get("amount")) for each in document["outputs"]]
    return sum(map(int, amounts)) + int(document["treasury"]["amount"])


def found_by(loading: Loading) -> Reconciliation | None:
    with closing(open_store(loading.store, writable=True)) as store:
        return asyncio.run(get_status(store, loading.store.network)).reconciliation


def text_of(loading: Loading) -> str:
    with closing(open_store(loading.store, writable=True)) as store:
        return "\n".join(status_lines(asyncio.run(get_status(store, loading.store.network))))


@pytest.mark.parametrize("ledger_near", [FAR, NEAR], ids=["far", "near"])
def test_the_supply_is_whole_after_every_milestone(stores: Stores, ledger_near: int) -> None:
    loading, report = stores.loaded("chrysalis from genesis", (7, 3), ledger_near=ledger_near)
    assert (report.exit_code, report.unreconciled) == (0, "")
    supply = supply_of(CHRYSALIS_GENESIS)
    assert found_by(loading) == Reconciliation(supply, 0, 50)
    assert f"supply      {supply:,} in balances and treasury after 0:51\n" in text_of(loading)


@pytest.mark.parametrize("as_files", [False, True])
def test_sums_of_each_milestone_are_those_of_a_plain_replay(tmp_path: Path, as_files: bool) -> None:
    """Some of the changes of the oracle's milestones are lost or doubled on the way."""
    oracle = whole_oracle()
    changes, held = [], dict[int, int]()
    for each in oracle.outputs.values():
        created, spent = oracle.milestone_of[each["messageId"]], each.get("milestoneIndexSpent")
        amount = each["output"]["amount"]
        changes.append({"milestone_index": created, "is_spent": False, "amount": amount, "address": b"a"})
        if spent:
            changes.append({"milestone_index": spent, "is_spent": True, "amount": amount, "address": b"a"})
    del changes[40], changes[77]
    changes.append(changes[99])
    table = pa.Table.from_pylist(changes)
    source: Any = table
    if as_files:
        source = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
        for part, file in zip((table.slice(0, 50), table.slice(50)), source, strict=True):
            pq.write_table(part, file)
    treasuries = [
        (each["milestoneIndex"], each["receipt"]["transaction"]["output"]["amount"])
        for each in oracle.expected["receipts"]
    ]
    for index in range(51):
        signed = [
            -each["amount"] if each["is_spent"] else each["amount"]
            for each in changes
            if each["milestone_index"] <= index
        ]
        held[index] = sum(signed) + ([10**12] + [amount for at, amount in treasuries if at <= index])[-1]
    for frontier, to in ((0, 50), (7, 41), (20, 21)):
        begun = held[frontier] - ([10**12] + [amount for at, amount in treasuries if at <= frontier])[-1]
        treasury = ([10**12] + [amount for at, amount in treasuries if at <= frontier])[-1]
        within = [(at, amount) for at, amount in treasuries if frontier < at <= to]
        sums = sums_after(net_changes(source, frontier, to), begun, treasury, within)
        running, found = held[frontier], {}
        for index in range(frontier + 1, to + 1):
            running = found[index] = sums.get(index, running)
        assert found == {index: held[index] for index in range(frontier + 1, to + 1)}
    assert len(set(held.values())) > 2


@pytest.fixture(scope="module")
def without_first(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """A store of genesis and milestones whose ledger state waits for the first one."""
    file = write(tmp_path_factory.mktemp("later") / "milestones.jsonl", stardust_archives.oracle()[1:LAST])
    loading = stores(network=stardust_archives.NETWORK)
    assert loading.load(file, genesis=GENESIS).ledger_index == 0
    return loading


@pytest.mark.parametrize("ledger_near", [pytest.param(FAR, marks=pytest.mark.slow), NEAR], ids=["far", "near"])
def test_a_lost_token_is_reported_with_its_milestone_and_both_sums(
    stores: Stores, without_first: Loading, tmp_path: Path, ledger_near: int
) -> None:
    """The treasury after a receipt is not what the receipt leaves."""
    loading = stores(network=stardust_archives.NETWORK, ledger_near=ledger_near)
    shutil.rmtree(loading.folder)
    shutil.copytree(without_first.folder, loading.folder)
    supply = supply_of(GENESIS)
    assert found_by(loading) == Reconciliation(supply, 0, 0)
    (row,) = (each for each in loading.rows()["treasury"] if each["milestone_index"] == RECEIPT)
    with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
        key = (row["network"], RECEIPT, bytes.fromhex(row["milestone_id"]), row["amount"] - 3)
        batch.upsert(schema.treasury, schema.treasury.names, [key])
    report = loading.load(write(tmp_path / "first.jsonl", stardust_archives.oracle()[:1]))
    assert (report.ledger_index, report.exit_code) == (LAST, 3)
    text = f"after milestone {RECEIPT}, balances and treasury are {supply - 3:,} base tokens; the token supply is "
    text += f"{supply:,}"
    assert report.unreconciled == text
    assert f"the ledger state does not add up: {text}" in report_lines(report)
    wrong = Reconciliation(supply, 0, LAST, RECEIPT, supply - 3)
    assert (found_by(loading), wrong.holds_to) == (wrong, RECEIPT - 1)
    line = f"after 0:{RECEIPT}; {supply - 3:,} after {RECEIPT}\n"
    assert line in text_of(loading).replace("\n" + 12 * " ", " ")
    further = loading.load(write(tmp_path / "next.jsonl", stardust_archives.oracle()[LAST : LAST + 1]))
    assert (further.unreconciled, further.exit_code) == (text, 3)
    assert found_by(loading) == replace(wrong, last=LAST + 1)


@on(SQLITE, LATER_CASSANDRA)
def test_a_store_of_an_older_version_begins_at_its_ledger_index(everywhere: Stores, tmp_path: Path) -> None:
    loading = everywhere((100_000, 100_000), network=stardust_archives.NETWORK, ledger_near=NEAR)
    lines = stardust_archives.oracle()
    loading.load(write(tmp_path / "some.jsonl", lines[:LAST]), genesis=GENESIS)
    with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
        batch.delete(schema.keyspace_info, ("reconciled",))
    assert found_by(loading) is None
    loading.load(write(tmp_path / "more.jsonl", lines[LAST : LAST + 3]))
    assert found_by(loading) == Reconciliation(supply_of(GENESIS), LAST, LAST + 3)
    if loading.store.url.startswith("sqlite"):
        loading.rebuild()
        assert found_by(loading) == Reconciliation(supply_of(GENESIS), 0, LAST + 3)
