"""The changes of the ledger as Arrow: what the roots of milestones and the listings of owners are hashed from."""

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from etl.completeness.rows import ORDER, joined, rows_of, u32

Change: TypeAlias = tuple[int, int, int, bool, bytes, bytes]
"""A result of `StoreReads.changes`: the columns of CHANGE."""

CHANGE = pa.schema(
    {
        "milestone_index": pa.int32(),
        "white_flag_index": pa.int32(),
        "idx": pa.int32(),
        "is_spent": pa.bool_(),
        "output_id": pa.binary(),
        "owner": pa.binary(),
    }
)
"""Columns of CHANGES (etl/ledger_state/changes.py), in the order in which changes took effect."""

UPDATES = pa.schema({"milestone_index": pa.int32(), "owner": pa.binary(), "leaf": pa.binary()})
"""Changes in the order in which they took effect. `leaf` is the output id, and a byte: 1 if it was spent, else 0."""


def updates_of(changes: Sequence[Change] | pa.Table) -> pa.Table:
    """UPDATES of changes. Those in a table, CHANGE, may have any order."""
    if isinstance(changes, pa.Table):
        table = changes.cast(CHANGE).sort_by([(name, "ascending") for name in CHANGE.names])
    else:
        columns = zip(*changes, strict=True) if changes else [()] * len(CHANGE)
        table = pa.table([pa.array(each, kind) for each, kind in zip(columns, CHANGE.types, strict=True)], CHANGE)
    flags = pa.array([b"\0", b"\1"]).take(table["is_spent"].cast(pa.int8()))
    leaves = joined(table["output_id"], flags)
    return pa.table([table["milestone_index"], table["owner"], leaves], UPDATES)


def update_rows(updates: pa.Table, first: int, last: int) -> pa.Table:
    """ROWS of the milestones first ≤ m ≤ last in the listings of owners, sorted. `updates`: UPDATES."""
    inside = pc.and_(
        pc.greater_equal(updates["milestone_index"], first), pc.less_equal(updates["milestone_index"], last)
    )
    own = updates.filter(inside)
    rows = joined(u32(own["milestone_index"]), own["leaf"])
    return rows_of("ledger_updates_by_address", own["owner"], rows).sort_by(ORDER)
