"""A wrapper of the engine's port changes what the engine returns. Each change fails the load; the next one repairs.

Without the comparison most of these loads end without an error.
"""

from pathlib import Path

import pytest

from db.intervals import Intervals
from etl.engine.delta_files import RowsOutside
from etl.expectations.comparison import WrongRows
from etl.expectations.expected import Expected
from etl.verification import expect
from tests.etl import stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores
from tests.etl.expectations.faults import (
    LAST,
    Fault,
    cases,
    empty,
    in_lake,
    in_store,
    mixed,
    null_for_all,
    of_next_milestone,
    one_more,
    reversed_order,
    swapped,
    truncated,
    twice_first,
    without_first,
    without_last_milestone,
    zero_for_null,
)

pytestmark = pytest.mark.loads


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("faults") / "milestones.jsonl", stardust_archives.oracle()[:LAST])


OF_STORE: dict[str, tuple[str, Fault]] = {
    "a lost row": ("parents", without_first),
    "a row twice": ("transactions", twice_first),
    "no row of a frame": ("tags", empty),
    "exchanged columns": ("parents", swapped("parent_id", "message_id")),
    "a truncated blob": ("messages", truncated("message")),
    "a row of another milestone": ("messages_by_milestone", of_next_milestone),
    "a milestone that a stale read does not have": ("transactions_by_address", without_last_milestone),
    "an amount off by one": ("outputs", one_more("amount")),
    "zero for null": ("outputs_by_address", zero_for_null("expiration")),
    "empty for null": ("outputs_by_address", zero_for_null("sender")),
    "null for a value": ("messages", null_for_all("inclusion_state")),
    "values of another row": ("outputs_by_address", mixed("amount")),
    "an incomplete milestone as complete": ("sync", one_more("message_count")),
    "a lost hint": ("tag_hints", without_first),
    "a hint of another partition": ("addresses_hints", one_more("ms_range_id")),
}
"""The table whose staged rows are changed, and how."""

OF_LAKE: dict[str, Fault] = {
    "a dropped sort": reversed_order,
    "a lost row": without_first,
    "a row twice": twice_first,
    "zero for null": zero_for_null("conflict_reason"),
    "a truncated blob": truncated("message"),
}
"""How the messages are changed on their way into the lake."""


def fails(loading: Loading, archive: Path, names: str) -> None:
    with pytest.raises(WrongRows, match=names) as error:
        loading.load(archive)
    assert "engine sail" in str(error.value)
    rows = loading.rows()
    assert not rows["sync"]
    assert not rows["ranges"]


@pytest.mark.parametrize(
    "name",
    cases(
        OF_STORE,
        "a lost row",
        "exchanged columns",
        "a truncated blob",
        "an amount off by one",
        "zero for null",
        "a hint of another partition",
    ),
)
def test_wrong_rows_for_a_table_fail_the_load(
    stores: Stores, archive: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    table, fault = OF_STORE[name]
    in_store(monkeypatch, table, fault, "amount" if table == "outputs" else "")
    fails(stores(network=stardust_archives.NETWORK), archive, f"{table}.*(need|expected) .* found ")


def test_a_row_outside_the_replaced_milestones_is_not_committed(
    stores: Stores, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = stores(network=stardust_archives.NETWORK)
    in_lake(monkeypatch, of_next_milestone)
    with pytest.raises(RowsOutside, match="lake/messages: 1 or more rows are not in the replaced intervals"):
        loading.load(archive)
    assert not (loading.folder / "lake" / "messages" / "_delta_log").exists()
    assert not loading.rows()["sync"]


@pytest.mark.parametrize("name", cases(OF_LAKE, "a dropped sort", "a lost row"))
def test_wrong_messages_in_the_lake_fail_the_load_before_its_milestones_are_committed(
    stores: Stores, archive: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    loading = stores(network=stardust_archives.NETWORK)
    in_lake(monkeypatch, OF_LAKE[name])
    fails(loading, archive, "messages of the lake, .*milestones ")
    assert not (loading.folder / "lake" / "milestones").exists()


def test_the_next_load_repairs(stores: Stores, archive: Path) -> None:
    network = stardust_archives.NETWORK
    good, lake, store = (stores(network=network) for _ in range(3))
    read: list[Intervals] = []
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(expect, "expected_of_lake", lambda _, milestones, __: read.append(milestones) or Expected())
        good.load(archive)
    assert read == [[]], "correct files of the lake were read again"
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_lake(monkeypatch, without_first)
        fails(lake, archive, "lake")
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_store(monkeypatch, "sync", without_first)
        fails(store, archive, "sync")
    for each in (lake, store):
        each.load(archive)
        assert each.rows() == good.rows()
