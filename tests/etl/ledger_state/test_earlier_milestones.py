"""Milestones up to the genesis of a ledger that begins with a snapshot, loaded before it, with it or afterwards.

The snapshot is that of milestone 24 of the oracle ledger. What each listing contains, and the whole rows, come from the
oracle's expectations and the plain replay.
"""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from db import schema
from db.connect import open_adapter
from tests.etl.archives import Json
from tests.etl.conftest import Loading, Stores
from tests.etl.deep_check.checking import checked, differing
from tests.etl.deep_check.faults import native
from tests.etl.ledger_state.test_stardust_ledger import (
    FAR,
    NEAR,
    NETWORK,
    expected,
    milestones,
    owner,
    reference,
    snapshot_after,
)
from tests.etl.test_oracle import uncut
from tests.reference_stardust import raw

pytestmark = pytest.mark.loads

GENESIS, FIRST, LAST = 24, 10, 50
"""The milestone of the snapshot, and the first and the last one that is loaded."""

EARLIER, LATER, LATEST = range(FIRST, GENESIS + 1), range(GENESIS + 1, 31), range(31, LAST + 1)

ORDERS = {
    "at once": [[*EARLIER, *LATER, *LATEST]],
    "earlier ones between": [[*LATER], [*EARLIER], [*LATEST]],
    "earlier ones first": [[*EARLIER], [*LATER], [*LATEST]],
    "in turn": [[], [*EARLIER[7:], *LATER], [*LATEST[:10]], [*EARLIER[:7]], [*LATEST[10:]]],
}
"""What each load contains. The first one with milestones after the genesis, or without any, has the snapshot."""

GEOMETRY = (7, 1_000)

OF_STEPS = {"ledger_frontier", "distribution", "rich_list"}
"""Tables with rows of each step of the ledger state, which differ between loads."""


def snapshot_in(folder: Path, *, has_blocks: bool = True) -> Path:
    """The snapshot. Not `has_blocks`: its outputs are without the blocks that created them, as in a genesis.json."""
    content = snapshot_after(GENESIS)
    if not has_blocks:
        for output in expected()["outputs"].values():
            content = content.replace(raw(output["metadata"]["blockId"]), bytes(32))
    file = folder / "full.bin"
    file.write_bytes(content)
    return file


def load(loading: Loading, folder: Path, loads: Iterable[list[int]], *, has_blocks: bool = True) -> None:
    snapshot = snapshot_in(folder, has_blocks=has_blocks)
    begun = False
    for numbers in loads:
        begins = not begun and (not numbers or numbers[-1] > GENESIS)
        report = loading.load(*milestones(folder, *numbers), **{"genesis": snapshot} if begins else {})
        begun |= begins
        assert (report.exit_code, report.held, report.unreconciled) == (0, "", "")
    assert report.ledger_index == LAST


def rows_of(loading: Loading) -> dict[str, list[Json]]:
    return {name: rows for name, rows in uncut(loading.rows()).items() if name not in OF_STEPS}


@pytest.fixture(scope="module")
def at_once(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """All milestones in one load, with the state from joins over the lake."""
    loading = stores(GEOMETRY, NETWORK, ledger_near=FAR)
    load(loading, tmp_path_factory.mktemp("at once"), ORDERS["at once"])
    return loading


def made(metadata: Json) -> tuple[int, int | None]:
    """The milestone at which the state has an output, and the one that spent it."""
    return max(metadata["milestoneIndexBooked"], GENESIS), metadata.get("milestoneIndexSpent")


def known() -> dict[str, Json]:
    """The outputs that the snapshot or a loaded message contains, by id."""
    found = expected()["outputs"].items()
    return {
        each[2:]: output
        for each, output in found
        if output["metadata"]["milestoneIndexBooked"] >= FIRST
        or (output["metadata"].get("milestoneIndexSpent") or 51) > GENESIS
    }


def test_unspent_outputs_and_balances_are_the_oracle_s(at_once: Loading) -> None:
    rows = rows_of(at_once)
    state = {
        each: made(output["metadata"])
        for each, output in known().items()
        if (output["metadata"].get("milestoneIndexSpent") or LAST + 1) > GENESIS
    }
    for lookups in ({"address", "state_controller"}, {""}):
        held = [row for row in rows["unspent_outputs"] if row["lookup"] in lookups]
        assert {row["output_id"]: (row["milestone_index"], row["spent_milestone_index"]) for row in held} == state
        assert len(held) == len(state)
    balances = dict[str, int]()
    for output in known().values():
        if not output["metadata"]["isSpent"]:
            balances[owner(output["output"])] = balances.get(owner(output["output"]), 0) + int(
                output["output"]["amount"]
            )
    last = {row["address"]: row["balance"] for row in rows["address_balances"]}  # ascending
    assert {each: balance for each, balance in last.items() if balance} == balances


def test_outputs_are_of_the_messages_that_created_them(at_once: Loading) -> None:
    whole = {row["output_id"]: row for row in reference(GEOMETRY)["outputs"]}
    of_genesis = {"created_milestone_index": GENESIS, "created_white_flag_index": None}
    assert {row["output_id"]: row for row in at_once.rows()["outputs"] if row["created_milestone_index"]} == {
        each: whole[each] | (of_genesis if output["metadata"]["milestoneIndexBooked"] < FIRST else {})
        for each, output in known().items()
    }


@pytest.mark.parametrize("ledger_near", [pytest.param(FAR, marks=pytest.mark.slow), NEAR], ids=["far", "near"])
@pytest.mark.parametrize("order", [name for name in ORDERS if name != "at once"])
def test_every_order_of_loads_gives_the_same_rows(
    stores: Stores, tmp_path: Path, at_once: Loading, order: str, ledger_near: int
) -> None:
    loading = stores(GEOMETRY, NETWORK, ledger_near=ledger_near)
    load(loading, tmp_path, ORDERS[order])
    found, whole = rows_of(loading), rows_of(at_once)
    assert found.keys() == whole.keys()
    for name, rows in whole.items():
        assert found[name] == rows, name


def test_a_check_of_all_rows_finds_a_spent_output_that_is_listed_as_unspent(stores: Stores, tmp_path: Path) -> None:
    """Earlier versions wrote the spending to a row at the milestone that created the output."""
    loading = stores(GEOMETRY, NETWORK)
    load(loading, tmp_path, ORDERS["earlier ones between"])
    assert differing(checked(loading)) == []
    table = schema.unspent_outputs
    with closing(open_adapter(loading.store, writable=True)) as store:
        row = next(
            each
            for each in store.read_all(table)
            if each["milestone_index"] == GENESIS and each["spent_milestone_index"] is not None
        )
        with store.batch() as batch:
            batch.upsert(table, table.names, [native(table, row | {"spent_milestone_index": None})])
    (wrong,) = differing(checked(loading))
    assert (wrong.table, wrong.differing) == (table.name, 1)
