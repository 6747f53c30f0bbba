"""Faults of an engine: changes of the rows that it returns, and wrappers of its port that make them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from _pytest.mark import ParameterSet

from etl.engine import delta_tables
from etl.engine.delta_log import Layout
from etl.engine.parquet import write_parquet
from etl.lake import part_commits
from etl.lake.delta import TABLES
from etl.lake.parts import LakePart
from etl.tables.frames import TableFrame
from etl.writers import staging
from etl.writers.sorting import write_sorted

LAST = 12
"""The archive of these tests has the milestones of the oracle's ledger up to this one."""

Fault = Callable[[pa.Table], pa.Table]


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


def opposite(name: str) -> Fault:
    """The first value of a column of booleans is the other one."""

    def fault(table: pa.Table) -> pa.Table:
        values = table.column(name).to_pylist()
        return _set(table, name, pa.array([not values[0], *values[1:]]))

    return fault


def in_store(monkeypatch: pytest.MonkeyPatch, name: str, fault: Fault, column: str = "") -> None:
    """Changes the staged rows of that name. `column`: only frames with this column."""

    def change(folder: Path) -> None:
        if folder.name.partition("-")[2] != name:
            return
        parts = sorted(folder.rglob("*.parquet"))
        rows = pa.concat_tables(pq.ParquetFile(part).read() for part in parts)
        if not column or column in rows.column_names:
            for part in parts:
                part.unlink()
            pq.write_table(fault(rows), folder / "part-0.parquet")

    def write_wrong(frame: Any, folder: Path) -> None:
        write_parquet(frame, folder)
        change(folder)

    def write_sorted_wrong(frame: TableFrame, folder: Path, shares: int) -> None:
        write_sorted(frame, folder, shares)
        change(folder)

    monkeypatch.setattr(staging, "write_parquet", write_wrong)
    monkeypatch.setattr(staging, "write_sorted", write_sorted_wrong)


def in_lake(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Changes the messages on their way into the lake."""
    right = part_commits.move_into

    def move_wrong(parts: Sequence[LakePart], folder: str) -> None:
        right(parts, folder)
        change_files(folder, fault)

    monkeypatch.setattr(part_commits, "move_into", move_wrong)


def in_cells(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Changes the cells of a Wormhole network on their way into the lake."""
    right = delta_tables.write_files

    def write_wrong(frame: Any, folder: str, layout: Layout) -> None:
        right(frame, folder, layout)
        if layout is TABLES["vaas"]:
            change_files(folder, fault)

    monkeypatch.setattr(delta_tables, "write_files", write_wrong)


def change_files(folder: str, fault: Fault) -> None:
    for part in Path(folder).rglob("*.parquet"):
        pq.write_table(fault(pq.ParquetFile(part).read()), part)


def in_small_run(monkeypatch: pytest.MonkeyPatch, module: ModuleType, column: str, fault: Fault) -> None:
    """Changes the results of the queries of a module that have this column."""
    right = module.collected

    def collected_wrong(frame: Any) -> pa.Table:
        rows = right(frame)
        return fault(rows) if column in rows.column_names else rows

    monkeypatch.setattr(module, "collected", collected_wrong)


def cases(faults: Mapping[str, object], *always: str) -> list[ParameterSet]:
    """The names of faults as parameters of a test. Those that are not `always` injected need --slow."""
    assert faults.keys() >= {*always}
    return [pytest.param(name, marks=() if name in always else pytest.mark.slow) for name in faults]
