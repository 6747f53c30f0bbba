"""A wrapper of the engine's port changes what the engine returns. Each change fails the load; the next one repairs.

Without the comparison most of these loads end without an error.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from etl.engine.delta_files import RowsOutside
from etl.engine.parquet import write_parquet
from etl.expectations.comparison import WrongRows
from etl.lake import part_commits
from etl.lake.parts import LakePart
from etl.writers import frame_writer
from tests.etl import stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores

pytestmark = pytest.mark.loads

LAST = 12
"""The archive has the milestones of the oracle's ledger up to this one."""

Fault = Callable[[pa.Table], pa.Table]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("faults") / "milestones.jsonl", stardust_archives.oracle()[:LAST])


def _set(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    position = table.schema.get_field_index(name)
    return table.set_column(position, table.schema.field(name), values.cast(table.schema.field(name).type))


def reversed_order(table: pa.Table) -> pa.Table:
    return table.take(pa.array(range(table.num_rows))[::-1])


def without_first(table: pa.Table) -> pa.Table:
    return table.take(pa.array(range(1, table.num_rows)))


def twice_first(table: pa.Table) -> pa.Table:
    return table.take(pa.array([0, *range(table.num_rows)]))


def empty(table: pa.Table) -> pa.Table:
    return table.slice(0, 0)


def of_next_milestone(table: pa.Table) -> pa.Table:
    """The first row belongs to another milestone: one outside the run."""
    index = table.column("milestone_index").to_pylist()
    return _set(table, "milestone_index", pa.array([LAST + 100, *index[1:]]))


def without_last_milestone(table: pa.Table) -> pa.Table:
    """As read from the snapshot before the newest."""
    return table.filter(pc.less(table.column("milestone_index"), LAST))


def zero_for_null(name: str) -> Fault:
    def fault(table: pa.Table) -> pa.Table:
        column = table.column(name)
        assert column.null_count, f"{name} has no null"
        return _set(table, name, pc.fill_null(column, b"" if pa.types.is_binary(column.type) else 0))

    return fault


def null_for_all(name: str) -> Fault:
    def fault(table: pa.Table) -> pa.Table:
        return _set(table, name, pa.nulls(table.num_rows, table.schema.field(name).type))

    return fault


def swapped(one: str, other: str) -> Fault:
    def fault(table: pa.Table) -> pa.Table:
        first, second = table.column(one), table.column(other)
        return _set(_set(table, one, second), other, first)

    return fault


def truncated(name: str) -> Fault:
    def fault(table: pa.Table) -> pa.Table:
        values = table.column(name).to_pylist()
        return _set(table, name, pa.array([values[0][:-1], *values[1:]], pa.binary()))

    return fault


def one_more(name: str) -> Fault:
    def fault(table: pa.Table) -> pa.Table:
        values = table.column(name).to_pylist()
        return _set(table, name, pa.array([values[0] + 1, *values[1:]]))

    return fault


def mixed(name: str) -> Fault:
    """The values of two rows are exchanged, which no sum over the column shows."""

    def fault(table: pa.Table) -> pa.Table:
        values = table.column(name).to_pylist()
        other = next(at for at, value in enumerate(values) if value != values[0])
        values[0], values[other] = values[other], values[0]
        return _set(table, name, pa.array(values, table.schema.field(name).type))

    return fault


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


def in_store(monkeypatch: pytest.MonkeyPatch, name: str, fault: Fault) -> None:
    def write_wrong(frame: Any, folder: Path) -> None:
        write_parquet(frame, folder)
        if folder.name.partition("-")[2] != name:
            return
        parts = sorted(folder.glob("*.parquet"))
        rows = pa.concat_tables(pq.read_table(part) for part in parts)
        if name != "outputs" or "amount" in rows.column_names:
            for part in parts:
                part.unlink()
            pq.write_table(fault(rows), folder / "part-0.parquet")

    monkeypatch.setattr(frame_writer, "write_parquet", write_wrong)


def in_lake(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    right = part_commits.move_into

    def move_wrong(parts: Sequence[LakePart], folder: str) -> None:
        right(parts, folder)
        for part in Path(folder).rglob("*.parquet"):
            pq.write_table(fault(pq.ParquetFile(part).read()), part)

    monkeypatch.setattr(part_commits, "move_into", move_wrong)


def fails(loading: Loading, archive: Path, names: str) -> None:
    with pytest.raises(WrongRows, match=names) as error:
        loading.load(archive)
    assert "engine sail" in str(error.value)
    rows = loading.rows()
    assert not rows["sync"]
    assert not rows["ranges"]


@pytest.mark.parametrize("name", OF_STORE)
def test_wrong_rows_for_a_table_fail_the_load(
    stores: Stores, archive: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    table, fault = OF_STORE[name]
    in_store(monkeypatch, table, fault)
    fails(stores(network=stardust_archives.NETWORK), archive, f"{table}.*milestones 1.{LAST}.* expected .* found ")


def test_a_row_outside_the_replaced_milestones_is_not_committed(
    stores: Stores, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = stores(network=stardust_archives.NETWORK)
    in_lake(monkeypatch, of_next_milestone)
    with pytest.raises(RowsOutside, match="lake/messages: 1 or more rows are not in the replaced intervals"):
        loading.load(archive)
    assert not (loading.folder / "lake" / "messages" / "_delta_log").exists()
    assert not loading.rows()["sync"]


@pytest.mark.parametrize("name", OF_LAKE)
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
    good.load(archive)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_lake(monkeypatch, without_first)
        fails(lake, archive, "lake")
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_store(monkeypatch, "sync", without_first)
        fails(store, archive, "sync")
    for each in (lake, store):
        each.load(archive)
        assert each.rows() == good.rows()
